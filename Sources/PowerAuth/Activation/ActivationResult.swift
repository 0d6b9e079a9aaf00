public import ExactJSON

/// A new activation, and what the server said about it.
public struct ActivationResult: Sendable {
    /// The activation, stored and ready; the server may still have to commit it.
    public let activation: Activation
    /// The number to compare by eye with what the server shows: eight digits.
    public let fingerprint: String
    /// The codes that restore the activation elsewhere, to be kept on paper. They are stored nowhere.
    public let recovery: RecoveryCodes?
    /// The server's facts about the user.
    public let userInfo: JSONValue?
    /// The custom attributes that the server's own code returned.
    public let customAttributes: JSONValue?
}

extension ActivationResult {
    /// The codes that restore an activation on another device.
    public struct RecoveryCodes: Sendable, Hashable {
        /// Identifies the user.
        public let code: String
        /// Used up by one recovery.
        public let puk: String
    }
}

extension ActivationResult.RecoveryCodes: CustomStringConvertible, CustomReflectable {
    /// Neither code.
    public var description: String { "<recovery codes>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
