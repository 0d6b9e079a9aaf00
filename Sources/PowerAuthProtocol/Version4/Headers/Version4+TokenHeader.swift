package import PowerAuthCrypto

extension Version4 {
    /// The header that authenticates a request with a token instead of a code.
    package struct TokenHeader: Sendable, Equatable {
        /// The name of the header.
        package static let name = "X-PowerAuth-Token"

        package let tokenID: String
        /// 32 bytes; see ``digest(secret:nonce:timestamp:)``.
        package let digest: [UInt8]
        /// 16 bytes, part of the digest.
        package let nonce: [UInt8]
        /// The server's time, in milliseconds since 1970.
        package let timestamp: Int64

        /// Creates the header of one request.
        ///
        /// - Throws: `invalidLength` for a secret that KMAC does not take.
        package init(tokenID: String, secret: SecretBytes, nonce: [UInt8], timestamp: Int64) throws(CryptoError) {
            self.tokenID = tokenID
            self.digest = try Self.digest(secret: secret, nonce: nonce, timestamp: timestamp)
            self.nonce = nonce
            self.timestamp = timestamp
        }

        /// Reads a header.
        ///
        /// - Throws: The first field that is missing or not of its form.
        package init(parsing value: String?) throws(HeaderError) {
            let fields = HeaderFields(parsing: value)
            _ = try fields.required("version", HeaderValue.version4)
            self.tokenID = try fields.required("token_id", HeaderValue.identifier)
            self.digest = try fields.required("token_digest", HeaderValue.bytes(32))
            self.nonce = try fields.required("nonce", HeaderValue.bytes(16))
            self.timestamp = try fields.required("timestamp", HeaderValue.timestamp)
        }

        /// Returns whether the digest was computed with `secret`. The caller checks the timestamp.
        package func isValid(secret: SecretBytes) -> Bool {
            guard let expected = try? Self.digest(secret: secret, nonce: self.nonce, timestamp: self.timestamp) else {
                return false
            }
            return constantTimeEquals(expected, self.digest)
        }

        /// Returns the proof that a token's secret is known: the KMAC of nonce (raw), timestamp (its digits) and version,
        /// joined by `&`.
        package static func digest(
            secret: SecretBytes,
            nonce: [UInt8],
            timestamp: Int64
        ) throws(CryptoError) -> [UInt8] {
            let suffix = Array("&\(timestamp)&\(Version4.name)".utf8)
            return try KMAC256.authenticate(nonce, suffix, key: secret, customization: "PA4DIGEST")
        }

        /// The value of the header.
        package var value: String {
            var header = HeaderWriter()
            header.add("version", Version4.name)
            header.add("token_id", self.tokenID)
            header.add("token_digest", self.digest)
            header.add("nonce", self.nonce)
            header.add("timestamp", String(self.timestamp))
            return header.value
        }
    }
}
