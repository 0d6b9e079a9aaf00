import Basics
public import PowerAuthCrypto
import PowerAuthProtocol

/// Why the vault is opened. The server records it.
public struct VaultUnlockReason: RawRepresentable, Hashable, Sendable {
    /// As sent to the server.
    public let rawValue: String

    /// Creates a reason of the application's own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// To set up the biometry factor.
    public static let addBiometry = Self(rawValue: "ADD_BIOMETRY")
    /// To derive a key for the application's own data.
    public static let fetchEncryptionKey = Self(rawValue: "FETCH_ENCRYPTION_KEY")
    /// To sign data with the device's private key.
    public static let signWithDevicePrivateKey = Self(rawValue: "SIGN_WITH_DEVICE_PRIVATE_KEY")
    /// To confirm a recovery code.
    public static let recoveryCode = Self(rawValue: "RECOVERY_CODE")
    /// Nothing in particular.
    public static let notSpecified = Self(rawValue: "NOT_SPECIFIED")
}

/// The vault: what this side keeps under a key that only the server can hand out, for the length of one call.
extension Activation {
    /// Derives a 16-byte key for the application's own data. The same index gives the same key as long as the activation
    /// lives.
    ///
    /// - Parameter authentication: Possession and knowledge.
    public func deriveDataKey(
        index: UInt64,
        with authentication: Authentication,
        reason: VaultUnlockReason = .fetchEncryptionKey
    ) async throws -> SecretBytes {
        try await self.openVault(with: authentication, reason: reason) { vaultKey, _ in
            try MobileTokenError.mapCryptoErrors { try Vault.dataKey(vaultKey: vaultKey, index: index) }
        }
    }

    /// Signs data with the device's private key: ECDSA over SHA-256, DER.
    ///
    /// - Parameter authentication: Possession and knowledge.
    public func signWithDeviceKey(
        _ data: [UInt8],
        with authentication: Authentication,
        reason: VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> [UInt8] {
        try await self.openVault(with: authentication, reason: reason) { vaultKey, record in
            let privateKey = try record.devicePrivateKey(vaultKey: vaultKey)
            return try MobileTokenError.mapCryptoErrors { try privateKey.derSignature(for: data) }
        }
    }

    /// Sets up the biometry factor, or replaces the key that protects it. On a server that key is 16 bytes from outside:
    /// a file, a KMS, an HSM.
    public func addBiometryFactor(key: SecretBytes, password: SecretBytes) async throws {
        try BiometryKeyProtection.validate(key)
        let authentication = Authentication.possessionAndKnowledge(password: password)
        try await self.openVault(with: authentication, reason: .addBiometry) { vaultKey, record in
            let privateKey = try record.devicePrivateKey(vaultKey: vaultKey)
            let encrypted = try MobileTokenError.mapCryptoErrors {
                let keys = try ActivationKeys(privateKey: privateKey, publicKey: self.identity.serverPublicKey)
                return try BiometryKeyProtection.protect(keys.biometry, with: key)
            }
            try await self.updateRecord { $0.encryptedBiometryKey = encrypted }
        }
    }

    /// Opens the vault and lends its key to `use`, which runs to its end even when the caller is canceled by then.
    private func openVault<Result: Sendable>(
        with authentication: Authentication,
        reason: VaultUnlockReason,
        _ use: @escaping @Sendable (SecretBytes, ActivationRecord) async throws -> Result
    ) async throws -> Result {
        guard authentication.knowledge != nil else {
            throw MobileTokenError(.invalidAuthentication, "Unlocking the vault requires possession and knowledge")
        }
        let path = "/pa/v3/vault/unlock"
        let plaintext = try Wire.encode(UnlockRequest(reason: reason.rawValue))
        let request = SignedRequest(
            path: path,
            uriID: "/pa/vault/unlock",
            keys: try await self.signingKeys(for: authentication),
            body: { try await self.encryptionKeys.encrypt(plaintext, for: .vaultUnlock) }
        )
        return try await self.send(request) { response in
            let vaultKey = try response.read { bytes in
                let unlocked = try Wire.decode(UnlockResponse.self, from: bytes, of: path)
                guard unlocked.activationId.isExactly(self.activationID),
                    let encrypted = Base64.decode(unlocked.encryptedVaultEncryptionKey)
                else { throw MobileTokenError.invalidResponse("The response to \(path) is not about this activation") }
                return try MobileTokenError.mapErrors(ofResponse: path) {
                    try Vault.decryptVaultKey(encrypted, transportKey: self.identity.transportKey)
                }
            }
            return try await use(vaultKey, try await self.storedRecord())
        }
    }

    private struct UnlockRequest: Encodable { let reason: String }
    private struct UnlockResponse: Decodable {
        let activationId: String
        let encryptedVaultEncryptionKey: String
    }
}

extension ActivationRecord {
    /// Returns the device's private key, which is wiped when the value goes.
    fileprivate func devicePrivateKey(vaultKey: SecretBytes) throws -> P256PrivateKey {
        try MobileTokenError.mapCryptoErrors {
            let encrypted = self.encryptedDevicePrivateKey.withUnsafeBytes { Array($0) }
            return try Vault.decryptDevicePrivateKey(encrypted, vaultKey: vaultKey)
        }
    }
}
