import PowerAuthCrypto
package import PowerAuthProtocol

final class Version3Dialect: ActivationDialect {
    let activationID: String
    let version: ProtocolVersion
    let fingerprint: String
    let possessionKey: SecretBytes
    let transportKey: SecretBytes
    private let serverKey: [UInt8]
    let application: SDKConfiguration
    let randomness: Randomness
    let keys: EncryptionKeys<ECIESScheme>
    let applicationEncryption: any RequestEncryption

    init(_ record: ActivationRecord, _ keys: Version3Keys, applicationKeys: ApplicationEncryption) throws {
        let server = applicationKeys.server
        self.activationID = record.activationID
        self.version = keys.version
        self.possessionKey = keys.possessionKey
        self.transportKey = keys.transportKey
        self.application = server.application
        self.randomness = server.randomness
        self.applicationEncryption = applicationKeys.version3
        let serverPublicKey = try MobileTokenError.mapCryptoErrors { try P256PublicKey(x963: keys.serverPublicKey) }
        // Neither key is kept: a parsed key takes two kilobytes, and a fleet has thousands. Uncompressed, it is parsed fast.
        self.serverKey = serverPublicKey.uncompressed
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
            serverPublicKey: self.serverKey
        )
        self.keys = EncryptionKeys(ECIESScheme(scope: scope, version: keys.version), server: server)
    }

    var serverPublicKey: P256PublicKey { get throws { try P256PublicKey(x963: self.serverKey) } }
    var suite: AlgorithmSuite? { nil }
    var encryption: any RequestEncryption { self.keys }
    var factorChange: FactorChange { .local(self) }

    /// Version 3 supports all combinations of factors.
    func check(_ type: SignatureType) {}

    /// Constant: a password change protects the same key.
    func knowledgeGeneration(of record: ActivationRecord, _ choice: KeyChoice) -> [UInt8] { [] }

    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws { _ = try self.keys(of: record) }
}

// MARK: - Signing

extension Version3Dialect {
    func signatureHeader(_ input: SignatureInput, nonce: [UInt8]) throws -> (name: String, value: String) {
        let signature = RequestSignature(
            input.data,
            keys: input.keys.keys,
            counter: try input.counter.requireVersion3(),
            secret: .online(self.application.applicationSecret)
        )
        let header = SignatureHeader(
            activationID: self.activationID,
            applicationKey: self.application.applicationKey,
            nonce: nonce,
            type: input.keys.type,
            signature: signature.onlineBytes,
            version: self.version
        )
        return (SignatureHeader.name, header.value)
    }

    func offlineSignature(_ input: SignatureInput, componentLength: Int) throws -> String {
        RequestSignature(
            input.data,
            keys: input.keys.keys,
            counter: try input.counter.requireVersion3(),
            secret: .offline
        )
        .offline(componentLength: componentLength)
    }

    func tokenHeader(_ token: ActivationRecord.Token, nonce: [UInt8], timestamp: Int64) -> TokenHeader {
        TokenHeader(
            tokenID: token.id,
            secret: token.secret,
            nonce: nonce,
            timestamp: timestamp,
            version: self.version
        )
    }

    func isValid(_ signature: ServerSignature, of data: [UInt8]) -> Bool {
        let publicKey: P256PublicKey?
        switch signature.key {
        case .master: publicKey = self.application.masterPublicKey
        case .activation: publicKey = try? self.serverPublicKey
        case .shared: return false
        }
        return switch signature.format {
        case .der: publicKey?.isValid(derSignature: signature.bytes, for: data) ?? false
        case .jose: publicKey?.isValid(rawSignature: signature.bytes, for: data) ?? false
        }
    }
}

extension SigningCounter {
    /// The version 3 counter; `nil` for another version.
    package var version3: HashCounter? {
        guard case .version3(let counter) = self else { return nil }
        return counter
    }

    fileprivate func requireVersion3() throws -> HashCounter {
        guard let counter = self.version3 else { throw OutdatedDialect() }
        return counter
    }
}

// MARK: - Calls

extension Version3Dialect {
    func validation(for reason: ValidationReason) -> EndpointRequest { EndpointRequest(.validate3, in: self.version) }

    func token(in response: [UInt8], of path: String) throws -> ActivationRecord.Token {
        let created = try Wire.decode(CreatedToken.self, from: response, of: path)
        guard let secret = Base64.decodeSecret(created.tokenSecret), secret.count == 16 else {
            throw MobileTokenError.invalidResponse("The response to \(path) contains no token secret of 16 bytes")
        }
        return ActivationRecord.Token(id: created.tokenId, secret: secret)
    }

    private struct CreatedToken: Decodable {
        let tokenId: String
        let tokenSecret: String
    }
}
