import Coordination
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Creates one activation in one protocol version.
protocol NewActivation: Sendable {
    /// Returns whether the server's master key signed the code.
    func isSigned(_ code: ActivationCode) -> Bool
    /// Requests the activation, which consumes the credentials.
    func perform(for caller: UncancellableTask.Caller) async throws -> CreatedActivation
}

struct CreatedActivation: Sendable {
    let activationID: String
    let recovery: RecoveryCode?
    let userInfo: JSONValue?
    let customAttributes: JSONValue?
    /// Derives the keys to store. A password derivation takes milliseconds.
    let keys: @Sendable (NewKeyProtection) async throws -> (VersionedKeys, SigningCounter)
}

struct NewKeyProtection: Sendable {
    let password: SecretBytes
    /// The external key that protects the biometry key; `nil` if the factor is not set up.
    let biometryKey: SecretBytes?
    /// The version 3 biometry key, encrypted with `biometryKey`, at the start of an upgrade.
    var encryptedBiometryKey: SecretBytes?
}

/// The device's half of a new activation's keys, and the codec of the inner layer.
protocol NewActivationKeys: Sendable {
    associatedtype Scheme: EncryptionScheme
    associatedtype ServerHalf: NewActivationResponse

    /// Generates the device's half.
    init(_ scheme: Scheme, _ server: ServerConnection) throws
    static func isSigned(_ code: ActivationCode, for application: SDKConfiguration) -> Bool
    func encode(_ request: ActivationRequest) throws -> [UInt8]
    func decode(_ response: [UInt8], of path: String) throws -> ServerHalf
    func keys(
        with serverHalf: ServerHalf,
        of path: String,
        protection: NewKeyProtection
    ) async throws -> (VersionedKeys, SigningCounter)
}

protocol NewActivationResponse: Sendable {
    var activationID: String { get }
    var recovery: RecoveryCode? { get }
}

/// Creates one activation, with two encrypted layers in each direction.
struct ActivationCreation<Keys: NewActivationKeys>: NewActivation {
    let request: ActivationRequest
    let server: ServerConnection
    let encryptionKeys: EncryptionKeys<Keys.Scheme>

    func isSigned(_ code: ActivationCode) -> Bool { Keys.isSigned(code, for: self.server.application) }

    func perform(for caller: UncancellableTask.Caller) async throws -> CreatedActivation {
        let keys = try Keys(self.encryptionKeys.scheme, self.server)
        let inner = try keys.encode(self.request)
        // Set by the attempt whose response counts: a retry with another key encrypts both layers again.
        var innerLayer: EncodedBody?
        let path = try ServerEndpoint.activationCreate.path(in: self.server.configuration.version)
        let scheme = self.encryptionKeys.scheme
        let (outerPurpose, innerPurpose) = (try scheme.purpose(of: .generic), try scheme.purpose(of: .activation))
        let response = try await self.encryptionKeys.send(path) { key in
            try caller.checkIsWaiting()
            let layer = try self.encryptionKeys.encrypt(inner, for: innerPurpose, with: key)
            innerLayer = layer
            let outer = ActivationRequest.OuterLayer(self.request, activationData: try JSONValue(parsing: layer.bytes))
            return try self.encryptionKeys.encrypt(try Wire.encode(outer), for: outerPurpose, with: key)
        }
        guard let innerLayer else {
            throw MobileTokenError.invalidResponse("The response to \(path) was not requested")
        }
        return try response.read { bytes in
            let outer = try Wire.decode(OuterResponse.self, from: bytes, of: path)
            let opened = try MobileTokenError.mapErrors(ofResponse: path) {
                try innerLayer.open(try Wire.encode(outer.activationData))
            }
            return try self.created(try keys.decode(opened, of: path), outer, keys, of: path)
        }
    }

    private func created(
        _ serverHalf: Keys.ServerHalf,
        _ outer: OuterResponse,
        _ keys: Keys,
        of path: String
    ) throws(MobileTokenError) -> CreatedActivation {
        guard UUIDString.isValid(serverHalf.activationID) else {
            throw .invalidResponse("The response to \(path) contains no activation identifier")
        }
        return CreatedActivation(
            activationID: serverHalf.activationID,
            recovery: serverHalf.recovery,
            userInfo: outer.userInfo,
            customAttributes: outer.customAttributes
        ) { protection in
            try await keys.keys(with: serverHalf, of: path, protection: protection)
        }
    }
}

private struct OuterResponse: Decodable {
    let activationData: JSONValue
    let customAttributes: JSONValue?
    let userInfo: JSONValue?
}
