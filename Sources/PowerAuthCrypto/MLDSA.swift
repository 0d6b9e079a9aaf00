import COpenSSL

/// A parameter set of ML-DSA.
package enum MLDSA: Sendable, CaseIterable {
    case mlDSA65
    case mlDSA87

    /// The algorithm as libcrypto knows it.
    package var algorithm: PostQuantumAlgorithm {
        switch self {
        case .mlDSA65: .mlDSA65
        case .mlDSA87: .mlDSA87
        }
    }
}

/// A public key of ML-DSA, parsed and checked once.
package struct MLDSAPublicKey: Sendable, Equatable, CustomStringConvertible {
    package let parameters: MLDSA
    /// The key as `SubjectPublicKeyInfo`.
    package let publicKeyInfo: [UInt8]
    fileprivate let handle: KeyHandle

    /// Parses a `SubjectPublicKeyInfo`.
    ///
    /// - Throws: `invalidPublicKey` for another algorithm or another length; `algorithmUnavailable`.
    package init(publicKeyInfo: [UInt8], parameters: MLDSA) throws(CryptoError) {
        guard let rawKey = parameters.algorithm.rawPublicKey(inPublicKeyInfo: publicKeyInfo) else {
            throw CryptoError(.invalidPublicKey)
        }
        self.handle = try parameters.algorithm.key(rawPublicKey: rawKey)
        self.parameters = parameters
        self.publicKeyInfo = publicKeyInfo
    }

    fileprivate init(handle: KeyHandle, parameters: MLDSA) {
        self.parameters = parameters
        self.handle = handle
        self.publicKeyInfo = parameters.algorithm.publicKeyInfo(of: parameters.algorithm.rawPublicKey(of: handle))
    }

    /// Returns whether `signature` is a valid signature of `message` by this key: pure ML-DSA with an empty context.
    package func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        guard signature.count == self.parameters.algorithm.outputByteCount, let context = EVP_MD_CTX_new() else {
            return false
        }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, self.handle.key, nil) == 1,
            EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    /// Returns whether both are the same key.
    package static func == (one: Self, other: Self) -> Bool { one.publicKeyInfo == other.publicKeyInfo }

    package var description: String { "\(self.parameters.algorithm.rawValue) public key" }
}

/// A key pair of ML-DSA, stored as its seed.
package struct MLDSAPrivateKey: Sendable, CustomStringConvertible {
    /// What the key pair is made of: 32 bytes.
    package let seed: SecretBytes
    /// The public half.
    package let publicKey: MLDSAPublicKey

    /// Makes the key pair of a seed. A seed of random bytes makes a random key pair.
    ///
    /// - Throws: `invalidPrivateKey` unless there are 32 bytes; `algorithmUnavailable`.
    package init(seed: SecretBytes, parameters: MLDSA) throws(CryptoError) {
        self.publicKey = MLDSAPublicKey(handle: try parameters.algorithm.key(seed: seed), parameters: parameters)
        self.seed = seed
    }

    /// Signs a message: pure ML-DSA with an empty context, hedged, so that no two signatures are the same.
    ///
    /// - Throws: `libcrypto` when the library refuses.
    package func signature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw CryptoError.last(.libcrypto(operation: "EVP_MD_CTX_new")) }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: self.publicKey.parameters.algorithm.outputByteCount)
        var count = signature.count
        guard EVP_DigestSignInit_ex(context, nil, nil, nil, nil, self.publicKey.handle.key, nil) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == signature.count
        else { throw CryptoError.last(.libcrypto(operation: "EVP_DigestSign")) }
        return signature
    }

    package var description: String { "\(self.publicKey.parameters.algorithm.rawValue) private key" }
}
