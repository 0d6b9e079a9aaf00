import PowerAuthCrypto
import PowerAuthProtocol

/// The device's half of the version 3 keys of a new activation.
struct Version3NewKeys: NewActivationKeys {
    private let deviceKey: P256PrivateKey
    private let version: ProtocolVersion
    private let server: ServerConnection

    init(_ scheme: ECIESScheme, _ server: ServerConnection) throws {
        self.deviceKey = try MobileTokenError.mapCryptoErrors { try server.randomness.privateKey() }
        self.version = scheme.version
        self.server = server
    }

    static func isSigned(_ code: ActivationCode, for application: SDKConfiguration) -> Bool {
        code.isSigned(by: application.masterPublicKey)
    }

    func encode(_ request: ActivationRequest) throws -> [UInt8] {
        try Wire.encode(
            Request(
                devicePublicKey: Base64.encode(self.deviceKey.publicKey.compressed),
                activationName: request.name,
                activationOtp: request.otp,
                platform: request.platform,
                deviceInfo: request.deviceInfo,
                extras: request.extras
            )
        )
    }

    func decode(_ response: [UInt8], of path: String) throws -> ServerHalf {
        let response = try Wire.decode(Response.self, from: response, of: path)
        guard let counter = Base64.decodeSecret(response.ctrData), counter.count == 16 else {
            throw MobileTokenError.invalidResponse("The response to \(path) contains no counter")
        }
        return ServerHalf(
            publicKey: try MobileTokenError.mapErrors(ofResponse: path) {
                try P256PublicKey(x963: Base64.decode(response.serverPublicKey) ?? [])
            },
            counter: HashCounter(data: counter),
            activationID: response.activationId,
            recovery: response.activationRecovery.map {
                RecoveryCode(code: $0.recoveryCode, puk: $0.puk)
            }
        )
    }

    struct ServerHalf: NewActivationResponse {
        fileprivate let publicKey: P256PublicKey
        fileprivate let counter: HashCounter
        let activationID: String
        let recovery: RecoveryCode?
    }

    /// Derives the keys, using the derivation threads for the password.
    func keys(
        with serverHalf: ServerHalf,
        of path: String,
        protection: NewKeyProtection
    ) async throws -> (VersionedKeys, SigningCounter) {
        let keys = try await self.server.derivations.run {
            try MobileTokenError.mapCryptoErrors { try self.keys(serverHalf.publicKey, protection) }
        }
        return (.version3(keys), .version3(serverHalf.counter))
    }

    private func keys(_ serverPublicKey: P256PublicKey, _ protection: NewKeyProtection) throws -> Version3Keys {
        let keys = try ActivationKeys(privateKey: self.deviceKey, publicKey: serverPublicKey)
        let salt = self.server.randomness.bytes(16)
        return Version3Keys(
            version: self.version,
            devicePublicKey: self.deviceKey.publicKey.compressed,
            serverPublicKey: serverPublicKey.compressed,
            possessionKey: keys.possession,
            transportKey: keys.transport,
            encryptedKnowledgeKey: try KnowledgeKeyProtection.protect(
                keys.knowledge,
                password: protection.password,
                salt: salt
            ),
            knowledgeSalt: salt,
            encryptedBiometryKey: try protection.biometryKey.map {
                try BiometryKeyProtection.protect(keys.biometry, with: $0)
            },
            encryptedDevicePrivateKey: SecretBytes(
                copying: try Vault.encrypt(devicePrivateKey: self.deviceKey, vaultKey: keys.vault)
            )
        )
    }
}

// MARK: - On the wire

extension Version3NewKeys {
    private struct Request: Encodable {
        let devicePublicKey: String
        let activationName: String?
        let activationOtp: String?
        let platform: String
        let deviceInfo: String
        let extras: String?
    }

    private struct Response: Decodable {
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
