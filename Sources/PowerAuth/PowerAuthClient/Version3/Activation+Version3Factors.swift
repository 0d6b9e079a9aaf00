import PowerAuthCrypto
import PowerAuthProtocol

/// Local changes of factors in version 3.
extension Activation {
    /// Removes the key locally. Without it the factor cannot be used.
    func removeBiometryFactor(_ dialect: Version3Dialect) async throws {
        try await self.withSigningTurn { turn, _ in
            try await self.update(dialect, in: turn) { $0.encryptedBiometryKey = nil }
        }
    }

    func addBiometryFactor(_ dialect: Version3Dialect, key: SecretBytes, password: SecretBytes) async throws {
        try await self.openVault(
            .devicePrivateKeys,
            in: dialect,
            with: .possessionAndKnowledge(password: password),
            reason: VaultReason.addBiometry
        ) { vaultKey, record, turn in
            let privateKey = try dialect.devicePrivateKey(of: record, vaultKey: vaultKey)
            let encrypted = try MobileTokenError.mapCryptoErrors {
                let keys = try ActivationKeys(privateKey: privateKey, publicKey: dialect.serverPublicKey)
                return try BiometryKeyProtection.protect(keys.biometry, with: key)
            }
            try await self.update(dialect, in: turn) { $0.encryptedBiometryKey = encrypted }
        }
    }

    func changePassword(_ dialect: Version3Dialect, from old: SecretBytes, to new: SecretBytes) async throws {
        // Read before the old password is checked, because later changes are unchecked.
        let keys = try dialect.keys(of: try await self.storedRecord())
        try await self.validate(.possessionAndKnowledge(password: old))
        try await self.reprotect(keys, dialect, from: old, to: new)
    }

    func changePasswordUnchecked(_ dialect: Version3Dialect, from old: SecretBytes, to new: SecretBytes) async throws {
        try await self.reprotect(try dialect.keys(of: try await self.storedRecord()), dialect, from: old, to: new)
    }

    /// Protects the knowledge key with another password, within a turn, because upgrades take the key within one.
    private func reprotect(
        _ keys: Version3Keys,
        _ dialect: Version3Dialect,
        from old: SecretBytes,
        to new: SecretBytes
    ) async throws {
        let salt = self.server.randomness.bytes(16)
        let encrypted = try await self.reprotect(keys, from: old, to: new, salt: salt)
        try await self.withSigningTurn { turn, _ in
            try await self.update(dialect, in: turn) { current in
                // Two concurrent changes: the later one started from an outdated key.
                guard current.knowledgeSalt == keys.knowledgeSalt else {
                    throw MobileTokenError(.invalidAuthentication, "The password was changed in the meantime")
                }
                current.encryptedKnowledgeKey = encrypted
                current.knowledgeSalt = salt
            }
        }
    }

    /// Changes the record's version 3 keys.
    ///
    /// - Throws: ``OutdatedDialect`` if the record has another version.
    private nonisolated func update(
        _ dialect: Version3Dialect,
        in turn: SigningTurn,
        _ change: @Sendable (inout Version3Keys) throws -> Void
    ) async throws {
        try await self.updateRecord(in: turn) { record in
            var keys = try dialect.keys(of: record)
            try change(&keys)
            record.version3 = keys
        }
    }

    /// Runs two key derivations of some milliseconds on the derivation threads.
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
}
