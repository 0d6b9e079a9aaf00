import COpenSSL

/// A parameter set of ML-KEM.
package enum MLKEM: Sendable, CaseIterable {
    case mlKEM768
    case mlKEM1024

    /// The length of a secret: 32 bytes.
    package static let secretByteCount = 32

    /// The algorithm as libcrypto knows it.
    package var algorithm: PostQuantumAlgorithm {
        switch self {
        case .mlKEM768: .mlKEM768
        case .mlKEM1024: .mlKEM1024
        }
    }
}

/// A public key of ML-KEM, parsed and checked once.
package struct MLKEMPublicKey: Sendable, Equatable, CustomStringConvertible {
    package let parameters: MLKEM
    /// The key as `SubjectPublicKeyInfo`.
    package let publicKeyInfo: [UInt8]
    fileprivate let handle: KeyHandle

    /// Parses a `SubjectPublicKeyInfo`.
    ///
    /// - Throws: `invalidPublicKey` for another algorithm, another length or a coefficient out of range;
    ///   `algorithmUnavailable`.
    package init(publicKeyInfo: [UInt8], parameters: MLKEM) throws(CryptoError) {
        guard let rawKey = parameters.algorithm.rawPublicKey(inPublicKeyInfo: publicKeyInfo) else {
            throw CryptoError(.invalidPublicKey)
        }
        self.handle = try parameters.algorithm.key(rawPublicKey: rawKey)
        self.parameters = parameters
        self.publicKeyInfo = publicKeyInfo
    }

    fileprivate init(handle: KeyHandle, parameters: MLKEM) {
        self.parameters = parameters
        self.handle = handle
        self.publicKeyInfo = parameters.algorithm.publicKeyInfo(of: parameters.algorithm.rawPublicKey(of: handle))
    }

    /// Makes a secret for the holder of this key, and the ciphertext that carries it. libcrypto draws the randomness.
    ///
    /// - Throws: `libcrypto` when the library refuses.
    package func encapsulate() throws(CryptoError) -> (ciphertext: [UInt8], secret: SecretBytes) {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, self.handle.key, nil) else {
            throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_CTX_new_from_pkey"))
        }
        defer { EVP_PKEY_CTX_free(context) }
        var ciphertext = [UInt8](repeating: 0, count: self.parameters.algorithm.outputByteCount)
        let secret = try SecretBytes(count: MLKEM.secretByteCount) { (secret) throws(CryptoError) in
            var (ciphertextCount, secretCount) = (ciphertext.count, secret.count)
            let address = secret.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard EVP_PKEY_encapsulate_init(context, nil) == 1,
                EVP_PKEY_encapsulate(context, &ciphertext, &ciphertextCount, address, &secretCount) == 1,
                ciphertextCount == ciphertext.count, secretCount == secret.count
            else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_encapsulate")) }
        }
        return (ciphertext, secret)
    }

    /// Returns whether both are the same key.
    package static func == (one: Self, other: Self) -> Bool { one.publicKeyInfo == other.publicKeyInfo }

    package var description: String { "\(self.parameters.algorithm.rawValue) public key" }
}

/// A key pair of ML-KEM, stored as its seed.
package struct MLKEMPrivateKey: Sendable, CustomStringConvertible {
    /// What the key pair is made of: d‖z of FIPS 203, 64 bytes.
    package let seed: SecretBytes
    /// The public half.
    package let publicKey: MLKEMPublicKey

    /// Makes the key pair of a seed. A seed of random bytes makes a random key pair.
    ///
    /// - Throws: `invalidPrivateKey` unless there are 64 bytes; `algorithmUnavailable`.
    package init(seed: SecretBytes, parameters: MLKEM) throws(CryptoError) {
        self.publicKey = MLKEMPublicKey(handle: try parameters.algorithm.key(seed: seed), parameters: parameters)
        self.seed = seed
    }

    /// Recovers the secret that a ciphertext carries. A ciphertext that was changed gives another secret, not an error.
    ///
    /// - Throws: `invalidLength` for a ciphertext of another length; `libcrypto` when the library refuses.
    package func decapsulate(_ ciphertext: [UInt8]) throws(CryptoError) -> SecretBytes {
        guard ciphertext.count == self.publicKey.parameters.algorithm.outputByteCount else {
            throw CryptoError(.invalidLength)
        }
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, self.publicKey.handle.key, nil) else {
            throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_CTX_new_from_pkey"))
        }
        defer { EVP_PKEY_CTX_free(context) }
        return try SecretBytes(count: MLKEM.secretByteCount) { (secret) throws(CryptoError) in
            var count = secret.count
            let address = secret.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard EVP_PKEY_decapsulate_init(context, nil) == 1,
                EVP_PKEY_decapsulate(context, address, &count, ciphertext, ciphertext.count) == 1,
                count == secret.count
            else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_decapsulate")) }
        }
    }

    package var description: String { "\(self.publicKey.parameters.algorithm.rawValue) private key" }
}
