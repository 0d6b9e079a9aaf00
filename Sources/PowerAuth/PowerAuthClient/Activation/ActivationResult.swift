package import ExactJSON

/// A new activation and the server's response.
public struct ActivationResult: Sendable {
    /// The stored activation; the server may still have to commit it.
    public let activation: Activation
    /// Eight digits for comparing by eye with the server's display.
    public let fingerprint: String
    package let recoveryCode: RecoveryCode?
    /// The server's data about the user.
    package let userData: JSONValue?
    /// Custom attributes from the server's own code.
    package let attributes: JSONValue?
}

/// A code that restores the activation on another device, and its PUK. The SDK stores them nowhere.
package struct RecoveryCode: Sendable, Hashable {
    package let code: String
    package let puk: String
}

extension RecoveryCode: CustomStringConvertible, CustomReflectable {
    package var description: String { "<recovery codes>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
