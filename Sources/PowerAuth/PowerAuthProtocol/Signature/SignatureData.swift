import PowerAuthCrypto

/// The signed part of a request, in normalized form: `METHOD & B64(uriId) & B64(nonce) & B64(body)`. The signed bytes are this,
/// `&`, and a ``SigningSecret``.
package struct SignatureData: Sendable, Equatable {
    /// The ASCII bytes without the secret.
    package let normalized: [UInt8]

    /// Creates the data of a request with a body, or of an offline signature, which uses `POST`.
    ///
    /// - Parameters:
    ///   - method: The HTTP method. Case-insensitive.
    ///   - uriID: The resource identifier, such as `/operation/authorize`; not the URL.
    ///   - nonce: 16 bytes.
    ///   - body: The bytes exactly as sent.
    package init(method: String, uriID: String, nonce: [UInt8], body: [UInt8]) {
        var normalized = [UInt8]()
        normalized.reserveCapacity(method.utf8.count + (uriID.utf8.count + nonce.count + body.count) * 4 / 3 + 16)
        normalized.append(contentsOf: method.utf8.lazy.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 })
        normalized.append(UInt8(ascii: "&"))
        var uriID = uriID
        uriID.withUTF8 { Base64.append(UnsafeRawBufferPointer($0), to: &normalized) }
        normalized.append(UInt8(ascii: "&"))
        Base64.append(nonce, to: &normalized)
        normalized.append(UInt8(ascii: "&"))
        Base64.append(body, to: &normalized)
        self.normalized = normalized
    }

    /// Creates the data of a request without a body (`GET`, `HEAD`), which signs its canonical query.
    ///
    /// - Throws: An error for a percent sign without two hexadecimal digits.
    package init(method: String, uriID: String, nonce: [UInt8], query: String?) throws(CanonicalQuery.Malformed) {
        let canonical = try CanonicalQuery.string(of: query)
        self.init(method: method, uriID: uriID, nonce: nonce, body: [UInt8](canonical.utf8))
    }

    package init(normalized: [UInt8]) { self.normalized = normalized }
}
