import Coordination
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Creating one activation in one version of the protocol.
protocol NewActivation: Sendable {
    associatedtype Created: CreatedActivation

    /// Returns whether the server's master key signed an activation code.
    func isSigned(_ code: ActivationCode) -> Bool
    /// Asks the server for the activation, which uses up the credentials.
    func perform(for caller: UncancellableTask.Caller) async throws -> Created
    /// Returns the record to store.
    func record(_ created: Created, password: SecretBytes, biometryKey: SecretBytes?) async throws -> ActivationRecord
    /// Does what is left to do once the activation is stored.
    func finish(_ activation: Activation, password: SecretBytes) async throws
}

/// What the server answered to the creation of an activation.
protocol CreatedActivation: Sendable {
    var activationID: String { get }
    var recovery: RecoveryCodes? { get }
    var userInfo: JSONValue? { get }
    var customAttributes: JSONValue? { get }
}
