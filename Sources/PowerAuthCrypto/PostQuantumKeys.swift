/// The parameter sets of an algorithm as part of a key's type, so that a key of one algorithm cannot be used where one of the
/// other belongs.
package protocol PostQuantumParameters: Sendable, Equatable {
    /// The algorithm with these parameters as libcrypto knows it.
    var algorithm: PostQuantumAlgorithm { get }
}

/// A public key of a post-quantum algorithm, parsed and checked once.
package struct PostQuantumPublicKey<Parameters: PostQuantumParameters>: Sendable, Equatable, CustomStringConvertible {
    package let parameters: Parameters
    /// The key as `SubjectPublicKeyInfo`.
    package let publicKeyInfo: [UInt8]
    let handle: KeyHandle

    /// Parses a `SubjectPublicKeyInfo`.
    ///
    /// - Throws: `invalidPublicKey` for another algorithm, another length or a value out of range; `algorithmUnavailable`.
    package init(publicKeyInfo: [UInt8], parameters: Parameters) throws(CryptoError) {
        guard let rawKey = parameters.algorithm.rawPublicKey(inPublicKeyInfo: publicKeyInfo) else {
            throw CryptoError(.invalidPublicKey)
        }
        self.handle = try parameters.algorithm.key(rawPublicKey: rawKey)
        self.parameters = parameters
        self.publicKeyInfo = publicKeyInfo
    }

    fileprivate init(handle: KeyHandle, parameters: Parameters) {
        self.parameters = parameters
        self.handle = handle
        self.publicKeyInfo = parameters.algorithm.publicKeyInfo(of: parameters.algorithm.rawPublicKey(of: handle))
    }

    /// Returns whether both are the same key.
    package static func == (one: Self, other: Self) -> Bool { one.publicKeyInfo == other.publicKeyInfo }

    package var description: String { "\(self.parameters.algorithm.rawValue) public key" }
}

/// A key pair of a post-quantum algorithm, stored as its seed.
package struct PostQuantumPrivateKey<Parameters: PostQuantumParameters>: Sendable, CustomStringConvertible {
    /// The bytes from which the key pair is derived.
    package let seed: SecretBytes
    /// The public half.
    package let publicKey: PostQuantumPublicKey<Parameters>

    /// Creates the key pair of a seed. A random seed gives a random key pair.
    ///
    /// - Parameter seed: 32 bytes for ML-DSA; 64 bytes, d‖z of FIPS 203, for ML-KEM.
    /// - Throws: `invalidPrivateKey` for another length; `algorithmUnavailable`.
    package init(seed: SecretBytes, parameters: Parameters) throws(CryptoError) {
        self.publicKey = PostQuantumPublicKey(handle: try parameters.algorithm.key(seed: seed), parameters: parameters)
        self.seed = seed
    }

    package var description: String { "\(self.publicKey.parameters.algorithm.rawValue) private key" }
}
