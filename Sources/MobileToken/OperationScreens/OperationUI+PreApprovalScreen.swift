import Basics

extension OperationUI {
    /// A screen that a person must pass before approving an operation.
    public struct PreApprovalScreen: Sendable, Hashable {
        /// The purpose of the screen.
        public enum Kind: Sendable, Hashable {
            /// Information.
            case info
            /// A warning.
            case warning
            /// A QR code must be scanned.
            case qrScan
            /// A kind unknown to this version, as the server sent it; nil if it was no string.
            case unknown(String?)

            /// Creates the kind from the server's string, compared exactly.
            package init(_ text: String?) {
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
        /// The heading; this package's own if the server sends none.
        public let heading: String
        /// The message; this package's own if the server sends none.
        public let message: String
        /// Indicates whether to offer a back button.
        public let backButton: Bool?
        /// The name of an image.
        public let image: String?
        /// The elements of the screen, in order.
        public let elements: [OperationUI.PreApprovalElement]
        /// The controls to approve and decline with.
        public let controls: OperationUI.PreApprovalControls?

        /// Creates a screen.
        package init(
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
    /// The controls of a pre-approval screen.
    public struct PreApprovalControls: Sendable, Hashable {
        /// The layout direction of the two controls.
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
            package init(kind: Kind, text: String? = nil) {
                self.kind = kind
                self.text = text
            }
        }

        /// The control that approves.
        public struct Approve: Sendable, Hashable {
            /// The look of the control.
            public enum Kind: String, Sendable, Hashable, Codable {
                /// A slider.
                case slider = "SLIDER"
                /// A button.
                case button = "BUTTON"
            }

            /// The look of the control.
            public let kind: Kind
            /// The control's text.
            public let text: String?
            /// The number of seconds before the control is enabled.
            public let counter: Int?

            /// Creates a control.
            package init(kind: Kind, text: String? = nil, counter: Int? = nil) {
                self.kind = kind
                self.text = text
                self.counter = counter
            }
        }

        /// Indicates whether to swap the two controls.
        public let flip: Bool?
        /// The layout direction of the two controls.
        public let axis: Axis?
        /// The control that declines.
        public let decline: Decline?
        /// The control that approves.
        public let approve: Approve?

        /// Creates controls.
        package init(flip: Bool? = nil, axis: Axis? = nil, decline: Decline? = nil, approve: Approve? = nil) {
            self.flip = flip
            self.axis = axis
            self.decline = decline
            self.approve = approve
        }
    }
}
