public import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// The reason the vault is opened. The server records it.
    public struct VaultUnlockReason: RawRepresentable, Hashable, Sendable {
        /// As sent to the server.
        public let rawValue: String

        /// Creates a reason of the application's own: 3 to 255 letters and digits of ASCII, `_`, `-` or `.`. Another one is refused by the
        /// call that gives it, before anything is signed.
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
        reason: Activation.VaultUnlockReason = .fetchEncryptionKey
    ) async throws -> SecretBytes {
        try await self.deriveKey(.data, index: index, byteCount: 16, with: authentication, reason: reason)
    }

    /// Signs data with the device's private key for ECDSA: over SHA-256 in version 3 of the protocol, over SHA-384 in version
    /// 4. DER.
    ///
    /// In a hybrid suite this is one signature of two; see ``deviceSignature(of:with:reason:)``.
    ///
    /// - Parameter authentication: Possession and knowledge; possession and biometry where the server allows it, which those of version 4
    ///   of the protocol do by default and those of version 3 do not.
    public func signWithDeviceKey(
        _ data: [UInt8],
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> [UInt8] {
        try await self.deviceSignature(of: data, with: authentication, reason: reason).ecdsa
    }

    /// Signs data with all private keys of the device: in version 4 of the protocol ECDSA on P-384 over SHA-384, and ML-DSA
    /// where the suite has it.
    ///
    /// - Parameter authentication: Possession and knowledge; possession and biometry where the server allows it, which those of version 4
    ///   of the protocol do by default and those of version 3 do not.
    public func deviceSignature(
        of data: [UInt8],
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> DeviceKey.Signature {
        try await self.withDeviceKeys(authentication, reason) { try $0.signature(of: data) }
    }

    /// Derives a key for the application's own data. In version 4 of the protocol only.
    ///
    /// ```swift
    /// let key = try await activation.deriveApplicationKey(index: 1, from: .twoFactors, with: .possessionAndBiometry(key: unlockKey))
    /// ```
    ///
    /// - Parameters:
    ///   - index: The same index gives the same key as long as the activation lives.
    ///   - base: The key of the vault, by the factors that open it.
    ///   - byteCount: 16 or more.
    /// - Throws: ``MobileTokenError/Code/notSupported`` in version 3 of the protocol.
    public func deriveApplicationKey(
        index: UInt64,
        from base: Activation.ApplicationKeyBase,
        byteCount: Int = 32,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .fetchEncryptionKey
    ) async throws -> SecretBytes {
        guard byteCount >= Version4.ApplicationVaultKey.minimumByteCount else {
            throw MobileTokenError(.invalidRequest, "An application's key must have 16 bytes or more")
        }
        return try await self.deriveKey(
            .application(base),
            index: index,
            byteCount: byteCount,
            with: authentication,
            reason: reason
        )
    }

    private func deriveKey(
        _ key: VaultKey,
        index: UInt64,
        byteCount: Int,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason
    ) async throws -> SecretBytes {
        try await self.withStoredDialect { dialect in
            try await self.openVault(key, in: dialect, with: authentication, reason: reason) { vaultKey, _, _ in
                try MobileTokenError.mapCryptoErrors {
                    try dialect.dataKey(key, from: vaultKey, index: index, byteCount: byteCount)
                }
            }
        }
    }

    /// Opens the vault and lends its key to `use`, which runs to its end even when the caller is canceled by then.
    nonisolated func openVault<Result: Sendable>(
        _ key: VaultKey,
        in dialect: any ActivationDialect,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason,
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
    static let invalidVaultReason = Self(.invalidRequest, "A reason has 3 to 255 letters, digits, '_', '-' or '.'")
}

extension DeviceKey {
    /// The signatures of a device, one by each of its keys.
    public struct Signature: Sendable, Hashable {
        /// ECDSA, DER.
        public let ecdsa: [UInt8]
        /// ML-DSA; `nil` where the activation has no such key.
        public let mldsa: [UInt8]?
    }
}

extension Activation {
    /// The factors that open a key for an application's own data.
    public enum ApplicationKeyBase: Sendable, Hashable {
        /// Possession and knowledge.
        case knowledge
        /// Possession with either of the other two.
        case twoFactors
    }
}
