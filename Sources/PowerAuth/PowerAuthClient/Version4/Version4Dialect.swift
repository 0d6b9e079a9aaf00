import PowerAuthCrypto
package import PowerAuthProtocol

final class Version4Dialect: ActivationDialect {
    let activationID: String
    let algorithms: AlgorithmSuite
    let fingerprint: String
    let possessionKey: SecretBytes
    let utility: Version4.ActivationKeys.Utility
    let serverPublicKeys: Version4.SigningKeysMessage
    let application: SDKConfiguration
    let keys: EncryptionKeys<Version4Scheme>
    let applicationEncryption: any RequestEncryption

    init(_ record: ActivationRecord, _ keys: Version4Keys, applicationKeys: ApplicationEncryption) throws {
        let server = applicationKeys.server
        self.activationID = record.activationID
        self.algorithms = keys.suite
        self.possessionKey = keys.possessionKey
        self.utility = keys.utility
        self.serverPublicKeys = keys.serverPublicKeys
        self.application = server.application
        self.applicationEncryption = applicationKeys.version4(keys.suite)
        self.fingerprint = try keys.fingerprint(of: record.activationID)
        let scope = Version4Scheme.Scope.activation(
            id: record.activationID,
            utility: keys.utility,
            serverPublicKeys: keys.serverPublicKeys
        )
        self.keys = EncryptionKeys(Version4Scheme(scope: scope, suite: keys.suite), server: server)
    }

    var version: ProtocolVersion { .v4_0 }
    var suite: AlgorithmSuite? { self.algorithms }
    var encryption: any RequestEncryption { self.keys }
    var factorChange: FactorChange { .agreed(self) }

    func check(_ type: SignatureType) throws(MobileTokenError) { _ = try type.version4() }

    func knowledgeGeneration(of record: ActivationRecord, _ choice: KeyChoice) -> [UInt8] {
        record.version4?.knowledgeKey(choice).salt ?? []
    }

    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws {
        guard let keys = record.version4 else { throw OutdatedDialect() }
        guard let pending = keys.pendingConfirmation, !isConfirming else { return }
        throw AwaitingConfirmation(step: pending == .activation ? .activation : .upgrade)
    }
}

extension Version4Keys {
    fileprivate func fingerprint(of activationID: String) throws(MobileTokenError) -> String {
        try MobileTokenError.mapSuiteErrors { () throws(Version4.SharedSecretError) in
            Version4.ActivationFingerprint(
                devicePublicKeys: try self.devicePublicKeys.keys(of: self.suite),
                activationID: activationID,
                serverPublicKeys: try self.serverPublicKeys.keys(of: self.suite)
            ).digits
        }
    }
}

// MARK: - Signing

extension Version4Dialect {
    func signatureHeader(_ input: SignatureInput, nonce: [UInt8]) throws -> (name: String, value: String) {
        let header = Version4.AuthenticationHeader(
            activationID: self.activationID,
            applicationKey: self.application.applicationKey,
            nonce: nonce,
            type: try input.keys.type.version4(),
            code: try Version4.AuthenticationCode(
                input.data,
                keys: input.keys.keys,
                counter: try input.counter.requireVersion4(),
                secret: .online(self.application.applicationSecret)
            )
        )
        return (Version4.AuthenticationHeader.name, header.value)
    }

    func offlineSignature(_ input: SignatureInput, componentLength: Int) throws -> String {
        let counter = try input.counter.requireVersion4()
        return try MobileTokenError.mapCryptoErrors {
            try Version4.AuthenticationCode(input.data, keys: input.keys.keys, counter: counter, secret: .offline)
                .offline(componentLength: componentLength)
        }
    }

    func tokenHeader(_ token: ActivationRecord.Token, nonce: [UInt8], timestamp: Int64) throws -> TokenHeader {
        try TokenHeader(version4TokenID: token.id, secret: token.secret, nonce: nonce, timestamp: timestamp)
    }

    func isValid(_ signature: ServerSignature, of data: [UInt8]) -> Bool {
        let publicKey: P384PublicKey?
        switch signature.key {
        case .shared:
            return Version4.OfflineQRMAC.isValid(signature.bytes, for: data, key: self.utility.personalizedData)
        case .master: publicKey = self.application.version4MasterPublicKeys?.ecdsa
        case .activation: publicKey = try? P384PublicKey(x963: self.serverPublicKeys.ecdsa)
        }
        return switch signature.format {
        case .der: publicKey?.isValid(derSignature: signature.bytes, for: data) ?? false
        case .jose: publicKey?.isValid(rawSignature: signature.bytes, for: data) ?? false
        }
    }
}

extension SigningCounter {
    /// The version 4 counter; `nil` for another version.
    package var version4: Version4.HashCounter? {
        guard case .version4(let counter) = self else { return nil }
        return counter
    }

    fileprivate func requireVersion4() throws -> Version4.HashCounter {
        guard let counter = self.version4 else { throw OutdatedDialect() }
        return counter
    }
}

extension SignatureType {
    /// Returns the name of the factors in version 4.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for an unsupported combination.
    fileprivate func version4() throws(MobileTokenError) -> Version4.AuthenticationCodeType {
        guard let type = Version4.AuthenticationCodeType(rawValue: self.rawValue) else {
            throw MobileTokenError(
                .invalidAuthentication,
                "Version 4 of the protocol signs with possession alone, or with one more factor"
            )
        }
        return type
    }
}

// MARK: - Calls

extension Version4Dialect {
    func validation(for reason: ValidationReason) throws(MobileTokenError) -> EndpointRequest {
        try EndpointRequest(.validate4, Validation(reason: reason.rawValue))
    }

    func token(in response: [UInt8], of path: String) throws -> ActivationRecord.Token {
        let created = try Wire.decode(Version4.TokenResponse.self, from: response, of: path)
        return ActivationRecord.Token(id: created.tokenID, secret: created.tokenSecret)
    }

    private struct Validation: Encodable { let reason: String }
}
