import PowerAuthCrypto
import PowerAuthProtocol

/// The encryption of version 4 in one scope, with a temporary shared secret.
struct Version4Scheme: EncryptionScheme {
    enum Scope: Sendable {
        /// The application scope, with or without an activation.
        case application
        case activation(
            id: String,
            utility: Version4.ActivationKeys.Utility,
            serverPublicKeys: Version4.SigningKeysMessage
        )
    }

    let scope: Scope
    let suite: AlgorithmSuite

    var permanentKey: EncryptionKey<SecretBytes>? { nil }
    var usesTimestamps: Bool { true }

    func fetchKey(from server: ServerConnection) async throws -> (key: EncryptionKey<SecretBytes>, lifetime: Duration) {
        let agreement = try PendingAgreement(suite: self.suite)
        let request = Version4.TemporaryKeyRequest(
            applicationKey: server.application.applicationKey,
            activationID: self.activationID,
            challenge: server.randomness.bytes(Version4.TemporaryKeyRequest.challengeByteCount),
            sharedSecretRequest: agreement.request
        )
        let jwt = request.jwt(key: try self.requestKey(server.application))
        let signers = try self.signingKeys(server.application)
        let (issued, lifetime) = try await server.fetchTemporaryKey(in: .v4_0, for: self.activationID, jwt: jwt) {
            try Version4.TemporaryKeyResponse(jws: $0, signedBy: signers, answering: request, now: $1)
        }
        let path = try ServerEndpoint.temporaryKey.path(in: .v4_0)
        let secret = try agreement.secret(from: issued.key, of: path)
        return (EncryptionKey(id: issued.keyID, material: secret), lifetime)
    }

    var activationID: String? {
        switch self.scope {
        case .application: nil
        case .activation(let id, _, _): id
        }
    }

    private func requestKey(_ application: SDKConfiguration) throws -> SecretBytes {
        switch self.scope {
        case .activation(_, let utility, _): utility.temporaryKeyRequest
        case .application:
            try MobileTokenError.mapCryptoErrors {
                try Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: application.applicationSecret)
            }
        }
    }

    /// Returns the keys that sign temporary keys, parsed at each call: parsed keys take kilobytes, and a fleet has thousands.
    private func signingKeys(_ application: SDKConfiguration) throws -> Version4.SigningPublicKeys {
        switch self.scope {
        case .activation(_, _, let keys):
            try MobileTokenError.mapSuiteErrors { () throws(Version4.SharedSecretError) in
                try keys.keys(of: self.suite)
            }
        case .application: try application.masterPublicKeys(of: self.suite)
        }
    }

    func encrypt(
        _ plaintext: [UInt8],
        for purpose: Version4.EncryptionPurpose,
        with key: EncryptionKey<SecretBytes>,
        server: ServerConnection
    ) throws -> EncodedBody {
        let parameters = try MobileTokenError.mapCryptoErrors {
            try Version4.EncryptionParameters(
                applicationKey: server.application.applicationKey,
                applicationSecret: server.application.applicationSecret,
                scope: self.encryptionScope,
                purpose: purpose,
                temporaryKeyID: key.id ?? "",
                temporaryKey: key.material
            )
        }
        var exchange = Version4.ClientExchange(parameters: parameters)
        let request = try MobileTokenError.mapCryptoErrors {
            try exchange.encryptRequest(
                plaintext,
                nonce: server.randomness.bytes(Version4.ClientExchange.nonceByteCount),
                timestamp: server.time.milliseconds
            )
        }
        return EncodedBody(
            bytes: try Wire.encode(request),
            temporaryKeyID: key.id,
            encryptionHeader: parameters.header.value
        ) { [exchange] response in
            var exchange = exchange
            return try exchange.decryptResponse(
                try Wire.decode(Version4.EncryptedResponse.self, from: response, of: "an encrypted request")
            )
        }
    }

    var encryptionScope: Version4.EncryptionParameters.Scope {
        switch self.scope {
        case .application: .application
        case .activation(let id, let utility, _): .activation(id: id, sharedInfo2Key: utility.sharedInfo2)
        }
    }
}

extension SDKConfiguration {
    /// Returns the server's master keys of a suite.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` for a missing one, and `suiteUnavailable` if this process does
    ///   not support the suite.
    func masterPublicKeys(of suite: AlgorithmSuite) throws(MobileTokenError) -> Version4.SigningPublicKeys {
        guard let keys = self.version4MasterPublicKeys, self.suites.contains(suite) else {
            throw MobileTokenError(
                .invalidConfiguration,
                "sdkConfiguration: there are no master keys of \(suite.rawValue)"
            )
        }
        do {
            try suite.requireAvailability()
        } catch {
            throw .suiteUnavailable(error)
        }
        return try MobileTokenError.mapSuiteErrors { () throws(Version4.SharedSecretError) in
            try keys.keys(of: suite)
        }
    }
}
