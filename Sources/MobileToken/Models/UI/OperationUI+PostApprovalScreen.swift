import Basics
import ExactJSON
import PowerAuthProtocol

extension OperationUI {
    /// A screen to show after an operation was approved.
    public struct PostApprovalScreen: Sendable, Hashable {
        /// The part of the screen below its message.
        public enum Content: Sendable, Hashable {
            /// Details of what was approved.
            case review([UserOperation.Attribute])
            /// A way on to another application.
            case redirect(Redirect)
            /// Whatever the server side and the application agreed on.
            case generic(JSONValue?)
            /// A type that this version does not know, with its payload as it came.
            case unknown(type: String, payload: JSONValue?)
        }

        /// A way on to another application.
        public struct Redirect: Sendable, Hashable {
            /// The label of the button that leads there.
            public let text: String
            /// The address that it leads to.
            public let url: String
            /// The number of seconds after which to go there without a press.
            public let countdown: Int

            /// Creates a redirect.
            public init(text: String, url: String, countdown: Int) {
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
        public init(heading: String, message: String, content: Content) {
            self.heading = heading
            self.message = message
            self.content = content
        }
    }
}

extension OperationUI.PostApprovalScreen {
    /// Returns the screen, or nil and a report.
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

    /// Returns the attributes that have their type's form. The screen only looks back, so half an attribute is of no
    /// use here.
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
