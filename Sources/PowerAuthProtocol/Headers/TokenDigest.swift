package import PowerAuthCrypto

/// The proof that a token's secret is known: nonce, timestamp and version, joined by `&` and authenticated with the secret.
///
/// The nonce is its 16 raw bytes, the timestamp its decimal digits (milliseconds). Version 3.1 leaves out `& version`. HMAC-SHA-256
/// in version 3, KMAC in version 4.
package enum TokenDigest {
    /// Returns the digest in version 3, 32 bytes.
    package static func digest(
        secret: SecretBytes,
        nonce: [UInt8],
        timestamp: Int64,
        version: ProtocolVersion
    ) -> [UInt8] {
        HMACSHA256.authenticate(Self.input(nonce: nonce, timestamp: timestamp, version: version), key: secret)
    }

    /// Returns the digest in version 4, 32 bytes.
    ///
    /// - Throws: `invalidLength` for a secret that KMAC does not take.
    package static func digest4(secret: SecretBytes, nonce: [UInt8], timestamp: Int64) throws(CryptoError) -> [UInt8] {
        let input = Self.input(nonce: nonce, timestamp: timestamp, version: .v4_0)
        return try KMAC256.authenticate(input, key: secret, customization: "PA4DIGEST")
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
