package import PowerAuthCrypto

/// Data that a server has signed with ECDSA, by the application's master key or the server's key of one activation.
package enum ServerSignature {
    /// How a signature is written.
    package enum Encoding: Sendable {
        /// DER, as nearly everywhere.
        case der
        /// The 64 bytes r‖s, as in JSON web tokens.
        case jose
    }

    /// Whether a signature is of these data by this key.
    package static func isValid(
        _ signature: [UInt8],
        of data: [UInt8],
        by key: P256PublicKey,
        encoding: Encoding = .der
    ) -> Bool {
        switch encoding {
        case .der: key.isValid(derSignature: signature, for: data)
        case .jose: key.isValid(rawSignature: signature, for: data)
        }
    }

    /// The server's side: signs data.
    package static func sign(
        _ data: [UInt8],
        with key: P256PrivateKey,
        encoding: Encoding = .der
    ) throws(CryptoError) -> [UInt8] {
        switch encoding {
        case .der: try key.derSignature(for: data)
        case .jose: try key.rawSignature(for: data)
        }
    }
}
