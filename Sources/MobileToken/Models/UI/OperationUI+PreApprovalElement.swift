import Basics
import PowerAuthProtocol

extension OperationUI {
    /// A part of a pre-approval screen.
    public struct PreApprovalElement: Sendable, Hashable {
        /// The element's identifier.
        public let id: String?
        /// The name of an icon.
        public let icon: String?
        /// The content of the element.
        public let content: Content

        /// The content of an element.
        public enum Content: Sendable, Hashable {
            /// A line of a list.
            case listItem(text: String, style: Style? = nil)
            /// A notice.
            case alert(text: String, style: Style?)
            /// Something to press.
            case button(Button)
            /// An element of a type that this version does not know, as it came.
            case unknown(type: String, json: JSONValue)
        }

        /// The weight of a notice or a line of a list.
        public enum Style: Sendable, Hashable {
            /// Something to know.
            case info
            /// Something to mind.
            case warning
            /// Something to beware of.
            case danger
            /// A style that this version does not know, as it was sent.
            case unknown(String)

            /// Creates the style from the server's string, which is compared exactly.
            public init(_ text: String) {
                switch ExactString(text) {
                case "INFO": self = .info
                case "WARNING": self = .warning
                case "DANGER": self = .danger
                default: self = .unknown(text)
                }
            }
        }

        /// Something to press.
        public struct Button: Sendable, Hashable {
            /// The effect of pressing.
            public enum Action: Sendable, Hashable {
                /// Opens a page.
                case link
                /// Writes a mail.
                case mail
                /// Calls a number.
                case phone
                /// Rejects the operation.
                case reject
                /// An action that this version does not know, as it was sent.
                case unknown(String)

                /// Creates the action from the server's string, which is compared exactly.
                public init(_ text: String) {
                    switch ExactString(text) {
                    case "LINK": self = .link
                    case "MAIL": self = .mail
                    case "PHONE": self = .phone
                    case "REJECT": self = .reject
                    default: self = .unknown(text)
                    }
                }
            }

            /// The button's text.
            public let text: String
            /// The effect of pressing.
            public let action: Action?
            /// The object of the action: a URL, an address, a number.
            public let href: String?
            /// All other members, such as `actionSettings`, as they came.
            public let otherMembers: JSONObject

            /// Creates a button.
            public init(text: String, action: Action?, href: String? = nil, otherMembers: JSONObject = [:]) {
                self.text = text
                self.action = action
                self.href = href
                self.otherMembers = otherMembers
            }
        }

        /// Creates an element.
        public init(id: String? = nil, icon: String? = nil, content: Content) {
            self.id = id
            self.icon = icon
            self.content = content
        }
    }
}
