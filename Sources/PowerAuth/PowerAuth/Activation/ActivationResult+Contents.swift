public import ExactJSON
public import PowerAuthClient

extension ActivationResult {
    /// Recovery codes to print. The SDK stores them nowhere.
    public var recovery: RecoveryCodes? { self.recoveryCode.map { RecoveryCodes(code: $0.code, puk: $0.puk) } }
    /// The server's data about the user.
    public var userInfo: JSONValue? { self.userData }
    /// Custom attributes from the server's own code.
    public var customAttributes: JSONValue? { self.attributes }

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
