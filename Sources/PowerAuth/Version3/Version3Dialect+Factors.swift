import PowerAuthCrypto
import PowerAuthProtocol

extension Version3Dialect {
    func knowledgeKey(of record: ActivationRecord, password: SecretBytes, _ choice: KeyChoice) throws -> SecretBytes {
        let keys = try self.keys(of: record)
        return try MobileTokenError.mapCryptoErrors {
            try KnowledgeKeyProtection.unprotect(
                keys.encryptedKnowledgeKey,
                password: password,
                salt: keys.knowledgeSalt
            )
        }
    }

    func biometryKey(
        of record: ActivationRecord,
        unlockedWith unlockKey: SecretBytes,
        _ choice: KeyChoice
    ) throws -> SecretBytes {
        guard let encrypted = try self.keys(of: record).encryptedBiometryKey else {
            throw MobileTokenError(.invalidAuthentication, "The biometry factor is not set up")
        }
        return try MobileTokenError.mapCryptoErrors { try BiometryKeyProtection.unlock(encrypted, with: unlockKey) }
    }

    func hasBiometryFactor(_ record: ActivationRecord) -> Bool { record.version3?.encryptedBiometryKey != nil }

    /// Removes the key. The server does not need to know: without it, the factor cannot be used.
    func removeBiometryFactor(from activation: Activation) async throws {
        try await activation.withSigningTurn { turn, _ in
            try await self.update(activation, in: turn) { $0.encryptedBiometryKey = nil }
        }
    }

    func addBiometryFactor(to activation: Activation, key: SecretBytes, password: SecretBytes) async throws {
        let authentication = Authentication.possessionAndKnowledge(password: password)
        try await self.openVault(of: activation, with: authentication, reason: .addBiometry) { vaultKey, keys, turn in
            let privateKey = try keys.devicePrivateKey(vaultKey: vaultKey)
            let encrypted = try MobileTokenError.mapCryptoErrors {
                let keys = try ActivationKeys(privateKey: privateKey, publicKey: self.serverPublicKey)
                return try BiometryKeyProtection.protect(keys.biometry, with: key)
            }
            try await self.update(activation, in: turn) { $0.encryptedBiometryKey = encrypted }
        }
    }

    func changePassword(of activation: Activation, from old: SecretBytes, to new: SecretBytes) async throws {
        // Read before the old password is checked: what another change has put there since was not checked.
        let keys = try self.keys(of: try await activation.storedRecord())
        try await activation.validate(.possessionAndKnowledge(password: old))
        try await self.reprotect(keys, of: activation, from: old, to: new)
    }

    func changePasswordUnchecked(of activation: Activation, from old: SecretBytes, to new: SecretBytes) async throws {
        try await self.reprotect(
            try self.keys(of: try await activation.storedRecord()),
            of: activation,
            from: old,
            to: new
        )
    }

    /// Protects the knowledge key with another password, within a turn: an upgrade takes the key over in one.
    private func reprotect(
        _ keys: Version3Keys,
        of activation: Activation,
        from old: SecretBytes,
        to new: SecretBytes
    ) async throws {
        let salt = self.server.randomness.bytes(16)
        let encrypted = try await self.reprotect(keys, from: old, to: new, salt: salt)
        try await activation.withSigningTurn { turn, _ in
            try await self.update(activation, in: turn) { current in
                // Two changes at once: the later one started from a key that is no longer there.
                guard current.knowledgeSalt == keys.knowledgeSalt else {
                    throw MobileTokenError(.invalidAuthentication, "The password was changed in the meantime")
                }
                current.encryptedKnowledgeKey = encrypted
                current.knowledgeSalt = salt
            }
        }
    }

    /// Changes what the record holds for this version.
    ///
    /// - Throws: ``OutdatedDialect`` when it is of another one by now.
    private func update(
        _ activation: Activation,
        in turn: SigningTurn,
        _ change: @Sendable (inout Version3Keys) throws -> Void
    ) async throws {
        try await activation.updateRecord(in: turn) { record in
            var keys = try self.keys(of: record)
            try change(&keys)
            record.version3 = keys
        }
    }

    /// Runs two key derivations of some milliseconds each, off the actor and off Swift's own threads.
    private func reprotect(
        _ keys: Version3Keys,
        from old: SecretBytes,
        to new: SecretBytes,
        salt: [UInt8]
    ) async throws -> SecretBytes {
        try await self.server.derivations.run {
            try MobileTokenError.mapCryptoErrors {
                let key = try KnowledgeKeyProtection.unprotect(
                    keys.encryptedKnowledgeKey,
                    password: old,
                    salt: keys.knowledgeSalt
                )
                return try KnowledgeKeyProtection.protect(key, password: new, salt: salt)
            }
        }
    }

    /// Returns what the record holds for this version.
    func keys(of record: ActivationRecord) throws -> Version3Keys {
        guard let keys = record.version3 else { throw OutdatedDialect() }
        return keys
    }
}
