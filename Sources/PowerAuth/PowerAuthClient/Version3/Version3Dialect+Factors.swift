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

    func keys(of record: ActivationRecord) throws -> Version3Keys {
        guard let keys = record.version3 else { throw OutdatedDialect() }
        return keys
    }
}
