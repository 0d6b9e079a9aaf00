package import PowerAuthCrypto

/// The three keys of a request and its response. 48 bytes of X9.63 key derivation from the Diffie-Hellman secret, with
/// `sharedInfo1` and the ephemeral public key as sent: for encryption, authentication, and initialization vectors.
package struct ECIESEnvelope: Sendable, Equatable {
    package let encryptionKey: SecretBytes
    package let authenticationKey: SecretBytes
    package let vectorKey: SecretBytes

    package init(sharedSecret: SecretBytes, sharedInfo1: [UInt8], ephemeralPublicKey: [UInt8]) throws(CryptoError) {
        let info = sharedInfo1 + ephemeralPublicKey
        let keys = try X963KDF.deriveKey(secret: sharedSecret, info: info, count: 48)
        (self.encryptionKey, self.authenticationKey, self.vectorKey) = keys.withUnsafeBytes { keys in
            (
                SecretBytes(copying: keys[..<16]),
                SecretBytes(copying: keys[16..<32]),
                SecretBytes(copying: keys[32...])
            )
        }
    }

    /// Returns `KDF_INTERNAL(vector key, nonce)`.
    package func initializationVector(nonce: [UInt8]) -> [UInt8] {
        KeyDerivation.deriveInternal(self.vectorKey, index: nonce).disclosed
    }

    /// Encrypts `plaintext`, then authenticates the ciphertext.
    package func seal(_ plaintext: [UInt8], nonce: [UInt8], sharedInfo2: [UInt8]) throws(CryptoError) -> Sealed {
        let encryptedData = try AES128CBC.encrypt(
            plaintext,
            key: self.encryptionKey,
            iv: self.initializationVector(nonce: nonce),
            padding: .pkcs7
        )
        let mac = HMACSHA256.authenticate([encryptedData, sharedInfo2], key: self.authenticationKey)
        return Sealed(encryptedData: encryptedData, mac: mac)
    }

    /// Verifies `sealed`, then decrypts it.
    package func open(_ sealed: Sealed, nonce: [UInt8], sharedInfo2: [UInt8]) throws(EncryptionError) -> [UInt8] {
        let mac = HMACSHA256.authenticate([sealed.encryptedData, sharedInfo2], key: self.authenticationKey)
        guard constantTimeEquals(mac, sealed.mac) else { throw .authenticationFailed }
        do {
            return try AES128CBC.decrypt(
                sealed.encryptedData,
                key: self.encryptionKey,
                iv: self.initializationVector(nonce: nonce),
                padding: .pkcs7
            )
        } catch {
            throw .decryptionFailed
        }
    }

    /// A ciphertext with its authentication tag.
    package struct Sealed {
        package let encryptedData: [UInt8]
        package let mac: [UInt8]

        package init(encryptedData: [UInt8], mac: [UInt8]) {
            self.encryptedData = encryptedData
            self.mac = mac
        }
    }
}

/// Lengths fixed by the protocol, in bytes.
package enum ECIESLength {
    package static let nonce = 16
    package static let mac = 32
}
