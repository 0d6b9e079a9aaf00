import COpenSSL

/// A point of P-256, encoded in 33 or 65 bytes.
package typealias P256PublicKey = ECPublicKey<P256>
/// A point of P-384, encoded in 49 or 97 bytes.
package typealias P384PublicKey = ECPublicKey<P384>

/// A point of a curve, parsed and validated once. The encoding is compressed (`02`/`03` and X) or uncompressed (`04`, X and Y).
/// Points off the curve, infinity, the hybrid form (`06`/`07`) and extra bytes are refused.
package struct ECPublicKey<Curve: EllipticCurve>: Sendable, Hashable, CustomStringConvertible {
    let handle: KeyHandle
    /// `04`, X and Y: 65 bytes for P-256, 97 for P-384.
    package let uncompressed: [UInt8]

    /// Parses a compressed or uncompressed point.
    ///
    /// - Throws: `invalidPublicKey` for anything else.
    package init(x963 bytes: [UInt8]) throws(CryptoError) {
        let count: Int
        switch bytes.first {
        case 0x02, 0x03: count = Curve.curve.compressedPointByteCount
        case 0x04: count = Curve.curve.uncompressedPointByteCount
        default: throw CryptoError(.invalidPublicKey)
        }
        guard bytes.count == count else { throw CryptoError(.invalidPublicKey) }
        let importer = ThreadContexts.current.keyImporter
        let key = COpenSSL_EC_key(importer, Curve.curve.name, bytes, bytes.count, nil, 0)
        guard let key else { throw CryptoError.last(.invalidPublicKey) }
        self.init(handle: KeyHandle(owning: key))
    }

    init(handle: KeyHandle) {
        self.handle = handle
        self.uncompressed = handle.publicKeyBytes(count: Curve.curve.uncompressedPointByteCount)
        precondition(self.uncompressed[0] == 0x04)
    }

    /// `02` or `03`, and X: 33 bytes for P-256, 49 for P-384.
    package var compressed: [UInt8] { [0x02 | (self.uncompressed[self.uncompressed.count - 1] & 1)] + self.x }

    package enum Form: Sendable, CaseIterable {
        /// The sign of Y, and X.
        case compressed
        case uncompressed
    }

    package func bytes(in form: Form) -> [UInt8] {
        switch form {
        case .compressed: self.compressed
        case .uncompressed: self.uncompressed
        }
    }

    /// The X coordinate with leading zeros.
    package var x: [UInt8] { [UInt8](self.uncompressed[1..<Curve.curve.compressedPointByteCount]) }

    /// Returns whether `derSignature` is a valid ECDSA signature of `message`, with the curve's hash. The encoding must be strict
    /// DER. A high S is valid, as for the servers.
    package func isValid(derSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard !derSignature.isEmpty else { return false }
        let digest = Curve.curve.hash(message)
        let isValid = try? self.handle.withContext { context in
            EVP_PKEY_verify_init(context) == 1
                && EVP_PKEY_verify(context, derSignature, derSignature.count, digest, digest.count) == 1
        }
        if isValid != true { ERR_clear_error() }
        return isValid ?? false
    }

    /// Returns whether `rawSignature` (r‖s) is a valid ECDSA signature of `message`.
    package func isValid(rawSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard let signature = try? ECDSASignature.der(fromRaw: rawSignature, curve: Curve.curve) else { return false }
        return self.isValid(derSignature: signature, for: message)
    }

    package static func == (one: Self, other: Self) -> Bool { one.uncompressed == other.uncompressed }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.uncompressed) }

    package var description: String { "\(Curve.curve.name) public key" }
}
