import COpenSSL

/// A parameter set of ML-DSA (FIPS 204).
package enum MLDSA: PostQuantumParameters, CaseIterable {
    case mlDSA65
    case mlDSA87

    package var algorithm: PostQuantumAlgorithm {
        switch self {
        case .mlDSA65: .mlDSA65
        case .mlDSA87: .mlDSA87
        }
    }
}

package typealias MLDSAPublicKey = PostQuantumPublicKey<MLDSA>
package typealias MLDSAPrivateKey = PostQuantumPrivateKey<MLDSA>

extension MLDSAPublicKey {
    /// Returns whether `signature` is valid for `message`: pure ML-DSA with an empty context.
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
}

extension MLDSAPrivateKey {
    /// Signs `message`: pure ML-DSA with an empty context. Signatures are randomized.
    ///
    /// - Throws: `libcrypto` if the library fails.
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
}
