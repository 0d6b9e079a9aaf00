import PowerAuthCrypto
package import PowerAuthProtocol

/// How an activation of version 3 speaks with the server.
final class Version3Dialect: ActivationDialect {
    let activationID: String
    let version: ProtocolVersion
    let fingerprint: String
    let possessionKey: SecretBytes
    let transportKey: SecretBytes
    let serverPublicKey: P256PublicKey
    let server: ServerConnection
    /// Of this activation's scope.
    let keys: EncryptionKeys<ECIESScheme>
    let applicationEncryption: any RequestEncryption

    init(
        _ record: ActivationRecord,
        _ keys: Version3Keys,
        server: ServerConnection,
        applicationKeys: ApplicationEncryption
    ) throws {
        self.activationID = record.activationID
        self.version = keys.version
        self.possessionKey = keys.possessionKey
        self.transportKey = keys.transportKey
        self.server = server
        self.applicationEncryption = applicationKeys.version3
        let serverPublicKey = try MobileTokenError.mapCryptoErrors { try P256PublicKey(x963: keys.serverPublicKey) }
        self.serverPublicKey = serverPublicKey
        // The device's key serves nothing else: a parsed key takes kilobytes, and a fleet has thousands.
        self.fingerprint = try MobileTokenError.mapCryptoErrors {
            ActivationFingerprint(
                devicePublicKey: try P256PublicKey(x963: keys.devicePublicKey),
                activationID: record.activationID,
                serverPublicKey: serverPublicKey
            ).digits
        }
        let scope = ECIESScheme.Scope.activation(
            id: record.activationID,
            transportKey: keys.transportKey,
            serverPublicKey: serverPublicKey
        )
        self.keys = EncryptionKeys(ECIESScheme(scope: scope, version: keys.version), server: server)
    }

    var suite: AlgorithmSuite? { nil }
    var encryption: any RequestEncryption { self.keys }

    /// The type of a signature with any factors has a name in version 3.
    func check(_ type: SignatureType) {}

    /// Always the same: a change of password protects the same key anew.
    func knowledgeGeneration(of record: ActivationRecord, _ choice: KeyChoice) -> [UInt8] { [] }

    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws { _ = try self.keys(of: record) }
}

// MARK: - Signing

extension Version3Dialect {
    func signatureHeader(
        of request: SignedRequest,
        body: [UInt8],
        nonce: [UInt8],
        counter: SigningCounter
    ) throws -> (name: String, value: String) {
        guard let counter = counter.version3 else { throw OutdatedDialect() }
        let signature = RequestSignature(
            SignatureData(method: "POST", uriID: request.uriID, nonce: nonce, body: body),
            keys: request.keys.keys,
            counter: counter,
            secret: .online(self.server.application.applicationSecret)
        )
        let header = SignatureHeader(
            activationID: self.activationID,
            applicationKey: self.server.application.applicationKey,
            nonce: nonce,
            type: request.keys.type,
            signature: signature.onlineBytes,
            version: self.version
        )
        return (SignatureHeader.name, header.value)
    }

    func offlineSignature(
        _ data: SignatureData,
        keys: SigningKeys,
        counter: SigningCounter,
        componentLength: Int
    ) throws -> String {
        guard let counter = counter.version3 else { throw OutdatedDialect() }
        return RequestSignature(data, keys: keys.keys, counter: counter, secret: .offline)
            .offline(componentLength: componentLength)
    }

    func tokenHeader(
        _ token: ActivationRecord.Token,
        nonce: [UInt8],
        timestamp: Int64
    ) -> (name: String, value: String) {
        let header = TokenHeader(
            tokenID: token.id,
            secret: token.secret,
            nonce: nonce,
            timestamp: timestamp,
            version: self.version
        )
        return (TokenHeader.name, header.value)
    }

    func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: ServerSigningKey,
        format: ServerSignatureFormat
    ) -> Bool {
        let publicKey: P256PublicKey
        switch key {
        case .master: publicKey = self.server.application.masterPublicKey
        case .activation: publicKey = self.serverPublicKey
        case .shared: return false
        }
        return switch format {
        case .der: publicKey.isValid(derSignature: signature, for: data)
        case .jose: publicKey.isValid(rawSignature: signature, for: data)
        }
    }
}

extension SigningCounter {
    /// The counter of an activation of version 3; `nil` for others.
    package var version3: HashCounter? {
        guard case .version3(let counter) = self else { return nil }
        return counter
    }
}

// MARK: - Calls

extension Version3Dialect {
    func validation(for reason: ValidationReason) -> EndpointRequest { EndpointRequest(.validate3, in: self.version) }

    func token(in response: [UInt8], of path: String) throws -> ActivationRecord.Token {
        let created = try Wire.decode(CreatedToken.self, from: response, of: path)
        guard let secret = Base64.decodeSecret(created.tokenSecret) else {
            throw MobileTokenError.invalidResponse("The response to \(path) contains no token secret")
        }
        return ActivationRecord.Token(id: created.tokenId, secret: secret)
    }

    private struct CreatedToken: Decodable {
        let tokenId: String
        let tokenSecret: String
    }
}
