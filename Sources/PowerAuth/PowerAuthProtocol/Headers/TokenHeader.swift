package import PowerAuthCrypto

/// The header that authenticates a request with a token.
package struct TokenHeader: Sendable, Equatable {
    package static let name = "X-PowerAuth-Token"

    package let tokenID: String
    /// 32 bytes; see ``TokenDigest``.
    package let digest: [UInt8]
    /// 16 bytes, part of the digest's input.
    package let nonce: [UInt8]
    /// The server's time, in milliseconds since 1970.
    package let timestamp: Int64
    package let version: ProtocolVersion

    /// Creates the header for a version 3 request.
    package init(tokenID: String, secret: SecretBytes, nonce: [UInt8], timestamp: Int64, version: ProtocolVersion) {
        self.tokenID = tokenID
        self.digest = TokenDigest.digest(secret: secret, nonce: nonce, timestamp: timestamp, version: version)
        self.nonce = nonce
        self.timestamp = timestamp
        self.version = version
    }

    /// Creates the header for a version 4 request.
    ///
    /// - Throws: `invalidLength` for a secret that KMAC does not accept.
    package init(
        version4TokenID tokenID: String,
        secret: SecretBytes,
        nonce: [UInt8],
        timestamp: Int64
    ) throws(CryptoError) {
        self.tokenID = tokenID
        self.digest = try TokenDigest.digest4(secret: secret, nonce: nonce, timestamp: timestamp)
        self.nonce = nonce
        self.timestamp = timestamp
        self.version = .v4_0
    }

    /// Parses a header; see ``init(_:inVersion4:)``.
    package init(parsing value: String?, inVersion4: Bool = false) throws(HeaderError) {
        try self.init(HeaderFields(parsing: value), inVersion4: inVersion4)
    }

    /// Reads a header of version 3 or 4.
    ///
    /// - Throws: The first missing or malformed field.
    package init(_ fields: HeaderFields, inVersion4: Bool = false) throws(HeaderError) {
        let version4 = inVersion4 ? try fields.required("version", HeaderValue.version4) : nil
        self.tokenID = try fields.required("token_id", HeaderValue.identifier)
        self.digest = try fields.required("token_digest", HeaderValue.bytes(32))
        self.nonce = try fields.required("nonce", HeaderValue.bytes(16))
        self.timestamp = try fields.required("timestamp", HeaderValue.timestamp)
        self.version = if let version4 { version4 } else { try fields.required("version", HeaderValue.version3) }
    }

    /// Returns whether `secret` produced the digest. The caller checks the timestamp.
    package func isValid(secret: SecretBytes) -> Bool {
        guard self.version.isVersion3 else {
            let expected = try? TokenDigest.digest4(secret: secret, nonce: self.nonce, timestamp: self.timestamp)
            return expected.map { constantTimeEquals($0, self.digest) } ?? false
        }
        let expected = TokenDigest.digest(
            secret: secret,
            nonce: self.nonce,
            timestamp: self.timestamp,
            version: self.version
        )
        return constantTimeEquals(expected, self.digest)
    }

    package var value: String {
        var header = HeaderWriter()
        // Each version has its own order, which servers ignore.
        if !self.version.isVersion3 { header.add("version", self.version.rawValue) }
        header.add("token_id", self.tokenID)
        header.add("token_digest", self.digest)
        header.add("nonce", self.nonce)
        header.add("timestamp", String(self.timestamp))
        if self.version.isVersion3 { header.add("version", self.version.rawValue) }
        return header.value
    }
}
