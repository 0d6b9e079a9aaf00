import Basics
import PowerAuthCrypto
import PowerAuthProtocol

/// The vault of version 3. Its key decrypts everything that the device protects with it.
extension Version3Dialect {
    func vaultRequest(for key: VaultKey, _ type: SignatureType, _ reason: String) throws
        -> EndpointRequest
    {
        if case .application = key {
            throw MobileTokenError.unsupported(
                "Version 3 of the protocol derives keys with deriveDataKey(index:with:reason:)"
            )
        }
        guard type != .possession else {
            throw MobileTokenError(.invalidAuthentication, "Possession alone does not open the vault")
        }
        guard VaultReason.isValid(reason) else { throw MobileTokenError.invalidVaultReason }
        return try EndpointRequest(.vaultUnlock, UnlockRequest(reason: reason))
    }

    func vaultKey(in response: [UInt8], of path: String) throws -> SecretBytes {
        let encrypted = try Self.encryptedVaultKey(in: response, for: self.activationID, of: path)
        return try MobileTokenError.mapErrors(ofResponse: path) {
            try Vault.decryptVaultKey(encrypted, transportKey: self.transportKey)
        }
    }

    func dataKey(_ key: VaultKey, from vaultKey: SecretBytes, index: UInt64, byteCount: Int) throws -> SecretBytes {
        try Vault.dataKey(vaultKey: vaultKey, index: index)
    }

    func devicePrivateKeys(of record: ActivationRecord, vaultKey: SecretBytes) throws -> DevicePrivateKeys {
        .version3(try self.devicePrivateKey(of: record, vaultKey: vaultKey))
    }

    func devicePrivateKey(of record: ActivationRecord, vaultKey: SecretBytes) throws -> P256PrivateKey {
        let encrypted = try self.keys(of: record).encryptedDevicePrivateKey.withUnsafeBytes { Array($0) }
        return try MobileTokenError.mapCryptoErrors {
            try Vault.decryptDevicePrivateKey(encrypted, vaultKey: vaultKey)
        }
    }

    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8] { try self.keys(of: record).devicePublicKey }

    /// Reads the decrypted response to `vault/unlock`.
    static func encryptedVaultKey(in bytes: [UInt8], for activationID: String, of path: String) throws -> [UInt8] {
        let unlocked = try Wire.decode(UnlockResponse.self, from: bytes, of: path)
        guard unlocked.activationId?.isExactly(activationID) ?? true,
            let encrypted = Base64.decode(unlocked.encryptedVaultEncryptionKey)
        else { throw MobileTokenError.invalidResponse("The response to \(path) is not about this activation") }
        return encrypted
    }

    private struct UnlockRequest: Encodable { let reason: String }
    private struct UnlockResponse: Decodable {
        /// Optional, because the envelope already has the activation scope.
        let activationId: String?
        let encryptedVaultEncryptionKey: String
    }
}
