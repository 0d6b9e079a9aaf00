package import PowerAuthCrypto
import PowerAuthProtocol

/// The vault: secrets encrypted with a key that only the server can provide, for one call at a time.
extension Activation {
    /// Derives a key for the application's own data. In version 3 it has 16 bytes, whatever the caller asks for.
    package func deriveKey(
        _ key: VaultKey,
        index: UInt64,
        byteCount: Int,
        with authentication: Authentication,
        reason: String
    ) async throws -> SecretBytes {
        try await self.withStoredDialect { dialect in
            try await self.openVault(key, in: dialect, with: authentication, reason: reason) { vaultKey, _, _ in
                try MobileTokenError.mapCryptoErrors {
                    try dialect.dataKey(key, from: vaultKey, index: index, byteCount: byteCount)
                }
            }
        }
    }

    /// Lends the device's private keys to `use`.
    package func withDeviceKeys<Value: Sendable>(
        _ authentication: Authentication,
        reason: String,
        _ use: @escaping @Sendable (DevicePrivateKeys) throws -> Value
    ) async throws -> Value {
        try await self.withStoredDialect { dialect in
            try await self.openVault(.devicePrivateKeys, in: dialect, with: authentication, reason: reason) {
                vaultKey,
                record,
                _ in
                let keys = try dialect.devicePrivateKeys(of: record, vaultKey: vaultKey)
                return try MobileTokenError.mapCryptoErrors { try use(keys) }
            }
        }
    }

    /// Unlocks the vault and lends its key to `use`, which runs to its end even after cancellation.
    nonisolated func openVault<Result: Sendable>(
        _ key: VaultKey,
        in dialect: any ActivationDialect,
        with authentication: Authentication,
        reason: String,
        _ use: @escaping @Sendable (SecretBytes, ActivationRecord, SigningTurn) async throws -> Result
    ) async throws -> Result {
        let request = try dialect.vaultRequest(for: key, SignatureType(authentication), reason)
        let path = try request.endpoint.path(in: dialect.version)
        return try await self.send(with: authentication, in: dialect) { keys in
            try SignedRequest(request, keys: keys)
        } receive: { response, turn in
            let vaultKey = try response.read { try dialect.vaultKey(in: $0, of: path) }
            return try await use(vaultKey, try await self.storedRecord(), turn)
        }
    }
}

extension MobileTokenError {
    static let invalidVaultReason = Self(.invalidRequest, "reason: it has 3 to 198 letters, digits, '_', '-' or '.'")
}
