extension Activation {
    /// The key that verifies a server's signature.
    public enum ServerSigningKey: Sendable, Hashable {
        /// The master key, shared by all activations of the application.
        case master
        /// The server's key for this activation.
        case activation
        /// The shared key of protocol version 4, for a MAC of 32 bytes instead of a signature.
        case shared
    }
}

extension Activation {
    /// The encoding of an ECDSA signature.
    public enum ServerSignatureFormat: Sendable, Hashable {
        /// ASN.1 DER, as in QR codes.
        case der
        /// `r` and `s` side by side, 64 bytes, as in JSON web tokens.
        case jose
    }
}

extension Activation {
    /// Returns whether the server signed `data`: with P-256 and SHA-256, in protocol version 4 with P-384 and SHA-384.
    public nonisolated func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey = .activation,
        format: Activation.ServerSignatureFormat = .der
    ) -> Bool {
        self.dialect.isValid(ServerSignature(bytes: signature, key: key, format: format), of: data)
    }
}

/// A signature to verify as the server's.
struct ServerSignature: Sendable {
    let bytes: [UInt8]
    let key: Activation.ServerSigningKey
    let format: Activation.ServerSignatureFormat
}
