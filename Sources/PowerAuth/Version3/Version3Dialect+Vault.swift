import Basics
import PowerAuthCrypto
import PowerAuthProtocol

/// The vault: what this side keeps under a key that only the server can hand out, for the length of one call.
extension Version3Dialect {
    func dataKey(
        of activation: Activation,
        index: UInt64,
        with authentication: Authentication,
        reason: VaultUnlockReason
    ) async throws -> SecretBytes {
        try await self.openVault(of: activation, with: authentication, reason: reason) { vaultKey, _, _ in
            try MobileTokenError.mapCryptoErrors { try Vault.dataKey(vaultKey: vaultKey, index: index) }
        }
    }

    func applicationKey(
        of activation: Activation,
        base: ApplicationKeyBase,
        index: UInt64,
        byteCount: Int,
        with authentication: Authentication,
        reason: VaultUnlockReason
    ) throws -> SecretBytes {
        throw MobileTokenError.unsupported(
            "Version 3 of the protocol derives keys with deriveDataKey(index:with:reason:)"
        )
    }

    func withDevicePrivateKeys<Result: Sendable>(
        of activation: Activation,
        with authentication: Authentication,
        reason: VaultUnlockReason,
        _ use: @escaping @Sendable (DevicePrivateKeys) throws -> Result
    ) async throws -> Result {
        try await self.openVault(of: activation, with: authentication, reason: reason) { vaultKey, keys, _ in
            try use(.version3(try keys.devicePrivateKey(vaultKey: vaultKey)))
        }
    }

    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8] { try self.keys(of: record).devicePublicKey }

    /// Opens the vault and lends its key to `use`, which runs to its end even when the caller is canceled by then.
    func openVault<Result: Sendable>(
        of activation: Activation,
        with authentication: Authentication,
        reason: VaultUnlockReason,
        _ use: @escaping @Sendable (SecretBytes, Version3Keys, SigningTurn) async throws -> Result
    ) async throws -> Result {
        guard authentication.knowledge != nil else {
            throw MobileTokenError(.invalidAuthentication, "Unlocking the vault requires possession and knowledge")
        }
        let request = try EndpointRequest(.vaultUnlock, UnlockRequest(reason: reason.rawValue))
        let path = try request.endpoint.path(in: self.version)
        return try await activation.send(with: authentication, in: self) { keys in
            try SignedRequest(request, keys: keys)
        } receiveInTurn: { response, _, turn in
            let vaultKey = try response.read { bytes in
                let encrypted = try Self.encryptedVaultKey(in: bytes, for: self.activationID, of: path)
                return try MobileTokenError.mapErrors(ofResponse: path) {
                    try Vault.decryptVaultKey(encrypted, transportKey: self.transportKey)
                }
            }
            return try await use(vaultKey, try self.keys(of: try await activation.storedRecord()), turn)
        }
    }

    /// Reads the response to `vault/unlock`, already opened.
    static func encryptedVaultKey(in bytes: [UInt8], for activationID: String, of path: String) throws -> [UInt8] {
        let unlocked = try Wire.decode(UnlockResponse.self, from: bytes, of: path)
        guard unlocked.activationId?.isExactly(activationID) ?? true,
            let encrypted = Base64.decode(unlocked.encryptedVaultEncryptionKey)
        else { throw MobileTokenError.invalidResponse("The response to \(path) is not about this activation") }
        return encrypted
    }

    private struct UnlockRequest: Encodable { let reason: String }
    private struct UnlockResponse: Decodable {
        /// Most servers leave it out: the envelope is of this activation's scope.
        let activationId: String?
        let encryptedVaultEncryptionKey: String
    }
}

extension Version3Keys {
    /// Returns the device's private key, which is wiped when the value goes.
    func devicePrivateKey(vaultKey: SecretBytes) throws -> P256PrivateKey {
        try MobileTokenError.mapCryptoErrors {
            let encrypted = self.encryptedDevicePrivateKey.withUnsafeBytes { Array($0) }
            return try Vault.decryptDevicePrivateKey(encrypted, vaultKey: vaultKey)
        }
    }
}
