import Basics
public import ExactJSON

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
            /// A button.
            case button(Button)
            /// An element of a type unknown to this version, as the server sent it.
            case unknown(type: String, json: JSONValue)
        }

        /// The severity of a notice or a list line.
        public enum Style: Sendable, Hashable {
            /// Information.
            case info
            /// A warning.
            case warning
            /// Danger.
            case danger
            /// A style unknown to this version, as the server sent it.
            case unknown(String)

            /// Creates the style from the server's string, compared exactly.
            package init(_ text: String) {
                switch ExactString(text) {
                case "INFO": self = .info
                case "WARNING": self = .warning
                case "DANGER": self = .danger
                default: self = .unknown(text)
                }
            }
        }

        /// A button.
        public struct Button: Sendable, Hashable {
            /// The effect of pressing the button.
            public enum Action: Sendable, Hashable {
                /// Opens a page.
                case link
                /// Composes an email.
                case mail
                /// Calls a number.
                case phone
                /// Rejects the operation.
                case reject
                /// An action unknown to this version, as the server sent it.
                case unknown(String)

                /// Creates the action from the server's string, compared exactly.
                package init(_ text: String) {
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
            /// The effect of pressing the button.
            public let action: Action?
            /// The action's target: a URL, an address or a number.
            public let href: String?
            /// All other members, such as `actionSettings`, unchanged.
            public let otherMembers: JSONObject

            /// Creates a button.
            package init(text: String, action: Action?, href: String? = nil, otherMembers: JSONObject = [:]) {
                self.text = text
                self.action = action
                self.href = href
                self.otherMembers = otherMembers
            }
        }

        /// Creates an element.
        package init(id: String? = nil, icon: String? = nil, content: Content) {
            self.id = id
            self.icon = icon
            self.content = content
        }
    }
}
