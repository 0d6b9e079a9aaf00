package import PowerAuthCrypto

/// Encryption of the knowledge key with the password. AES-128-CBC without padding and with a zero vector, under PBKDF2
/// (HMAC-SHA-1, 10 000 rounds, 16-byte salt) of the password's UTF-8 bytes. Deliberately without integrity: a wrong password
/// yields a wrong key and so a signature that the server refuses and counts. Nothing here may reveal whether a password is right.
package enum KnowledgeKeyProtection {
    /// The minimum password length in bytes.
    package static let minimumPasswordByteCount = 4
    /// The length of a salt. Each password change uses a new one.
    package static let saltByteCount = 16

    private static let iterations: UInt32 = 10_000
    private static let keyByteCount = 16

    /// The reason why a password or a stored key is invalid.
    package enum Failure: Error, Equatable, Sendable {
        /// The password has fewer than four bytes.
        case passwordTooShort
        /// The key or the salt is not 16 bytes.
        case invalidLength
    }

    /// Encrypts the key for storage.
    ///
    /// - Parameters:
    ///   - key: 16 bytes.
    ///   - password: At least four bytes.
    ///   - salt: 16 random bytes.
    package static func protect(
        _ key: SecretBytes,
        password: SecretBytes,
        salt: [UInt8]
    ) throws(Failure) -> SecretBytes {
        guard key.count == Self.keyByteCount else { throw .invalidLength }
        let protectingKey = try Self.protectingKey(password: password, salt: salt)
        do throws(CryptoError) {
            return SecretBytes(copying: try AES128CBC.encrypt(key, key: protectingKey, padding: .none))
        } catch {
            throw .invalidLength
        }
    }

    /// Decrypts the key; a wrong password yields a wrong key.
    package static func unprotect(
        _ protectedKey: SecretBytes,
        password: SecretBytes,
        salt: [UInt8]
    ) throws(Failure) -> SecretBytes {
        guard protectedKey.count == Self.keyByteCount else { throw .invalidLength }
        let protectingKey = try Self.protectingKey(password: password, salt: salt)
        do throws(CryptoError) {
            return try AES128CBC.decryptSecret(protectedKey.disclosed, key: protectingKey, padding: .none)
        } catch {
            throw .invalidLength
        }
    }

    private static func protectingKey(password: SecretBytes, salt: [UInt8]) throws(Failure) -> SecretBytes {
        guard password.count >= Self.minimumPasswordByteCount else { throw .passwordTooShort }
        guard salt.count == Self.saltByteCount else { throw .invalidLength }
        do throws(CryptoError) {
            return try PBKDF2.deriveKey(
                password: password,
                salt: salt,
                iterations: Self.iterations,
                count: Self.keyByteCount
            )
        } catch {
            throw .invalidLength
        }
    }
}
