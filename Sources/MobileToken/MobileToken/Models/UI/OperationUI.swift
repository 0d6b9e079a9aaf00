public import ExactJSON
import PowerAuthProtocol

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

extension OperationUI {
    init(_ view: JSONView, _ log: inout IssueLog) {
        self.flipButtons = view.optional("flipButtons", .flag, &log)
        self.blockApprovalOnCall = view.optional("blockApprovalOnCall", .flag, &log)
        self.preApprovalScreens = Self.preApprovalScreens(view, &log)
        self.postApprovalScreen = view.optional("postApprovalScreen", .object, &log).flatMap { screen in
            log.inside("postApprovalScreen") { log in OperationUI.PostApprovalScreen.read(screen, &log) }
        }
        self.templates = log.json(of: "templates", in: view)
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
