/// Bytes as hexadecimal digits, two for each byte.
package enum Hexadecimal {
    /// Returns the digits of `bytes`, in lower case.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns the bytes that `string` has the digits of, or `nil` when it has anything else. Lower case only, so that there is
    /// one string for each sequence of bytes.
    package static func decode(_ string: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var digits = string.utf8[...]
        while let high = digits.popFirst() {
            guard let low = digits.popFirst(), !high.isASCIICapital, !low.isASCIICapital,
                let high = high.hexadecimalValue, let low = low.hexadecimalValue
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
