import Basics
import PowerAuthProtocol

extension OperationUI {
    /// A screen to pass before an operation can be approved.
    public struct PreApprovalScreen: Sendable, Hashable {
        /// The purpose of the screen.
        public enum Kind: Sendable, Hashable {
            /// Something to know.
            case info
            /// Something to mind.
            case warning
            /// A QR code must be scanned.
            case qrScan
            /// A kind that this version does not know, as it was sent; nil when no string was.
            case unknown(String?)

            /// Creates the kind from the server's string, which is compared exactly.
            public init(_ text: String?) {
                switch text.map({ ExactString($0) }) {
                case "INFO": self = .info
                case "WARNING": self = .warning
                case "QR_SCAN": self = .qrScan
                default: self = .unknown(text)
                }
            }
        }

        /// The screen's identifier.
        public let id: String?
        /// The purpose of the screen.
        public let kind: Kind
        /// The heading.
        public let heading: String
        /// The message.
        public let message: String
        /// Indicates whether to offer a way back.
        public let backButton: Bool?
        /// The name of a picture.
        public let image: String?
        /// The parts of the screen, in order.
        public let elements: [OperationUI.PreApprovalElement]
        /// The controls to approve and decline with.
        public let controls: OperationUI.PreApprovalControls?

        /// Creates a screen.
        public init(
            id: String? = nil,
            kind: Kind,
            heading: String,
            message: String,
            backButton: Bool? = nil,
            image: String? = nil,
            elements: [OperationUI.PreApprovalElement] = [],
            controls: OperationUI.PreApprovalControls? = nil
        ) {
            self.id = id
            self.kind = kind
            self.heading = heading
            self.message = message
            self.backButton = backButton
            self.image = image
            self.elements = elements
            self.controls = controls
        }
    }
}

extension OperationUI {
    /// The controls with which a pre-approval screen is approved and declined.
    public struct PreApprovalControls: Sendable, Hashable {
        /// The direction in which two controls lie beside each other.
        public enum Axis: String, Sendable, Hashable, Codable {
            /// Side by side.
            case horizontal = "HORIZONTAL"
            /// One above the other.
            case vertical = "VERTICAL"
        }

        /// The control that declines.
        public struct Decline: Sendable, Hashable {
            /// The effect of declining.
            public enum Kind: String, Sendable, Hashable, Codable {
                /// Goes back.
                case back = "BACK"
                /// Rejects the operation.
                case reject = "REJECT"
            }

            /// The effect of declining.
            public let kind: Kind
            /// The control's text.
            public let text: String?

            /// Creates a control.
            public init(kind: Kind, text: String? = nil) {
                self.kind = kind
                self.text = text
            }
        }

        /// The control that approves.
        public struct Approve: Sendable, Hashable {
            /// The look of the control.
            public enum Kind: String, Sendable, Hashable, Codable {
                /// To be slid.
                case slider = "SLIDER"
                /// To be pressed.
                case button = "BUTTON"
            }

            /// The look of the control.
            public let kind: Kind
            /// The control's text.
            public let text: String?
            /// The number of seconds to wait before the control works.
            public let counter: Int?

            /// Creates a control.
            public init(kind: Kind, text: String? = nil, counter: Int? = nil) {
                self.kind = kind
                self.text = text
                self.counter = counter
            }
        }

        /// Indicates whether to swap the two controls.
        public let flip: Bool?
        /// The direction in which they lie beside each other.
        public let axis: Axis?
        /// The control that declines.
        public let decline: Decline?
        /// The control that approves.
        public let approve: Approve?

        /// Creates controls.
        public init(flip: Bool? = nil, axis: Axis? = nil, decline: Decline? = nil, approve: Approve? = nil) {
            self.flip = flip
            self.axis = axis
            self.decline = decline
            self.approve = approve
        }
    }
}
