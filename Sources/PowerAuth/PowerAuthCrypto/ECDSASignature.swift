/// The two encodings of an ECDSA signature: DER, and r‖s as in JSON web tokens (64 bytes for P-256, 96 for P-384).
package enum ECDSASignature {
    /// Converts r‖s to DER.
    ///
    /// - Throws: `invalidSignatureEncoding` unless there are two coordinates of bytes.
    package static func der(fromRaw raw: [UInt8], curve: NISTCurve = .p256) throws(CryptoError) -> [UInt8] {
        let count = curve.coordinateByteCount
        guard raw.count == 2 * count else { throw CryptoError(.invalidSignatureEncoding) }
        let content = Self.integer(raw[..<count]) + Self.integer(raw[count...])
        return [0x30, UInt8(content.count)] + content  // at most 102 bytes, so the length takes one
    }

    /// Converts DER to r‖s.
    ///
    /// - Throws: `invalidSignatureEncoding` unless the bytes are exactly a sequence of two positive integers in their shortest
    ///   form, each no longer than a coordinate.
    package static func raw(fromDER der: [UInt8], curve: NISTCurve = .p256) throws(CryptoError) -> [UInt8] {
        guard der.count >= 2, der[0] == 0x30, der[1] < 0x80, Int(der[1]) == der.count - 2 else {
            throw CryptoError(.invalidSignatureEncoding)
        }
        var rest = der[2...]
        let r = try Self.takeInteger(from: &rest, byteCount: curve.coordinateByteCount)
        let s = try Self.takeInteger(from: &rest, byteCount: curve.coordinateByteCount)
        guard rest.isEmpty else { throw CryptoError(.invalidSignatureEncoding) }
        return r + s
    }

    /// Returns an INTEGER in its shortest positive form.
    private static func integer(_ number: ArraySlice<UInt8>) -> [UInt8] {
        var digits = [UInt8](number.drop { $0 == 0 })
        if digits.first ?? 0xFF >= 0x80 { digits.insert(0, at: 0) }  // zero is one zero byte
        return [0x02, UInt8(digits.count)] + digits
    }

    private static func takeInteger(
        from rest: inout ArraySlice<UInt8>,
        byteCount: Int
    ) throws(CryptoError) -> [UInt8] {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), (1...(byteCount + 1)).contains(Int(length)),
            rest.count >= length
        else { throw CryptoError(.invalidSignatureEncoding) }
        var digits = rest.prefix(Int(length))
        rest = rest.dropFirst(Int(length))
        if digits.count > 1, digits.first == 0 {
            digits.removeFirst()
            guard let first = digits.first, first >= 0x80 else { throw CryptoError(.invalidSignatureEncoding) }
        } else if let first = digits.first, first >= 0x80 {
            throw CryptoError(.invalidSignatureEncoding)  // negative
        }
        guard digits.count <= byteCount else { throw CryptoError(.invalidSignatureEncoding) }
        return [UInt8](repeating: 0, count: byteCount - digits.count) + digits
    }
}
