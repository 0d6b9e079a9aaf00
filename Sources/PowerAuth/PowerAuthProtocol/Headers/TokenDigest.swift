package import PowerAuthCrypto

/// The proof of a token's secret: a MAC of nonce, timestamp and version, joined by `&`. The nonce is 16 raw bytes, the timestamp
/// decimal milliseconds. Version 3.1 omits `& version`. Version 3 uses HMAC-SHA-256, version 4 KMAC.
package enum TokenDigest {
    /// Returns the 32-byte digest of version 3.
    package static func digest(
        secret: SecretBytes,
        nonce: [UInt8],
        timestamp: Int64,
        version: ProtocolVersion
    ) -> [UInt8] {
        HMACSHA256.authenticate(Self.input(nonce: nonce, timestamp: timestamp, version: version), key: secret)
    }

    /// Returns the 32-byte digest of version 4.
    ///
    /// - Throws: `invalidLength` for a secret that KMAC does not accept.
    package static func digest4(secret: SecretBytes, nonce: [UInt8], timestamp: Int64) throws(CryptoError) -> [UInt8] {
        let input = Self.input(nonce: nonce, timestamp: timestamp, version: .v4_0)
        return try KMAC256.authenticate(input, key: secret, customization: "PA4DIGEST")
    }

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
