import PowerAuthCrypto
import PowerAuthProtocol

extension Version4Dialect {
    func knowledgeKey(of record: ActivationRecord, password: SecretBytes) throws -> SecretBytes {
        let keys = try self.keys(of: record)
        return try MobileTokenError.mapCryptoErrors { try keys.knowledgeKey.key(password: password) }
    }

    func biometryKey(of record: ActivationRecord, unlockedWith unlockKey: SecretBytes) throws -> SecretBytes {
        guard let wrapped = try self.keys(of: record).wrappedBiometryKey else {
            throw MobileTokenError(.invalidAuthentication, "The biometry factor is not set up")
        }
        try BiometryUnlockKey.validate(unlockKey)
        return try MobileTokenError.mapCryptoErrors {
            try Version4.KeyWrap.unwrap(
                wrapped.withUnsafeBytes { Array($0) },
                under: Version4.KeyDerivation.expandedBiometryKey(unlockKey)
            )
        }
    }

    /// Agrees with the server on another knowledge key. The new password only protects it here.
    ///
    /// When the response is lost, the old key stays, and the server takes either until one is used.
    func changePassword(of activation: Activation, from old: SecretBytes, to new: SecretBytes) async throws {
        try await self.agree(
            by: .passwordChange,
            .passwordChange,
            of: activation,
            with: .possessionAndKnowledge(password: old)
        ) { key in
            let protected = try MobileTokenError.mapCryptoErrors {
                try self.server.randomness.protectedKnowledgeKey(key, password: new)
            }
            try await activation.updateRecord { $0.version4?.knowledgeKey = protected }
        }
        try await self.prove(.possessionAndKnowledge(password: new), .newPassword, of: activation)
    }

    func changePasswordUnchecked(of activation: Activation, from old: SecretBytes, to new: SecretBytes) throws {
        throw MobileTokenError.unsupported("Version 4 of the protocol changes passwords with the server alone")
    }

    func hasBiometryFactor(_ record: ActivationRecord) -> Bool { record.version4?.wrappedBiometryKey != nil }

    func addBiometryFactor(to activation: Activation, key unlockKey: SecretBytes, password: SecretBytes) async throws {
        try await self.agree(
            by: .biometryAdd,
            .biometryAdd,
            of: activation,
            with: .possessionAndKnowledge(password: password)
        ) { key in
            let wrapped = try MobileTokenError.mapCryptoErrors {
                try self.server.randomness.wrappedBiometryKey(key, unlockKey: unlockKey)
            }
            try await activation.updateRecord { $0.version4?.wrappedBiometryKey = wrapped }
        }
        try await self.prove(.possessionAndBiometry(key: unlockKey), .newBiometry, of: activation)
    }

    func removeBiometryFactor(from activation: Activation) async throws {
        try await activation.send(with: .possession, in: self) { keys in
            SignedRequest(try DialectEndpoint(.biometryRemove, Version4.NoContent()), keys: keys)
        } receive: { _ in
            try await activation.updateRecord { $0.version4?.wrappedBiometryKey = nil }
        }
    }

    /// Agrees with the server on another key of a factor, and hands it to `keep`, which runs to its end even when the caller is
    /// canceled by then.
    private func agree(
        by endpoint: Version4.Endpoint,
        _ purpose: Version4.EncryptionPurpose,
        of activation: Activation,
        with authentication: Authentication,
        keep: @escaping @Sendable (SecretBytes) async throws -> Void
    ) async throws {
        let agreement = try PendingAgreement(suite: self.algorithms)
        let plaintext = try Wire.encode(agreement.request)
        try await activation.send(with: authentication, in: self) { keys in
            SignedRequest(path: endpoint.path, uriID: endpoint.uriID, keys: keys) {
                try await self.keys.encrypt(plaintext, for: purpose)
            }
        } receive: { response in
            let key = try response.read { bytes in
                let message = try Wire.decode(Version4.SharedSecretResponse.self, from: bytes, of: endpoint.path)
                return try agreement.secret(from: message, of: endpoint.path)
            }
            try await keep(key)
        }
    }

    /// Uses a new key once, so that the server forgets the old one. A server that cannot be reached will do so later.
    private func prove(
        _ authentication: Authentication,
        _ reason: ValidationReason,
        of activation: Activation
    ) async throws {
        do {
            try await activation.validate(authentication, reason: reason)
        } catch let error as MobileTokenError where error.isPassing {}
    }

    /// Returns what the record holds for this version.
    func keys(of record: ActivationRecord) throws -> Version4Keys {
        guard let keys = record.version4 else { throw OutdatedDialect() }
        return keys
    }
}
