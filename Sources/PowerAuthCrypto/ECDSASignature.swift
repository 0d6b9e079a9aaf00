/// The two spellings of an ECDSA signature over P-256: DER, and the 64 bytes r‖s of JSON web tokens.
package enum ECDSASignature {
    private static let numberByteCount = 32

    /// DER from r‖s.
    ///
    /// - Throws: `invalidSignatureEncoding` when there are not 64 bytes.
    package static func der(fromRaw raw: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard raw.count == 2 * Self.numberByteCount else { throw CryptoError(.invalidSignatureEncoding) }
        let content =
            Self.integer(raw[..<Self.numberByteCount]) + Self.integer(raw[Self.numberByteCount...])
        return [0x30, UInt8(content.count)] + content
    }

    /// r‖s from DER.
    ///
    /// - Throws: `invalidSignatureEncoding` when the bytes are not a sequence of two positive integers of at most 32 bytes,
    ///   each in its shortest form, with nothing after them.
    package static func raw(fromDER der: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard der.count >= 2, der[0] == 0x30, der[1] < 0x80, Int(der[1]) == der.count - 2 else {
            throw CryptoError(.invalidSignatureEncoding)
        }
        var rest = der[2...]
        let r = try Self.takeInteger(from: &rest)
        let s = try Self.takeInteger(from: &rest)
        guard rest.isEmpty else { throw CryptoError(.invalidSignatureEncoding) }
        return r + s
    }

    /// An INTEGER: no leading zero bytes but the one that keeps it positive.
    private static func integer(_ number: ArraySlice<UInt8>) -> [UInt8] {
        var digits = [UInt8](number.drop { $0 == 0 })
        if digits.first ?? 0xFF >= 0x80 { digits.insert(0, at: 0) }  // zero is one zero byte
        return [0x02, UInt8(digits.count)] + digits
    }

    private static func takeInteger(from rest: inout ArraySlice<UInt8>) throws(CryptoError) -> [UInt8] {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), (1...33).contains(length), rest.count >= length
        else { throw CryptoError(.invalidSignatureEncoding) }
        var digits = rest.prefix(Int(length))
        rest = rest.dropFirst(Int(length))
        if digits.count > 1, digits.first == 0 {
            digits.removeFirst()
            guard let first = digits.first, first >= 0x80 else { throw CryptoError(.invalidSignatureEncoding) }
        } else if let first = digits.first, first >= 0x80 {
            throw CryptoError(.invalidSignatureEncoding)  // negative
        }
        guard digits.count <= Self.numberByteCount else { throw CryptoError(.invalidSignatureEncoding) }
        return [UInt8](repeating: 0, count: Self.numberByteCount - digits.count) + digits
    }
}
