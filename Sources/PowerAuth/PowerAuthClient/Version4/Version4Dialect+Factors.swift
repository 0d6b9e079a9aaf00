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

    func keys(of record: ActivationRecord) throws -> Version4Keys {
        guard let keys = record.version4 else { throw OutdatedDialect() }
        return keys
    }
}
