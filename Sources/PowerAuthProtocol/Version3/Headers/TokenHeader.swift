package import PowerAuthCrypto

/// The header that authenticates a request with a token instead of a signature.
package struct TokenHeader: Sendable, Equatable {
    /// The name of the header.
    package static let name = "X-PowerAuth-Token"

    package let tokenID: String
    /// 32 bytes; see ``TokenDigest``.
    package let digest: [UInt8]
    /// 16 bytes, part of the digest.
    package let nonce: [UInt8]
    /// The server's time, in milliseconds since 1970.
    package let timestamp: Int64
    package let version: ProtocolVersion

    /// Creates the header of one request.
    package init(tokenID: String, secret: SecretBytes, nonce: [UInt8], timestamp: Int64, version: ProtocolVersion) {
        self.tokenID = tokenID
        self.digest = TokenDigest.digest(secret: secret, nonce: nonce, timestamp: timestamp, version: version)
        self.nonce = nonce
        self.timestamp = timestamp
        self.version = version
    }

    /// Reads a header.
    ///
    /// - Throws: The first field that is missing or not of its form.
    package init(parsing value: String?) throws(HeaderError) {
        let fields = HeaderFields(parsing: value)
        self.tokenID = try fields.required("token_id", HeaderValue.identifier)
        self.digest = try fields.required("token_digest", HeaderValue.bytes(32))
        self.nonce = try fields.required("nonce", HeaderValue.bytes(16))
        self.timestamp = try fields.required("timestamp", HeaderValue.timestamp)
        self.version = try fields.required("version", HeaderValue.version)
    }

    /// Returns whether the digest was computed with `secret`. The caller checks the timestamp.
    package func isValid(secret: SecretBytes) -> Bool {
        let expected = TokenDigest.digest(
            secret: secret,
            nonce: self.nonce,
            timestamp: self.timestamp,
            version: self.version
        )
        return constantTimeEquals(expected, self.digest)
    }

    /// The value of the header.
    package var value: String {
        var header = HeaderWriter()
        header.add("token_id", self.tokenID)
        header.add("token_digest", self.digest)
        header.add("nonce", self.nonce)
        header.add("timestamp", String(self.timestamp))
        header.add("version", self.version.rawValue)
        return header.value
    }
}
