import Coordination
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// Creating one activation: two encrypted layers out, two back, and a record made of what they carry.
struct Version3ActivationCreation: NewActivation {
    private let request: ActivationRequest
    private let server: ServerConnection
    private let encryptionKeys: EncryptionKeys<ECIESScheme>

    init(_ request: ActivationRequest, server: ServerConnection, encryptionKeys: EncryptionKeys<ECIESScheme>) {
        self.request = request
        self.server = server
        self.encryptionKeys = encryptionKeys
    }

    /// What the server answered, and the key that it answered to.
    struct Created: CreatedActivation {
        fileprivate let deviceKey: P256PrivateKey
        fileprivate let serverPublicKey: P256PublicKey
        let activationID: String
        fileprivate let counter: HashCounter
        let recovery: RecoveryCodes?
        let userInfo: JSONValue?
        let customAttributes: JSONValue?
    }

    func perform(for caller: UncancellableTask.Caller) async throws -> Created {
        let deviceKey = try MobileTokenError.mapCryptoErrors { try self.server.randomness.privateKey() }
        let inner = try Wire.encode(
            InnerRequest(
                devicePublicKey: Base64.encode(deviceKey.publicKey.compressed),
                activationName: self.request.name,
                activationOtp: self.request.otp,
                platform: self.request.platform,
                deviceInfo: self.request.deviceInfo,
                extras: self.request.extras
            )
        )
        // Filled by the attempt whose response counts: a retry for an unknown key makes both layers anew.
        var innerLayer: RequestBody?
        let path = try ServerEndpoint.activationCreate.path(in: self.server.configuration.version)
        let response = try await self.encryptionKeys.send(path) { key in
            try caller.checkIsWaiting()
            let layer = try self.encryptionKeys.encrypt(inner, for: .activation, with: key)
            innerLayer = layer
            let outer = ActivationRequest.OuterLayer(self.request, activationData: try JSONValue(parsing: layer.bytes))
            return try self.encryptionKeys.encrypt(try Wire.encode(outer), for: .genericApplication, with: key)
        }
        guard let innerLayer else {
            throw MobileTokenError.invalidResponse("The response to \(path) was not requested")
        }
        return try response.read { bytes in
            let outer = try Wire.decode(OuterResponse.self, from: bytes, of: path)
            let opened = try MobileTokenError.mapErrors(ofResponse: path) {
                try innerLayer.open(try Wire.encode(outer.activationData))
            }
            let created = try Wire.decode(InnerResponse.self, from: opened, of: path)
            return try self.read(created, outer, of: path, deviceKey: deviceKey)
        }
    }

    private func read(
        _ inner: InnerResponse,
        _ outer: OuterResponse,
        of path: String,
        deviceKey: P256PrivateKey
    ) throws -> Created {
        guard UUIDString.isValid(inner.activationId) else {
            throw MobileTokenError.invalidResponse("The response to \(path) contains no activation identifier")
        }
        guard let counter = Base64.decodeSecret(inner.ctrData), counter.count == 16 else {
            throw MobileTokenError.invalidResponse("The response to \(path) contains no counter")
        }
        let serverPublicKey = try MobileTokenError.mapErrors(ofResponse: path) {
            try P256PublicKey(x963: Base64.decode(inner.serverPublicKey) ?? [])
        }
        return Created(
            deviceKey: deviceKey,
            serverPublicKey: serverPublicKey,
            activationID: inner.activationId,
            counter: HashCounter(data: counter),
            recovery: inner.activationRecovery.map { RecoveryCodes(code: $0.recoveryCode, puk: $0.puk) },
            userInfo: outer.userInfo,
            customAttributes: outer.customAttributes
        )
    }

    func isSigned(_ code: ActivationCode) -> Bool {
        code.isSigned(by: self.server.application.masterPublicKey)
    }

    /// Does nothing: an activation of version 3 needs no confirmation.
    func finish(_ activation: Activation, password: SecretBytes) {}

    /// Returns the record to store. Derives a key from the password, on the threads made for that.
    func record(_ created: Created, password: SecretBytes, biometryKey: SecretBytes?) async throws -> ActivationRecord {
        try await self.server.derivations.run {
            try MobileTokenError.mapCryptoErrors {
                try self.computeRecord(created, password: password, biometryKey: biometryKey)
            }
        }
    }

    private func computeRecord(
        _ created: Created,
        password: SecretBytes,
        biometryKey: SecretBytes?
    ) throws -> ActivationRecord {
        ActivationRecord(
            activationID: created.activationID,
            name: self.request.name,
            applicationKey: self.server.application.applicationKey,
            createdAt: self.server.clocks.reading.wall,
            keys: .version3(try self.keys(created, password: password, biometryKey: biometryKey)),
            counter: .version3(created.counter)
        )
    }

    private func keys(
        _ created: Created,
        password: SecretBytes,
        biometryKey: SecretBytes?
    ) throws -> Version3Keys {
        let keys = try ActivationKeys(privateKey: created.deviceKey, publicKey: created.serverPublicKey)
        let salt = self.server.randomness.bytes(16)
        return Version3Keys(
            version: self.server.configuration.version,
            devicePublicKey: created.deviceKey.publicKey.compressed,
            serverPublicKey: created.serverPublicKey.compressed,
            possessionKey: keys.possession,
            transportKey: keys.transport,
            encryptedKnowledgeKey: try KnowledgeKeyProtection.protect(
                keys.knowledge,
                password: password,
                salt: salt
            ),
            knowledgeSalt: salt,
            encryptedBiometryKey: try biometryKey.map {
                try BiometryKeyProtection.protect(keys.biometry, with: $0)
            },
            encryptedDevicePrivateKey: SecretBytes(
                copying: try Vault.encrypt(devicePrivateKey: created.deviceKey, vaultKey: keys.vault)
            )
        )
    }
}

// MARK: - On the wire

extension Version3ActivationCreation {
    private struct InnerRequest: Encodable {
        let devicePublicKey: String
        let activationName: String?
        let activationOtp: String?
        let platform: String
        let deviceInfo: String
        let extras: String?
    }

    private struct OuterResponse: Decodable {
        let activationData: JSONValue
        let customAttributes: JSONValue?
        let userInfo: JSONValue?
    }

    private struct InnerResponse: Decodable {
        let activationId: String
        let serverPublicKey: String
        let ctrData: String
        let activationRecovery: Recovery?

        struct Recovery: Decodable {
            let recoveryCode: String
            let puk: String
        }
    }
}
