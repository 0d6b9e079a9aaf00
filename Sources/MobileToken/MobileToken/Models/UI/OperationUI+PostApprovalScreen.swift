import Basics
public import ExactJSON
import PowerAuthProtocol

extension OperationUI {
    /// A screen to show after an operation was approved.
    public struct PostApprovalScreen: Sendable, Hashable {
        /// The part of the screen below its message.
        public enum Content: Sendable, Hashable {
            /// Details of the approved operation.
            case review([UserOperation.Attribute])
            /// A redirect to another application.
            case redirect(Redirect)
            /// A payload that the server and the application agreed on.
            case generic(JSONValue?)
            /// A type unknown to this version, with its payload unchanged.
            case unknown(type: String, payload: JSONValue?)
        }

        /// A redirect to another application.
        public struct Redirect: Sendable, Hashable {
            /// The label of the redirect button.
            public let text: String
            /// The target address.
            public let url: String
            /// The number of seconds until the automatic redirect.
            public let countdown: Int

            /// Creates a redirect.
            package init(text: String, url: String, countdown: Int) {
                self.text = text
                self.url = url
                self.countdown = countdown
            }
        }

        /// The heading.
        public let heading: String
        /// The message.
        public let message: String
        /// The part of the screen below its message.
        public let content: Content

        /// Creates a screen.
        package init(heading: String, message: String, content: Content) {
            self.heading = heading
            self.message = message
            self.content = content
        }
    }
}

extension OperationUI.PostApprovalScreen {
    /// Returns the screen, or nil with an issue.
    static func read(_ view: JSONView, _ log: inout IssueLog) -> OperationUI.PostApprovalScreen? {
        do throws(DecodingIssue) {
            return try OperationUI.PostApprovalScreen(view, &log)
        } catch {
            log.report(error)
            return nil
        }
    }

    private init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        self.heading = try view.required("heading", .string, log)
        self.message = try view.required("message", .string, log)
        let type = try view.required("type", .string, log)
        switch ExactString(type) {
        case "REVIEW":
            self.content = .review(Self.reviewAttributes(view, &log))
        case "MERCHANT_REDIRECT", "REDIRECT":
            let payload = try view.required("payload", .object, log)
            self.content = .redirect(
                try log.inside("payload") { log throws(DecodingIssue) in
                    Redirect(
                        text: try payload.required("redirectText", .string, log),
                        url: try payload.required("redirectUrl", .string, log),
                        countdown: try payload.required("countdown", .count, log)
                    )
                }
            )
        case "GENERIC":
            self.content = .generic(log.json(of: "payload", in: view))
        default:
            self.content = .unknown(type: type, payload: log.json(of: "payload", in: view))
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
