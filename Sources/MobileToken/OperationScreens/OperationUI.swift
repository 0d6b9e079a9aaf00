public import ExactJSON

/// The server's presentation hints for an operation.
public struct OperationUI: Sendable, Hashable {
    /// Indicates whether to swap the approve and reject buttons.
    public let flipButtons: Bool?
    /// Indicates whether to refuse approval during a phone call.
    public let blockApprovalOnCall: Bool?
    /// The screens to show before an approval. An older server's single screen is presented the same way.
    public let preApprovalScreens: [OperationUI.PreApprovalScreen]
    /// The screen to show after an approval.
    public let postApprovalScreen: OperationUI.PostApprovalScreen?
    /// The server's display templates, unchanged.
    public let templates: JSONValue?

    /// Creates a presentation.
    package init(
        flipButtons: Bool? = nil,
        blockApprovalOnCall: Bool? = nil,
        preApprovalScreens: [OperationUI.PreApprovalScreen] = [],
        postApprovalScreen: OperationUI.PostApprovalScreen? = nil,
        templates: JSONValue? = nil
    ) {
        self.flipButtons = flipButtons
        self.blockApprovalOnCall = blockApprovalOnCall
        self.preApprovalScreens = preApprovalScreens
        self.postApprovalScreen = postApprovalScreen
        self.templates = templates
    }
}
