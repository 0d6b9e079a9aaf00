extension Activation {
    /// The server's key that a signature is checked with.
    public enum ServerSigningKey: Sendable, Hashable {
        /// The master key, the same for all activations of the application.
        case master
        /// The key that the server made for this activation.
        case activation
        /// A key that both sides know, in version 4 of the protocol: what is checked is a code of 32 bytes, not a signature.
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
    /// Returns whether the server signed `data`: ECDSA on P-256 over SHA-256, in version 4 of the protocol on P-384 over SHA-384.
    public nonisolated func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey = .activation,
        format: Activation.ServerSignatureFormat = .der
    ) -> Bool {
        self.dialect.isValid(ServerSignature(bytes: signature, key: key, format: format), of: data)
    }
}

/// A signature that the server is said to have made.
struct ServerSignature: Sendable {
    let bytes: [UInt8]
    let key: Activation.ServerSigningKey
    let format: Activation.ServerSignatureFormat
}
