package import PowerAuthCrypto

/// The proof that a token's secret is known: `HMAC(tokenSecret, nonce & timestamp & version)`.
///
/// The nonce is its 16 raw bytes, the timestamp its decimal digits (milliseconds). Version 3.1 leaves out `& version`.
package enum TokenDigest {
    /// Returns the digest, 32 bytes.
    package static func digest(
        secret: SecretBytes,
        nonce: [UInt8],
        timestamp: Int64,
        version: ProtocolVersion
    ) -> [UInt8] {
        HMACSHA256.authenticate(Self.input(nonce: nonce, timestamp: timestamp, version: version), key: secret)
    }

    /// Returns the bytes that are authenticated.
    package static func input(nonce: [UInt8], timestamp: Int64, version: ProtocolVersion) -> [UInt8] {
        var input = [UInt8]()
        input.reserveCapacity(nonce.count + 24)
        input += nonce
        input.append(UInt8(ascii: "&"))
        var suffix = version.usesTimestamps ? "\(timestamp)&\(version.rawValue)" : "\(timestamp)"
        suffix.withUTF8 { input.append(contentsOf: $0) }
        return input
    }
}
