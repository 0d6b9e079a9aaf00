import Basics
package import PowerAuthCrypto

/// An activation code, which a server hands out for one activation, such as `W65WE-3T7VI-7FBS2-A4OYA`.
///
/// Ten random bytes and their CRC-16/ARC (big-endian) in Base32 without padding, as four groups of five joined by `-`. A QR
/// code holds `CODE#SIGNATURE`, where the signature is ECDSA (DER, Base64) by the application's master key over the code with
/// its dashes.
package struct ActivationCode: Sendable, Hashable {
    /// The code, four groups of five letters and digits.
    package let code: String
    /// The signature, in DER, when the code came with one. Verify it before using the code.
    package let signature: [UInt8]?

    /// The reason why a string is no activation code.
    package struct ParsingError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The reason in words.
        package let description: String

        /// The part before `#` is not four groups of five characters of Base32, or its checksum is wrong.
        package static let invalidCode = Self(description: "the activation code is malformed or mistyped")
        /// The part after `#` is not Base64, or empty.
        package static let invalidSignature = Self(description: "the signature of the activation code is not Base64")
    }

    /// Reads a code, alone or with its signature as in a QR code.
    ///
    /// Nothing is trimmed or uppercased: do so first with what people typed.
    package init(parsing string: String) throws(ParsingError) {
        // By bytes: a `#` with a combining mark behind it is no `#` to a `String`.
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

    /// Creates a code from ten random bytes, signed by the master key of the version that the activation will have: P-256
    /// for version 3, P-384 for version 4.
    package init<Curve>(randomBytes: [UInt8], signedBy masterKey: ECPrivateKey<Curve>?) throws(CryptoError) {
        self.code = try Self(randomBytes: randomBytes).code
        self.signature = try masterKey?.derSignature(for: Array(self.code.utf8))
    }

    /// The content of a QR code: the code, and the signature after `#` when there is one.
    package var qrCodeContent: String {
        self.signature.map { "\(self.code)#\(Base64.encode($0))" } ?? self.code
    }

    /// Returns whether the code has a valid signature by the master key of the application; `false` without a signature.
    package func isSigned<Curve>(by masterKey: ECPublicKey<Curve>) -> Bool {
        guard let signature else { return false }
        return masterKey.isValid(derSignature: signature, for: Array(self.code.utf8))
    }

    /// The number of random bytes in a code.
    package static let randomByteCount = 10

    /// Returns whether `string` is an activation code without signature: its form, its spare bits, which must be zero, and
    /// its checksum. Of the 16 strings that differ in the spare bits alone, one is the code that the server knows.
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
    /// A placeholder: anyone who reads a code in a log could activate with it.
    package var description: String { "<activation code>" }
}
