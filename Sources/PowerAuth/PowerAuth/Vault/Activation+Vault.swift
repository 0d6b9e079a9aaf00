public import PowerAuthClient
public import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// The reason for unlocking the vault, recorded by the server.
    public struct VaultUnlockReason: RawRepresentable, Hashable, Sendable {
        /// The value sent to the server.
        public let rawValue: String

        /// Creates a custom reason: 3 to 198 ASCII letters, digits, `_`, `-` or `.`. The call that uses an invalid one throws
        /// before anything is signed.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Sets up the biometry factor.
        public static let addBiometry = Self(rawValue: "ADD_BIOMETRY")
        /// Derives a key for the application's own data.
        public static let fetchEncryptionKey = Self(rawValue: "FETCH_ENCRYPTION_KEY")
        /// Signs data with the device's private key.
        public static let signWithDevicePrivateKey = Self(rawValue: "SIGN_WITH_DEVICE_PRIVATE_KEY")
        /// Confirms a recovery code.
        public static let recoveryCode = Self(rawValue: "RECOVERY_CODE")
    }
}

/// The vault: secrets encrypted with a key that only the server can provide, for one call at a time.
extension Activation {
    /// Derives a 16-byte key for the application's own data. It depends only on the index and the activation.
    ///
    /// - Parameters:
    ///   - index: The number of the key.
    ///   - authentication: Possession and knowledge.
    ///   - reason: Sent to the server.
    public func deriveDataKey(
        index: UInt64,
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .fetchEncryptionKey
    ) async throws -> SecretBytes {
        try await self.deriveKey(.data, index: index, byteCount: 16, with: authentication, reason: reason.rawValue)
    }

    /// Signs data with the device's ECDSA key, in DER: over SHA-256 in protocol version 3, over SHA-384 in version 4.
    ///
    /// In a hybrid suite this is one signature of two; see ``deviceSignature(of:with:reason:)``.
    ///
    /// - Parameters:
    ///   - data: The bytes to sign.
    ///   - authentication: Possession and knowledge, or possession and biometry if the server allows it, which is the default in
    ///     version 4 only.
    ///   - reason: Sent to the server.
    public func signWithDeviceKey(
        _ data: [UInt8],
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> [UInt8] {
        try await self.deviceSignature(of: data, with: authentication, reason: reason).ecdsa
    }

    /// Signs data with all private keys of the device: in protocol version 4 with ECDSA (P-384, SHA-384), and with ML-DSA if the
    /// suite has it.
    ///
    /// - Parameters:
    ///   - data: The bytes to sign.
    ///   - authentication: Possession and knowledge, or possession and biometry if the server allows it, which is the default in
    ///     version 4 only.
    ///   - reason: Sent to the server.
    public func deviceSignature(
        of data: [UInt8],
        with authentication: Authentication,
        reason: Activation.VaultUnlockReason = .signWithDevicePrivateKey
    ) async throws -> DeviceKey.Signature {
        try await self.withDeviceKeys(authentication, reason: reason.rawValue) { try $0.signature(of: data) }
    }

    /// Derives a key for the application's own data. Protocol version 4 only.
    ///
    /// ```swift
    /// let key = try await activation.deriveApplicationKey(index: 1, from: .twoFactors, with: .possessionAndBiometry(key: unlockKey))
    /// ```
    ///
    /// - Parameters:
    ///   - index: The key depends only on the index and the activation.
    ///   - base: The vault key to derive from, named after the factors that unlock it.
    ///   - byteCount: At least 16.
    ///   - authentication: Factors that unlock the base.
    ///   - reason: Sent to the server.
    /// - Throws: ``MobileTokenError/Code/notSupported`` in protocol version 3.
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
            .application(base == .knowledge ? .knowledge : .twoFactors),
            index: index,
            byteCount: byteCount,
            with: authentication,
            reason: reason.rawValue
        )
    }
}

extension DeviceKey {
    /// The signatures of a device, one for each of its keys.
    public struct Signature: Sendable, Hashable {
        /// The ECDSA signature, in DER.
        public let ecdsa: [UInt8]
        /// The ML-DSA signature; `nil` if the activation has no such key.
        public let mldsa: [UInt8]?
    }
}

extension Activation {
    /// The factors that unlock a key for an application's own data.
    public enum ApplicationKeyBase: Sendable, Hashable {
        /// Possession and knowledge.
        case knowledge
        /// Possession with knowledge or biometry.
        case twoFactors
    }
}
