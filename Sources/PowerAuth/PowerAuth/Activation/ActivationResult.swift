public import ExactJSON

/// A new activation and the server's response.
public struct ActivationResult: Sendable {
    /// The stored activation; the server may still have to commit it.
    public let activation: Activation
    /// Eight digits for comparing by eye with the server's display.
    public let fingerprint: String
    /// Recovery codes to print. The SDK stores them nowhere.
    public let recovery: RecoveryCodes?
    /// The server's data about the user.
    public let userInfo: JSONValue?
    /// Custom attributes from the server's own code.
    public let customAttributes: JSONValue?
}

extension ActivationResult {
    /// Codes that restore the activation on another device.
    public struct RecoveryCodes: Sendable, Hashable {
        /// Identifies the user.
        public let code: String
        /// Valid for one recovery.
        public let puk: String
    }
}

extension ActivationResult.RecoveryCodes: CustomStringConvertible, CustomReflectable {
    /// A fixed text without the codes.
    public var description: String { "<recovery codes>" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
