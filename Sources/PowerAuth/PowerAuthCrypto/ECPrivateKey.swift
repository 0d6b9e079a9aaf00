import COpenSSL

package typealias P256PrivateKey = ECPrivateKey<P256>
package typealias P384PrivateKey = ECPrivateKey<P384>

package struct ECPrivateKey<Curve: EllipticCurve>: Sendable, CustomStringConvertible {
    let handle: KeyHandle
    package let publicKey: ECPublicKey<Curve>

    private init(handle: KeyHandle) {
        self.handle = handle
        self.publicKey = ECPublicKey(handle: handle)
    }

    private static var scalarByteCount: Int { Curve.curve.coordinateByteCount }

    /// Generates a random key pair with libcrypto's generator for private keys.
    package static func generate() -> Self {
        var key: OpaquePointer?
        let status = EVP_PKEY_generate(Curve.curve.keyGenerator, &key)
        precondition(status == 1, "libcrypto: EVP_PKEY_generate failed")
        return Self(handle: KeyHandle(owning: require(key, "EVP_PKEY_generate")))
    }

    /// Creates the key pair of a big-endian scalar: 32 bytes for P-256, 48 for P-384.
    ///
    /// - Throws: `invalidPrivateKey` for another length, zero, and values from the curve's order on.
    package init(scalar: SecretBytes) throws(CryptoError) {
        let count = Int32(Self.scalarByteCount)
        guard scalar.count == count else { throw CryptoError(.invalidPrivateKey) }
        let number = scalar.withUnsafeBytes { BN_bin2bn($0.octets, count, nil) }
        let group = Curve.curve.group
        let point = EC_POINT_new(group)
        defer {
            BN_clear_free(number)
            EC_POINT_free(point)
        }
        guard let number, let point else { throw CryptoError.last(.libcrypto(operation: "BN_bin2bn")) }
        BN_set_flags(number, BN_FLG_CONSTTIME)
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(group)) < 0 else {
            throw CryptoError(.invalidPrivateKey)
        }
        require(EC_POINT_mul(group, point, number, nil, nil, nil), "EC_POINT_mul")
        var encoded = [UInt8](repeating: 0, count: Curve.curve.uncompressedPointByteCount)
        let encodedCount = EC_POINT_point2oct(
            group,
            point,
            POINT_CONVERSION_UNCOMPRESSED,
            &encoded,
            encoded.count,
            nil
        )
        let native = SecretBytes(count: scalar.count) { native in
            BN_bn2nativepad(number, native.octets, count)
        }
        let key = native.withUnsafeBytes { native in
            COpenSSL_EC_key(
                ThreadContexts.current.keyImporter,
                Curve.curve.name,
                encoded,
                encodedCount,
                native.baseAddress,
                native.count
            )
        }
        guard let key else { throw CryptoError.last(.invalidPrivateKey) }
        self.init(handle: KeyHandle(owning: key))
    }

    /// The big-endian scalar, as long as a coordinate.
    package var scalar: SecretBytes {
        SecretBytes(count: Self.scalarByteCount) { scalar in
            var number: OpaquePointer?
            require(EVP_PKEY_get_bn_param(self.handle.key, OSSL_PKEY_PARAM_PRIV_KEY, &number), "EVP_PKEY_get_bn_param")
            defer { BN_clear_free(number) }
            let count = BN_bn2binpad(number, scalar.octets, Int32(scalar.count))
            precondition(count == scalar.count, "libcrypto: BN_bn2binpad failed")
        }
    }

    /// Returns the Diffie-Hellman secret: the X coordinate with leading zeros.
    ///
    /// - Throws: `libcrypto` if the library fails.
    package func sharedSecret(with other: ECPublicKey<Curve>) throws(CryptoError) -> SecretBytes {
        try self.handle.withContext { (context) throws(CryptoError) in
            // Without validation: parsing has checked that the point is on the curve, which suffices with cofactor 1. A second
            // check would double the cost.
            guard EVP_PKEY_derive_init(context) == 1,
                EVP_PKEY_derive_set_peer_ex(context, other.handle.key, 0) == 1
            else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_derive_set_peer")) }
            return try SecretBytes(count: Curve.curve.coordinateByteCount) { (secret) throws(CryptoError) in
                var count = secret.count
                guard EVP_PKEY_derive(context, secret.octets, &count) == 1, count == secret.count else {
                    throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_derive"))
                }
            }
        }
    }

    /// Signs `message` with ECDSA and the curve's hash, in DER.
    ///
    /// - Throws: `libcrypto` if the library fails.
    package func derSignature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let digest = Curve.curve.hash(message)
        // Two integers, each up to a byte longer than a coordinate, and three headers of two bytes.
        var signature = [UInt8](repeating: 0, count: 2 * (Curve.curve.coordinateByteCount + 1) + 6)
        var count = signature.count
        try self.handle.withContext { (context) throws(CryptoError) in
            guard EVP_PKEY_sign_init(context) == 1,
                EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1
            else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_sign")) }
        }
        return [UInt8](signature.prefix(count))
    }

    /// Signs `message` with ECDSA and the curve's hash, as r‖s.
    ///
    /// - Throws: `libcrypto` if the library fails.
    package func rawSignature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try ECDSASignature.raw(fromDER: self.derSignature(for: message), curve: Curve.curve)
    }

    package var description: String { "\(Curve.curve.name) private key" }
}
