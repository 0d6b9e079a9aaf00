import PowerAuthCrypto
import PowerAuthProtocol

extension Version4Dialect {
    func knowledgeKey(of record: ActivationRecord, password: SecretBytes, _ choice: KeyChoice) throws -> SecretBytes {
        let keys = try self.keys(of: record)
        return try MobileTokenError.mapCryptoErrors { try keys.knowledgeKey(choice).key(password: password) }
    }

    func biometryKey(
        of record: ActivationRecord,
        unlockedWith unlockKey: SecretBytes,
        _ choice: KeyChoice
    ) throws -> SecretBytes {
        guard let wrapped = try self.keys(of: record).wrappedBiometryKey(choice) else {
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

    /// Agrees with the server on another knowledge key, which the new password protects here, and proves it.
    ///
    /// The server takes the old key and the new one until one of them is used, and both are kept here until it has shown which one
    /// that is: whatever is lost or refused, the old password or the new one works. When the agreement is lost, the old one stays.
    func changePassword(of activation: Activation, from old: SecretBytes, to new: SecretBytes) async throws {
        try await self.agree(
            by: .passwordChange,
            of: activation,
            with: .possessionAndKnowledge(password: old)
        ) { key, keys in
            let protected = try MobileTokenError.mapCryptoErrors {
                try self.server.randomness.protectedKnowledgeKey(key, password: new)
            }
            return { $0.add(protected, agreedOnBy: keys) }
        }
        try await self.prove(.possessionAndKnowledge(password: new), .newPassword, of: activation) {
            $0.preferOtherKnowledgeKey()
        }
    }

    func changePasswordUnchecked(of activation: Activation, from old: SecretBytes, to new: SecretBytes) throws {
        throw MobileTokenError.unsupported("Version 4 of the protocol changes passwords with the server alone")
    }

    func hasBiometryFactor(_ record: ActivationRecord) -> Bool { record.version4?.wrappedBiometryKey != nil }

    /// Agrees with the server on a biometry key, and proves it. One that it replaces is kept until then.
    func addBiometryFactor(to activation: Activation, key unlockKey: SecretBytes, password: SecretBytes) async throws {
        try await self.agree(
            by: .biometryAdd,
            of: activation,
            with: .possessionAndKnowledge(password: password)
        ) { key, keys in
            let wrapped = try MobileTokenError.mapCryptoErrors {
                try self.server.randomness.wrappedBiometryKey(key, unlockKey: unlockKey)
            }
            return {
                $0.keepProven(keys)
                $0.add(biometryKey: wrapped)
            }
        }
        try await self.prove(.possessionAndBiometry(key: unlockKey), .newBiometry, of: activation) {
            $0.preferOtherBiometryKey()
        }
    }

    func removeBiometryFactor(from activation: Activation) async throws {
        try await activation.send(with: .possession, in: self) { keys in
            try SignedRequest(EndpointRequest(.biometryRemove, in: self.version), keys: keys)
        } receiveInTurn: { response, _, turn in
            try Acknowledgement.check(response, of: "biometry/remove")
            try await activation.updateRecord(in: turn) { record in
                record.version4?.wrappedBiometryKey = nil
                record.version4?.otherBiometryKey = nil
            }
        }
    }

    /// Agrees with the server on another key of a factor, and keeps it, even when the caller is canceled by then.
    ///
    /// - Parameter change: Returns what to do with the key, given those that signed: the response is encrypted, so the server
    ///   has them.
    private func agree(
        by endpoint: ServerEndpoint,
        of activation: Activation,
        with authentication: Authentication,
        change: @escaping @Sendable (SecretBytes, SigningKeys) throws -> @Sendable (inout Version4Keys) -> Void
    ) async throws {
        let path = try endpoint.path(in: self.version)
        try await activation.withSigningKeys(for: authentication, in: self) { keys in
            // Of one request: its private keys serve one response.
            let agreement = try PendingAgreement(suite: self.algorithms)
            let request = try SignedRequest(EndpointRequest(endpoint, agreement.request), keys: keys)
            try await activation.withSigningTurn { turn, caller in
                let response = try await activation.exchange(request, in: turn, for: caller)
                let key = try response.read { bytes in
                    let message = try Wire.decode(Version4.SharedSecretResponse.self, from: bytes, of: path)
                    return try agreement.secret(from: message, of: path)
                }
                let change = try change(key, keys)
                try await activation.updateRecord(in: turn) { record in
                    if let keys = record.version4 { record.version4 = keys.changed(change) }
                }
            }
        }
    }

    /// Uses a new key once, so that the server forgets the old one.
    ///
    /// A server that cannot be reached will do so later: the new key is then taken for the likely one. When the server refuses it,
    /// the old one is.
    private func prove(
        _ authentication: Authentication,
        _ reason: ValidationReason,
        of activation: Activation,
        preferring prefer: @escaping @Sendable (inout Version4Keys) -> Void
    ) async throws {
        try await activation.withSigningKeys(for: authentication, .other, in: self) { keys in
            let request = try SignedRequest(self.validation(for: reason), keys: keys)
            try await activation.withSigningTurn { turn, caller in
                do {
                    let response = try await activation.exchange(request, in: turn, for: caller)
                    try Acknowledgement.check(response, of: request.path)
                } catch let error as MobileTokenError where error.isPassing {
                    // It may have been accepted nevertheless, which the status would show.
                    await activation.keepProven(keys, in: turn)
                }
                try await activation.updateRecord(in: turn) { record in
                    if let keys = record.version4 { record.version4 = keys.changed(prefer) }
                }
            }
        }
    }

    /// Returns what the record holds for this version.
    func keys(of record: ActivationRecord) throws -> Version4Keys {
        guard let keys = record.version4 else { throw OutdatedDialect() }
        return keys
    }
}
