import Basics
package import PowerAuthCrypto

/// An activation code for one activation, such as `W65WE-3T7VI-7FBS2-A4OYA`. Ten random bytes and their CRC-16/ARC (big-endian)
/// in Base32 without padding, as four groups of five joined by `-`. A QR code contains `CODE#SIGNATURE`: an ECDSA signature (DER,
/// Base64) of the code with its dashes, by the application's master key.
package struct ActivationCode: Sendable, Hashable {
    /// The code: four groups of five letters and digits.
    package let code: String
    /// The signature in DER, if present. Verify it before using the code.
    package let signature: [UInt8]?

    package struct ParsingError: Error, Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The part before `#` is not four groups of five Base32 characters, or its checksum is wrong.
        package static let invalidCode = Self(description: "the activation code is malformed or mistyped")
        /// The part after `#` is empty or not Base64.
        package static let invalidSignature = Self(description: "the signature of the activation code is not Base64")
    }

    /// Parses a code, with or without a signature. Nothing is trimmed or uppercased; do so first with typed input.
    package init(parsing string: String) throws(ParsingError) {
        // Split bytes: a `String` does not find a `#` with a combining mark.
        let parts = string.utf8.split(separator: UInt8(ascii: "#"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard let code = parts.first else { throw .invalidCode }
        guard Self.isValid(code) else { throw .invalidCode }
        self.code = code
        guard parts.count == 2 else {
            self.signature = nil
            return
        }
        guard let signature = Base64.decode(parts[1]), !signature.isEmpty else { throw .invalidSignature }
        self.signature = signature
    }

    /// Creates a code from ten random bytes, without a signature.
    package init(randomBytes: [UInt8]) throws(CryptoError) {
        guard randomBytes.count == Self.randomByteCount else { throw CryptoError(.invalidLength) }
        let checksum = randomBytes.reduce(0, CRC16.updated)
        self.code = Self.string(of: randomBytes + checksum.bigEndianBytes)
        self.signature = nil
    }

    /// Creates a code from ten random bytes, signed by the master key of the activation's version: P-256 for version 3, P-384 for
    /// version 4.
    package init<Curve>(randomBytes: [UInt8], signedBy masterKey: ECPrivateKey<Curve>?) throws(CryptoError) {
        self.code = try Self(randomBytes: randomBytes).code
        self.signature = try masterKey?.derSignature(for: Array(self.code.utf8))
    }

    /// The content of a QR code: the code, with `#` and the signature if present.
    package var qrCodeContent: String {
        self.signature.map { "\(self.code)#\(Base64.encode($0))" } ?? self.code
    }

    /// Returns whether the application's master key signed the code; `false` without a signature.
    package func isSigned<Curve>(by masterKey: ECPublicKey<Curve>) -> Bool {
        guard let signature else { return false }
        return masterKey.isValid(derSignature: signature, for: Array(self.code.utf8))
    }

    package static let randomByteCount = 10

    /// Returns whether `string` is a code without signature: its form, its checksum, and its spare bits, which must be zero. Of
    /// the 16 strings that differ only in spare bits, the server knows one.
    package static func isValid(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { characters in
            guard characters.count == 23 else { return false }
            var checksum: UInt16 = 0
            var pending: UInt32 = 0
            var pendingBits = 0
            var byteCount = 0
            for index in 0..<23 {
                let character = characters[index]
                if index % 6 == 5 {
                    guard character == UInt8(ascii: "-") else { return false }
                    continue
                }
                guard let value = Self.value(of: character) else { return false }
                pending = pending << 5 | value
                pendingBits += 5
                guard pendingBits >= 8 else { continue }
                pendingBits -= 8
                let byte = UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits))
                pending &= (1 << UInt32(pendingBits)) - 1
                byteCount += 1
                guard byteCount <= Self.randomByteCount else {
                    let expected = byteCount == 11 ? checksum >> 8 : checksum & 0xFF
                    guard UInt16(byte) == expected else { return false }
                    continue
                }
                checksum = CRC16.updated(checksum, with: byte)
            }
            return pending == 0
        }
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "2")...UInt8(ascii: "7"): UInt32(character - UInt8(ascii: "2") + 26)
        default: nil
        }
    }

    private static func string(of bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
        var characters = [UInt8]()
        var pending: UInt32 = 0
        var pendingBits = 0
        func append(_ value: UInt32) {
            if characters.count % 6 == 5 { characters.append(UInt8(ascii: "-")) }
            characters.append(digits[Int(value & 0x1F)])
        }
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            pendingBits += 8
            while pendingBits >= 5 {
                pendingBits -= 5
                append(pending >> UInt32(pendingBits))
            }
        }
        if pendingBits > 0 { append(pending << UInt32(5 - pendingBits)) }
        return String(decoding: characters, as: UTF8.self)
    }
}

extension ActivationCode: CustomStringConvertible {
    /// A placeholder, because a code in a log could be used to activate.
    package var description: String { "<activation code>" }
}
