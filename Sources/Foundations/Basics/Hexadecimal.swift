/// Bytes as pairs of hexadecimal digits.
public enum Hexadecimal {
    /// Returns the digits of `bytes` in lower case.
    public static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
            for (index, byte) in bytes.enumerated() {
                digits[2 * index] = self.digit(byte >> 4)
                digits[2 * index + 1] = self.digit(byte & 15)
            }
            return 2 * bytes.count
        }
    }

    /// Returns the digit of a number below 16.
    public static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
    }

    /// Decodes `string`; `nil` for invalid digits. Lower case only, so that the encoding is unique.
    public static func decode(_ string: String) -> [UInt8]? {
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
