import COpenSSL

package enum DER {
    /// Returns the output of an `i2d` function.
    ///
    /// - Parameter encode: Called twice: with `nil` for the length, then with the target, which it advances.
    static func bytes(
        _ operation: String,
        _ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(CryptoError) -> [UInt8] {
        let count = encode(nil)
        guard count > 0 else { throw CryptoError.last(.libcrypto(operation: operation)) }
        var encoded = [UInt8](repeating: 0, count: Int(count))
        let written = encoded.withUnsafeMutableBufferPointer { buffer in
            var end = buffer.baseAddress
            return encode(&end)
        }
        guard written == count else { throw CryptoError.last(.libcrypto(operation: operation)) }
        return encoded
    }

    /// Returns `der` in PEM.
    ///
    /// - Parameter label: The label after `BEGIN` and `END`, such as `PUBLIC KEY`.
    package static func pem(_ der: [UInt8], label: String) throws(CryptoError) -> String {
        guard let buffer = BIO_new(BIO_s_mem()) else { throw CryptoError.last(.libcrypto(operation: "BIO_new")) }
        defer { BIO_free(buffer) }
        guard PEM_write_bio(buffer, label, "", der, der.count) > 0 else {
            throw CryptoError.last(.libcrypto(operation: "PEM_write_bio"))
        }
        var text = [UInt8](repeating: 0, count: BIO_ctrl_pending(buffer))
        guard BIO_read(buffer, &text, Int32(text.count)) == text.count else {
            throw CryptoError.last(.libcrypto(operation: "BIO_read"))
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension ECPublicKey {
    package func publicKeyInfo() throws(CryptoError) -> [UInt8] {
        try DER.bytes("i2d_PUBKEY") { i2d_PUBKEY(self.handle.key, $0) }
    }
}
