public import ExactJSON

extension OperationUI {
    /// A screen to show after an operation was approved.
    public struct PostApprovalScreen: Sendable, Hashable {
        /// The part of the screen below its message.
        public enum Content: Sendable, Hashable {
            /// Details of the approved operation: `UserOperation.reviewAttributes`.
            case review
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
