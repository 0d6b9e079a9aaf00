import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// The encryption of version 3 in one scope, for a public key of the server.
struct ECIESScheme: EncryptionScheme {
    enum Scope: Sendable {
        /// The application scope, with or without an activation.
        case application(masterPublicKey: P256PublicKey)
        /// The activation scope: both sides prove knowledge of the transport key.
        case activation(id: String, transportKey: SecretBytes, serverPublicKey: [UInt8])
    }

    let scope: Scope
    let version: ProtocolVersion

    var permanentKey: EncryptionKey<P256PublicKey>? {
        get throws {
            self.version.usesTemporaryKeys ? nil : EncryptionKey(id: nil, material: try self.scope.signingKey)
        }
    }

    var activationID: String? { self.scope.activation.id }

    var usesTimestamps: Bool { self.version.usesTimestamps }

    func fetchKey(
        from server: ServerConnection
    ) async throws -> (key: EncryptionKey<P256PublicKey>, lifetime: Duration) {
        let application = server.application
        let (activationID, transportKey) = self.scope.activation
        let request = TemporaryKeyRequest(
            applicationKey: application.applicationKey,
            activationID: activationID,
            challenge: server.randomness.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let jwt = request.jwt(applicationSecret: application.applicationSecret, transportKey: transportKey)
        let (issued, lifetime) = try await server.explainingDemandOfVersion4 {
            try await server.fetchTemporaryKey(in: self.version, for: activationID, jwt: jwt) { jwt, now in
                try TemporaryKeyResponse(jwt: jwt, signedBy: self.scope.signingKey, answering: request, now: now)
            }
        }
        return (EncryptionKey(id: issued.keyID, material: issued.key), lifetime)
    }

    func encrypt(
        _ plaintext: [UInt8],
        for purpose: ECIESPurpose,
        with key: EncryptionKey<P256PublicKey>,
        server: ServerConnection
    ) throws -> EncodedBody {
        let parameters = ECIESParameters(
            version: self.version,
            applicationKey: server.application.applicationKey,
            applicationSecret: server.application.applicationSecret,
            scope: self.scope.ecies,
            purpose: purpose,
            temporaryKeyID: key.id
        )
        var encryptor = ECIESClientExchange(parameters: parameters, recipient: key.material)
        let request = try MobileTokenError.mapCryptoErrors {
            try encryptor.encryptRequest(
                plaintext,
                ephemeralKey: try server.randomness.privateKey(),
                nonce: server.randomness.bytes(16),
                timestamp: server.time.milliseconds
            )
        }
        return EncodedBody(
            bytes: try Wire.encode(request),
            temporaryKeyID: key.id,
            encryptionHeader: parameters.header.value
        ) { [encryptor] response in
            var decryptor = encryptor
            return try decryptor.decryptResponse(try JSONDecoder().decode(ECIESResponse.self, from: Data(response)))
        }
    }
}

extension ECIESScheme.Scope {
    /// The key that signs temporary keys and, before version 3.3, replaces them. An activation's is parsed at each use.
    fileprivate var signingKey: P256PublicKey {
        get throws {
            switch self {
            case .application(let masterPublicKey): masterPublicKey
            case .activation(_, _, let bytes): try MobileTokenError.mapCryptoErrors { try P256PublicKey(x963: bytes) }
            }
        }
    }

    fileprivate var ecies: ECIESScope {
        switch self {
        case .application: .application
        case .activation(let id, let transportKey, _): .activation(id: id, transportKey: transportKey)
        }
    }

    fileprivate var activation: (id: String?, transportKey: SecretBytes?) {
        switch self {
        case .application: (nil, nil)
        case .activation(let id, let transportKey, _): (id, transportKey)
        }
    }
}
