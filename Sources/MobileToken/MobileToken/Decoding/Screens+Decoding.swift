import Basics
import ExactJSON
import OperationScreens

extension OperationUI {
    /// - Parameter review: Receives the attributes of a review screen.
    init(_ view: JSONView, review: inout [UserOperation.Attribute], _ log: inout IssueLog) {
        self.init(
            flipButtons: view.optional("flipButtons", .flag, &log),
            blockApprovalOnCall: view.optional("blockApprovalOnCall", .flag, &log),
            preApprovalScreens: Self.preApprovalScreens(view, &log),
            postApprovalScreen: view.optional("postApprovalScreen", .object, &log).flatMap { screen in
                log.inside("postApprovalScreen") { log in
                    OperationUI.PostApprovalScreen.read(screen, review: &review, &log)
                }
            },
            templates: log.json(of: "templates", in: view)
        )
    }

    /// Reads the screens. A list takes precedence, even an empty one.
    private static func preApprovalScreens(_ view: JSONView, _ log: inout IssueLog) -> [OperationUI.PreApprovalScreen] {
        if let list = view.optional("preApprovalScreens", .array, &log) {
            return log.inside("preApprovalScreens") { log in
                log.elements(of: list) { (view, log) throws(DecodingIssue) in
                    try OperationUI.PreApprovalScreen(view, &log)
                }
            }
        }
        guard let screen = view.optional("preApprovalScreen", .object, &log) else { return [] }
        return log.inside("preApprovalScreen") { log in [OperationUI.PreApprovalScreen(single: screen, &log)] }
    }
}

extension OperationUI.PostApprovalScreen {
    /// Returns the screen, or nil with an issue.
    fileprivate static func read(
        _ view: JSONView,
        review: inout [UserOperation.Attribute],
        _ log: inout IssueLog
    ) -> Self? {
        do throws(DecodingIssue) {
            return Self(
                heading: try view.required("heading", .string, log),
                message: try view.required("message", .string, log),
                content: try Content(view, review: &review, &log)
            )
        } catch {
            log.report(error)
            return nil
        }
    }
}

extension OperationUI.PostApprovalScreen.Content {
    fileprivate init(
        _ view: JSONView,
        review: inout [UserOperation.Attribute],
        _ log: inout IssueLog
    ) throws(DecodingIssue) {
        let type = try view.required("type", .string, log)
        switch ExactString(type) {
        case "REVIEW":
            review = Self.reviewAttributes(view, &log)
            self = .review
        case "MERCHANT_REDIRECT", "REDIRECT":
            let payload = try view.required("payload", .object, log)
            self = .redirect(
                try log.inside("payload") { log throws(DecodingIssue) in
                    OperationUI.PostApprovalScreen.Redirect(
                        text: try payload.required("redirectText", .string, log),
                        url: try payload.required("redirectUrl", .string, log),
                        countdown: try payload.required("countdown", .count, log)
                    )
                }
            )
        case "GENERIC":
            self = .generic(log.json(of: "payload", in: view))
        default:
            self = .unknown(type: type, payload: log.json(of: "payload", in: view))
        }
    }

    /// Returns the attributes in their type's form. On a screen that only looks back, an incomplete attribute is of no use.
    private static func reviewAttributes(_ view: JSONView, _ log: inout IssueLog) -> [UserOperation.Attribute] {
        guard let payload = view.optional("payload", .object, &log) else { return [] }
        return log.inside("payload") { log in
            guard let list = payload.optional("attributes", .array, &log) else { return [] }
            return log.inside("attributes") { log in
                log.elements(of: list) { (view, log) throws(DecodingIssue) in try UserOperation.Attribute(view, &log) }
            }
        }
    }
}
