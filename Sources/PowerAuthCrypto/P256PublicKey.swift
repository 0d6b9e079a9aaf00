internal import COpenSSL

/// A point of the curve P-256, parsed and checked once, then used many times.
///
/// On the wire a point is 33 bytes (`02`/`03` and X) or 65 bytes (`04`, X and Y). Everything else is refused: points off the
/// curve, infinity, the hybrid form (`06`/`07`), bytes before or after.
package struct P256PublicKey: Sendable, Hashable, CustomStringConvertible {
    let handle: KeyHandle
    /// `04`, X and Y: 65 bytes.
    package let uncompressed: [UInt8]

    /// Parses a point in compressed or uncompressed form.
    ///
    /// - Throws: `invalidPublicKey`.
    package init(x963 bytes: [UInt8]) throws(CryptoError) {
        switch (bytes.first, bytes.count) {
        case (0x02, 33), (0x03, 33), (0x04, 65): break
        default: throw CryptoError(.invalidPublicKey)
        }
        let key = COpenSSL_P256_key(ThreadContexts.current.keyImporter, bytes, bytes.count, nil, 0)
        guard let key else { throw CryptoError.last(.invalidPublicKey) }
        self.init(handle: KeyHandle(owning: key))
    }

    init(handle: KeyHandle) {
        self.handle = handle
        self.uncompressed = [UInt8](unsafeUninitializedCapacity: 65) { point, count in
            let name = OSSL_PKEY_PARAM_PUB_KEY
            let status = EVP_PKEY_get_octet_string_param(handle.key, name, point.baseAddress, point.count, &count)
            require(status, "EVP_PKEY_get_octet_string_param")
            precondition(count == 65 && point[0] == 0x04)
        }
    }

    /// `02` or `03`, and X: 33 bytes, the form that clients send.
    package var compressed: [UInt8] { [0x02 | (self.uncompressed[64] & 1)] + self.x }

    /// How a point is written.
    package enum Form: Sendable, CaseIterable {
        /// 33 bytes.
        case compressed
        /// 65 bytes.
        case uncompressed
    }

    /// The point in either form.
    package func bytes(in form: Form) -> [UInt8] {
        switch form {
        case .compressed: self.compressed
        case .uncompressed: self.uncompressed
        }
    }

    /// The X coordinate, 32 bytes, leading zeros kept.
    package var x: [UInt8] { [UInt8](self.uncompressed[1..<33]) }

    /// Whether an ECDSA signature with SHA-256, in DER, is of this message by this key.
    ///
    /// The encoding must be DER to the letter. A high S is valid, as it is for the servers.
    package func isValid(derSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard !derSignature.isEmpty, let context = EVP_PKEY_CTX_new_from_pkey(nil, self.handle.key, nil) else {
            return false
        }
        defer { EVP_PKEY_CTX_free(context) }
        let digest = SHA256.hash(message)
        guard EVP_PKEY_verify_init(context) == 1,
            EVP_PKEY_verify(context, derSignature, derSignature.count, digest, digest.count) == 1
        else {
            ERR_clear_error()
            return false
        }
        return true
    }

    /// Whether an ECDSA signature with SHA-256, as the 64 bytes r‖s, is of this message by this key.
    package func isValid(rawSignature: [UInt8], for message: [UInt8]) -> Bool {
        guard let signature = try? ECDSASignature.der(fromRaw: rawSignature) else { return false }
        return self.isValid(derSignature: signature, for: message)
    }

    /// Whether both are the same point.
    package static func == (one: Self, other: Self) -> Bool { one.uncompressed == other.uncompressed }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.uncompressed) }

    package var description: String { "P-256 public key" }
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
