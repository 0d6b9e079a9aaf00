import COpenSSL

/// A point of the curve P-256, 33 or 65 bytes on the wire.
package typealias P256PublicKey = ECPublicKey<P256>
/// A point of the curve P-384, 49 or 97 bytes on the wire.
package typealias P384PublicKey = ECPublicKey<P384>

/// A point of a curve, parsed and checked once, then used many times.
///
/// On the wire a point is compressed (`02`/`03` and X) or uncompressed (`04`, X and Y). Everything else is refused: points
/// off the curve, infinity, the hybrid form (`06`/`07`), bytes before or after.
package struct ECPublicKey<Curve: EllipticCurve>: Sendable, Hashable, CustomStringConvertible {
    let handle: KeyHandle
    /// `04`, X and Y: 65 bytes for P-256, 97 for P-384.
    package let uncompressed: [UInt8]

    /// Parses a point in compressed or uncompressed form.
    ///
    /// - Throws: `invalidPublicKey`.
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
        let pointByteCount = Curve.curve.uncompressedPointByteCount
        self.uncompressed = [UInt8](unsafeUninitializedCapacity: pointByteCount) { point, count in
            let name = OSSL_PKEY_PARAM_PUB_KEY
            let status = EVP_PKEY_get_octet_string_param(handle.key, name, point.baseAddress, pointByteCount, &count)
            require(status, "EVP_PKEY_get_octet_string_param")
            precondition(count == pointByteCount && point[0] == 0x04)
        }
    }

    /// `02` or `03`, and X: 33 bytes for P-256, 49 for P-384.
    package var compressed: [UInt8] { [0x02 | (self.uncompressed[self.uncompressed.count - 1] & 1)] + self.x }

    /// How a point is written.
    package enum Form: Sendable, CaseIterable {
        /// The sign of Y, and X.
        case compressed
        /// X and Y.
        case uncompressed
    }

    /// The point in either form.
    package func bytes(in form: Form) -> [UInt8] {
        switch form {
        case .compressed: self.compressed
        case .uncompressed: self.uncompressed
        }
    }

    /// The X coordinate, leading zeros kept.
    package var x: [UInt8] { [UInt8](self.uncompressed[1..<Curve.curve.compressedPointByteCount]) }

    /// Whether an ECDSA signature with the hash of the curve, in DER, is of this message by this key.
    ///
    /// The encoding must be DER to the letter. A high S is valid, as it is for the servers.
    package func isValid(derSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard !derSignature.isEmpty, let context = EVP_PKEY_CTX_new_from_pkey(nil, self.handle.key, nil) else {
            return false
        }
        defer { EVP_PKEY_CTX_free(context) }
        let digest = Curve.curve.hash(message)
        guard EVP_PKEY_verify_init(context) == 1,
            EVP_PKEY_verify(context, derSignature, derSignature.count, digest, digest.count) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    /// Whether an ECDSA signature with the hash of the curve, as the bytes r‖s, is of this message by this key.
    package func isValid(rawSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard let signature = try? ECDSASignature.der(fromRaw: rawSignature, curve: Curve.curve) else { return false }
        return self.isValid(derSignature: signature, for: message)
    }

    /// Whether both are the same point.
    package static func == (one: Self, other: Self) -> Bool { one.uncompressed == other.uncompressed }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.uncompressed) }

    package var description: String { "\(Curve.curve.name) public key" }
}

/// One reference to a key of libcrypto.
///
/// Unchecked, because a pointer says nothing about threads: the key is complete when the handle is made, all later uses are
/// the reading kind, which libcrypto allows from many threads at once, and its reference count is atomic.
final class KeyHandle: @unchecked Sendable {
    let key: OpaquePointer

    init(owning key: OpaquePointer) { self.key = key }

    deinit { EVP_PKEY_free(self.key) }  // wipes a private scalar
}
