/// Key encapsulation with P-384: the export interface of HPKE (RFC 9180) in base mode, with KEM `0x0011` (DHKEM with P-384 and
/// HKDF-SHA384), KDF `0x0002` (HKDF-SHA384) and AEAD `0xFFFF` (export only). Info and exporter context are `DHKEM-P384`, and 48
/// bytes are exported. libcrypto has HPKE from 3.2 on; 3.0 has the Diffie-Hellman exchange and HKDF.
package enum DHKEM384 {
    /// The length of an encapsulated secret: the ephemeral point.
    package static let encapsulatedByteCount = 97
    package static let secretByteCount = 48

    /// The intermediate values of an exchange, for comparison with other implementations.
    package struct Steps: Sendable, Equatable {
        package let sharedPoint: SecretBytes
        package let kemSharedSecret: SecretBytes
        package let keyScheduleContext: [UInt8]
        package let exporterSecret: SecretBytes
        package let secret: SecretBytes
    }

    /// Returns a secret for the key's holder, and its encapsulation.
    ///
    /// - Parameter ephemeralKey: A key for this call only.
    package static func encapsulate(
        to publicKey: P384PublicKey,
        ephemeralKey: P384PrivateKey
    ) throws(CryptoError) -> (encapsulated: [UInt8], secret: SecretBytes) {
        let encapsulated = ephemeralKey.publicKey.uncompressed
        let steps = try Self.steps(
            sharedPoint: ephemeralKey.sharedSecret(with: publicKey),
            encapsulated: encapsulated,
            receiver: publicKey
        )
        return (encapsulated, steps.secret)
    }

    /// Returns the encapsulated secret.
    ///
    /// - Throws: `invalidPublicKey` unless `encapsulated` is the 97 bytes of a point of the curve.
    package static func decapsulate(
        _ encapsulated: [UInt8],
        with privateKey: P384PrivateKey
    ) throws(CryptoError) -> SecretBytes {
        try Self.decapsulationSteps(encapsulated, with: privateKey).secret
    }

    /// Returns the encapsulated secret with all intermediate values.
    package static func decapsulationSteps(
        _ encapsulated: [UInt8],
        with privateKey: P384PrivateKey
    ) throws(CryptoError) -> Steps {
        guard encapsulated.count == Self.encapsulatedByteCount else { throw CryptoError(.invalidPublicKey) }
        let ephemeralKey = try P384PublicKey(x963: encapsulated)
        return try Self.steps(
            sharedPoint: privateKey.sharedSecret(with: ephemeralKey),
            encapsulated: encapsulated,
            receiver: privateKey.publicKey
        )
    }

    private static let kemSuite = Array("KEM".utf8) + [0x00, 0x11]
    private static let hpkeSuite = Array("HPKE".utf8) + [0x00, 0x11, 0x00, 0x02, 0xFF, 0xFF]
    private static let info = Array("DHKEM-P384".utf8)
    private static let nothing = SecretBytes(copying: [])

    private static func steps(
        sharedPoint: SecretBytes,
        encapsulated: [UInt8],
        receiver: P384PublicKey
    ) throws(CryptoError) -> Steps {
        let extracted = try Self.extract(self.kemSuite, salt: self.nothing, "eae_prk", sharedPoint)
        let kemContext = encapsulated + receiver.uncompressed
        let kemSharedSecret = try Self.expand(self.kemSuite, extracted, "shared_secret", kemContext)

        let pskIDHash = try Self.extract(self.hpkeSuite, salt: self.nothing, "psk_id_hash", self.nothing)
        let infoHash = try Self.extract(
            self.hpkeSuite,
            salt: self.nothing,
            "info_hash",
            SecretBytes(copying: self.info)
        )
        let context = [0x00] + pskIDHash.withUnsafeBytes { [UInt8]($0) } + infoHash.withUnsafeBytes { [UInt8]($0) }

        let scheduled = try Self.extract(self.hpkeSuite, salt: kemSharedSecret, "secret", self.nothing)
        let exporterSecret = try Self.expand(self.hpkeSuite, scheduled, "exp", context)
        return Steps(
            sharedPoint: sharedPoint,
            kemSharedSecret: kemSharedSecret,
            keyScheduleContext: context,
            exporterSecret: exporterSecret,
            secret: try Self.expand(self.hpkeSuite, exporterSecret, "sec", self.info)
        )
    }

    private static func extract(
        _ suite: [UInt8],
        salt: SecretBytes,
        _ label: String,
        _ secret: SecretBytes
    ) throws(CryptoError) -> SecretBytes {
        let prefix = Array("HPKE-v1".utf8) + suite + Array(label.utf8)
        let labeled = SecretBytes(count: prefix.count + secret.count) { labeled in
            labeled.copyBytes(from: prefix)
            let rest = UnsafeMutableRawBufferPointer(rebasing: labeled[prefix.count...])
            secret.withUnsafeBytes { rest.copyMemory(from: $0) }
        }
        return try HKDFSHA384.extract(labeled, salt: salt)
    }

    /// Returns 48 bytes of `LabeledExpand` of RFC 9180.
    private static func expand(
        _ suite: [UInt8],
        _ key: SecretBytes,
        _ label: String,
        _ info: [UInt8]
    ) throws(CryptoError) -> SecretBytes {
        let length: [UInt8] = [0x00, UInt8(Self.secretByteCount)]
        let labeled = length + Array("HPKE-v1".utf8) + suite + Array(label.utf8) + info
        return try HKDFSHA384.expand(key, info: labeled, count: Self.secretByteCount)
    }
}
