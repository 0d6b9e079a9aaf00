import Coordination
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Creating one activation in one version of the protocol.
protocol NewActivation: Sendable {
    /// Returns whether the server's master key signed an activation code.
    func isSigned(_ code: ActivationCode) -> Bool
    /// Asks the server for the activation, which uses up the credentials.
    func perform(for caller: UncancellableTask.Caller) async throws -> CreatedActivation
}

/// The server's answer to the creation of an activation.
struct CreatedActivation: Sendable {
    let activationID: String
    let recovery: ActivationResult.RecoveryCodes?
    let userInfo: JSONValue?
    let customAttributes: JSONValue?
    /// Derives the keys to store. May take the milliseconds of a password's derivation.
    let keys: @Sendable (NewKeyProtection) async throws -> (VersionedKeys, SigningCounter)
}

/// The secrets that protect the factors of new keys.
struct NewKeyProtection: Sendable {
    let password: SecretBytes
    /// The key from outside that protects the biometry key; `nil` when the factor is not set up.
    let biometryKey: SecretBytes?
    /// Protected by this key in version 3 when an upgrade was asked for.
    var encryptedBiometryKey: SecretBytes?
}

/// The device's half of a new activation's keys, and the codec of the inner layer that carries the halves.
protocol NewActivationKeys: Sendable {
    associatedtype Scheme: EncryptionScheme
    associatedtype ServerHalf: NewActivationResponse

    /// Makes the device's half.
    init(_ scheme: Scheme, _ server: ServerConnection) throws
    static func isSigned(_ code: ActivationCode, for application: SDKConfiguration) -> Bool
    /// Encodes the inner layer of the request.
    func encode(_ request: ActivationRequest) throws -> [UInt8]
    /// Decodes the inner layer of the response to `path`.
    func decode(_ response: [UInt8], of path: String) throws -> ServerHalf
    /// Derives the keys to store from both halves.
    func keys(
        with serverHalf: ServerHalf,
        of path: String,
        protection: NewKeyProtection
    ) async throws -> (VersionedKeys, SigningCounter)
}

/// The inner layer of the response to the creation of an activation.
protocol NewActivationResponse: Sendable {
    var activationID: String { get }
    var recovery: ActivationResult.RecoveryCodes? { get }
}

/// Creating one activation: two encrypted layers out, two back, and keys made of what they carry.
struct ActivationCreation<Keys: NewActivationKeys>: NewActivation {
    let request: ActivationRequest
    let server: ServerConnection
    let encryptionKeys: EncryptionKeys<Keys.Scheme>

    func isSigned(_ code: ActivationCode) -> Bool { Keys.isSigned(code, for: self.server.application) }

    func perform(for caller: UncancellableTask.Caller) async throws -> CreatedActivation {
        let keys = try Keys(self.encryptionKeys.scheme, self.server)
        let inner = try keys.encode(self.request)
        // Filled by the attempt whose response counts: a retry for an unknown key makes both layers anew.
        var innerLayer: RequestBody?
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
