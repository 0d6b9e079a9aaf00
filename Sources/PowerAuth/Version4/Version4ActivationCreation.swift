import Coordination
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// Creating one activation of version 4: two encrypted layers out, two back, and a record made of what they carry.
struct Version4ActivationCreation: NewActivation {
    private let request: ActivationRequest
    private let server: ServerConnection
    private let encryptionKeys: EncryptionKeys<Version4Scheme>

    init(_ request: ActivationRequest, server: ServerConnection, encryptionKeys: EncryptionKeys<Version4Scheme>) {
        self.request = request
        self.server = server
        self.encryptionKeys = encryptionKeys
    }

    /// What the server answered, and the device's half of the keys.
    struct Created: CreatedActivation {
        fileprivate let newKeys: NewKeys
        fileprivate let message: Version4.NewKeysMessage
        let activationID: String
        let userInfo: JSONValue?
        let customAttributes: JSONValue?
        var recovery: RecoveryCodes? { nil }
    }

    func isSigned(_ code: ActivationCode) -> Bool {
        guard let key = self.server.application.version4MasterPublicKeys?.ecdsa else { return false }
        return code.isSigned(by: key)
    }

    func perform(for caller: UncancellableTask.Caller) async throws -> Created {
        let newKeys = try NewKeys(suite: self.encryptionKeys.scheme.suite)
        let inner = try Wire.encode(
            InnerRequest(
                sharedSecretRequest: newKeys.agreement.request,
                devicePublicKeys: Version4.SigningKeysMessage(newKeys.deviceKeys.publicKeys),
                activationName: self.request.name ?? self.request.deviceInfo,  // version 4 demands one
                activationOtp: self.request.otp,
                platform: self.request.platform,
                deviceInfo: self.request.deviceInfo,
                extras: self.request.extras
            )
        )
        // Filled by the attempt whose response counts: a retry for an unknown key makes both layers anew.
        var innerLayer: RequestBody?
        let path = try ServerEndpoint.activationCreate.path(in: .v4_0)
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
            let outer = try Wire.decode(Version4.ActivationResponse.self, from: bytes, of: path)
            let opened = try MobileTokenError.mapErrors(ofResponse: path) {
                try innerLayer.open(try Wire.encode(outer.activationData))
            }
            let content = try Wire.decode(Version4.ActivationResponseContent.self, from: opened, of: path)
            guard UUIDString.isValid(content.activationID) else {
                throw MobileTokenError.invalidResponse("The response to \(path) contains no activation identifier")
            }
            return Created(
                newKeys: newKeys,
                message: content.keys,
                activationID: content.activationID,
                userInfo: outer.userInfo,
                customAttributes: outer.customAttributes
            )
        }
    }

    func record(_ created: Created, password: SecretBytes, biometryKey: SecretBytes?) throws -> ActivationRecord {
        let keys = try created.newKeys.keys(
            of: created.activationID,
            from: created.message,
            path: try ServerEndpoint.activationCreate.path(in: .v4_0),
            protection: NewKeys.Protection(password: password, biometryKey: biometryKey),
            pending: .activation,
            randomness: self.server.randomness
        )
        return ActivationRecord(
            activationID: created.activationID,
            name: self.request.name,
            applicationKey: self.server.application.applicationKey,
            createdAt: self.server.clocks.reading.wall,
            keys: .version4(keys),
            counter: .version4(Version4.HashCounter(data: created.message.counterData))
        )
    }

    /// Tells the server that the keys have arrived, which it waits for before it accepts anything else.
    func finish(_ activation: Activation, password: SecretBytes) async throws {
        try await activation.confirm(password: password)
    }
}

// MARK: - On the wire

extension Version4ActivationCreation {
    private struct InnerRequest: Encodable {
        let sharedSecretRequest: Version4.SharedSecretRequest
        let devicePublicKeys: Version4.SigningKeysMessage
        let activationName: String
        let activationOtp: String?
        let platform: String
        let deviceInfo: String
        let extras: String?
    }
}
