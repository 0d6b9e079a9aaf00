/// An algorithm's parameter sets as part of a key's type, so that keys of different algorithms cannot be confused.
package protocol PostQuantumParameters: Sendable, Equatable {
    var algorithm: PostQuantumAlgorithm { get }
}

/// A post-quantum public key, parsed and validated once.
package struct PostQuantumPublicKey<Parameters: PostQuantumParameters>: Sendable, Equatable, CustomStringConvertible {
    package let parameters: Parameters
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

    package static func == (one: Self, other: Self) -> Bool { one.publicKeyInfo == other.publicKeyInfo }

    package var description: String { "\(self.parameters.algorithm.rawValue) public key" }
}

/// A post-quantum key pair, stored as its seed.
package struct PostQuantumPrivateKey<Parameters: PostQuantumParameters>: Sendable, CustomStringConvertible {
    package let seed: SecretBytes
    package let publicKey: PostQuantumPublicKey<Parameters>

    /// Creates the key pair of a seed.
    ///
    /// - Parameter seed: 32 random bytes for ML-DSA; 64 for ML-KEM (d‖z of FIPS 203).
    /// - Throws: `invalidPrivateKey` for another length; `algorithmUnavailable`.
    package init(seed: SecretBytes, parameters: Parameters) throws(CryptoError) {
        self.publicKey = PostQuantumPublicKey(handle: try parameters.algorithm.key(seed: seed), parameters: parameters)
        self.seed = seed
    }

    package var description: String { "\(self.publicKey.parameters.algorithm.rawValue) private key" }
}
