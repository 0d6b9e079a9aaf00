internal import COpenSSL

/// A key pair of the curve P-256.
package struct P256PrivateKey: Sendable, CustomStringConvertible {
    let handle: KeyHandle
    /// The public half.
    package let publicKey: P256PublicKey

    private init(handle: KeyHandle) {
        self.handle = handle
        self.publicKey = P256PublicKey(handle: handle)
    }

    /// A fresh key pair from libcrypto's private generator.
    package static func generate() -> Self {
        var key: OpaquePointer?
        let status = EVP_PKEY_generate(ThreadContexts.current.keyGenerator, &key)
        precondition(status == 1, "libcrypto: EVP_PKEY_generate failed")
        return Self(handle: KeyHandle(owning: require(key, "EVP_PKEY_generate")))
    }

    /// The key pair of a scalar, 32 bytes, big-endian.
    ///
    /// - Throws: `invalidPrivateKey` for another length, for zero, and for the order of the curve and above.
    package init(scalar: SecretBytes) throws(CryptoError) {
        guard scalar.count == 32 else { throw CryptoError(.invalidPrivateKey) }
        let number = scalar.withUnsafeBytes { BN_bin2bn($0.baseAddress?.assumingMemoryBound(to: UInt8.self), 32, nil) }
        let point = EC_POINT_new(Algorithm.p256)
        defer {
            BN_clear_free(number)
            EC_POINT_free(point)
        }
        guard let number, let point else { throw CryptoError.last(.libcrypto(operation: "BN_bin2bn")) }
        BN_set_flags(number, BN_FLG_CONSTTIME)
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(Algorithm.p256)) < 0 else {
            throw CryptoError(.invalidPrivateKey)
        }
        require(EC_POINT_mul(Algorithm.p256, point, number, nil, nil, nil), "EC_POINT_mul")
        var encoded = [UInt8](repeating: 0, count: 65)
        let count = EC_POINT_point2oct(
            Algorithm.p256,
            point,
            POINT_CONVERSION_UNCOMPRESSED,
            &encoded,
            encoded.count,
            nil
        )
        let native = SecretBytes(count: 32) { native in
            BN_bn2nativepad(number, native.baseAddress?.assumingMemoryBound(to: UInt8.self), 32)
        }
        let key = native.withUnsafeBytes { native in
            COpenSSL_P256_key(ThreadContexts.current.keyImporter, encoded, count, native.baseAddress, native.count)
        }
        guard let key else { throw CryptoError.last(.invalidPrivateKey) }
        self.init(handle: KeyHandle(owning: key))
    }

    /// The scalar, 32 bytes, big-endian.
    package var scalar: SecretBytes {
        SecretBytes(count: 32) { scalar in
            var number: OpaquePointer?
            require(EVP_PKEY_get_bn_param(self.handle.key, OSSL_PKEY_PARAM_PRIV_KEY, &number), "EVP_PKEY_get_bn_param")
            defer { BN_clear_free(number) }
            let count = BN_bn2binpad(number, scalar.baseAddress?.assumingMemoryBound(to: UInt8.self), 32)
            precondition(count == 32, "libcrypto: BN_bn2binpad failed")
        }
    }

    /// The Diffie-Hellman secret with another key: the X coordinate, always 32 bytes.
    ///
    /// - Throws: `libcrypto` when the library refuses.
    package func sharedSecret(with other: P256PublicKey) throws(CryptoError) -> SecretBytes {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, self.handle.key, nil) else {
            throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_CTX_new_from_pkey"))
        }
        defer { EVP_PKEY_CTX_free(context) }
        // Without validation: the point was found to be on the curve when it was parsed, which is all there is to check
        // on a curve of cofactor 1, and checking again doubles the cost.
        guard EVP_PKEY_derive_init(context) == 1,
            EVP_PKEY_derive_set_peer_ex(context, other.handle.key, 0) == 1
        else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_derive_set_peer")) }
        return try SecretBytes(count: 32) { (secret) throws(CryptoError) in
            var count = 32
            let address = secret.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard EVP_PKEY_derive(context, address, &count) == 1, count == 32 else {
                throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_derive"))
            }
        }
    }

    /// Signs a message: ECDSA with SHA-256, in DER.
    ///
    /// - Throws: `libcrypto` when the library refuses.
    package func derSignature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, self.handle.key, nil) else {
            throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_CTX_new_from_pkey"))
        }
        defer { EVP_PKEY_CTX_free(context) }
        let digest = SHA256.hash(message)
        var signature = [UInt8](repeating: 0, count: 72)  // two integers of up to 33 bytes, three headers of two
        var count = signature.count
        guard EVP_PKEY_sign_init(context) == 1,
            EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1
        else { throw CryptoError.last(.libcrypto(operation: "EVP_PKEY_sign")) }
        return [UInt8](signature.prefix(count))
    }

    /// Signs a message: ECDSA with SHA-256, as the 64 bytes r‖s.
    ///
    /// - Throws: `libcrypto` when the library refuses.
    package func rawSignature(for message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try ECDSASignature.raw(fromDER: self.derSignature(for: message))
    }

    package var description: String { "P-256 private key" }
}
