import COpenSSL

/// A parameter set of ML-KEM (FIPS 203).
package enum MLKEM: PostQuantumParameters, CaseIterable {
    case mlKEM768
    case mlKEM1024

    package static let secretByteCount = 32

    package var algorithm: PostQuantumAlgorithm {
        switch self {
        case .mlKEM768: .mlKEM768
        case .mlKEM1024: .mlKEM1024
        }
    }
}

package typealias MLKEMPublicKey = PostQuantumPublicKey<MLKEM>
package typealias MLKEMPrivateKey = PostQuantumPrivateKey<MLKEM>

extension MLKEMPublicKey {
    /// Returns a secret for the key's holder, and its ciphertext. libcrypto provides the randomness.
    ///
    /// - Throws: `libcrypto` if the library fails.
    package func encapsulate() throws(CryptoError) -> (ciphertext: [UInt8], secret: SecretBytes) {
        var ciphertext = [UInt8](repeating: 0, count: self.parameters.algorithm.outputByteCount)
        let secret = try self.handle.withContext { (context) throws(CryptoError) in
            try SecretBytes(count: MLKEM.secretByteCount) { (secret) throws(CryptoError) in
                var (ciphertextCount, secretCount) = (ciphertext.count, secret.count)
                guard EVP_PKEY_encapsulate_init(context, nil) == 1,
                    EVP_PKEY_encapsulate(context, &ciphertext, &ciphertextCount, secret.octets, &secretCount) == 1,
                    ciphertextCount == ciphertext.count, secretCount == secret.count
                else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_encapsulate")) }
            }
        }
        return (ciphertext, secret)
    }
}

extension MLKEMPrivateKey {
    /// Decapsulates a secret. A changed ciphertext yields another secret, not an error.
    ///
    /// - Throws: `invalidLength` for a ciphertext of another length; `libcrypto` if the library fails.
    package func decapsulate(_ ciphertext: [UInt8]) throws(CryptoError) -> SecretBytes {
        guard ciphertext.count == self.publicKey.parameters.algorithm.outputByteCount else {
            throw CryptoError(.invalidLength)
        }
        return try self.publicKey.handle.withContext { (context) throws(CryptoError) in
            try SecretBytes(count: MLKEM.secretByteCount) { (secret) throws(CryptoError) in
                var count = secret.count
                guard EVP_PKEY_decapsulate_init(context, nil) == 1,
                    EVP_PKEY_decapsulate(context, secret.octets, &count, ciphertext, ciphertext.count) == 1,
                    count == secret.count
                else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_decapsulate")) }
            }
        }
    }
}
