internal import PowerAuthCrypto
internal import PowerAuthProtocol

/// Whose signature data must carry.
public enum ServerSigningKey: Sendable, Hashable {
    /// The master key, the same for all activations of the application.
    case master
    /// The key that the server made for this activation.
    case activation
}

/// How an ECDSA signature is written.
public enum ServerSignatureFormat: Sendable, Hashable {
    /// ASN.1 DER, as in QR codes.
    case der
    /// `r` and `s` side by side, 64 bytes, as in JSON web tokens.
    case jose
}

extension Activation {
    /// Whether data was signed by the server: ECDSA on P-256 over SHA-256.
    public nonisolated func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: ServerSigningKey = .activation,
        format: ServerSignatureFormat = .der
    ) -> Bool {
        let publicKey = key == .master ? self.server.application.masterPublicKey : self.identity.serverPublicKey
        return switch format {
        case .der: publicKey.isValid(derSignature: signature, for: data)
        case .jose: publicKey.isValid(rawSignature: signature, for: data)
        }
    }
}
