/// Text as parts of a URL, and of forms, which write a space as a plus sign.
public enum PercentEncoding {
    /// Returns `text` with all of its bytes encoded but ASCII letters, digits, and those of `plain`.
    ///
    /// - Parameter plain: The other characters that stay as they are; by default those that RFC 3986 leaves unreserved.
    public static func encode(_ text: String, leaving plain: String = "-._~") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            if byte.isASCIILetterOrDigit || plain.utf8.contains(byte) { return [byte] }
            return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the bytes that a part of a form stands for.
    ///
    /// - Returns: `nil` for a percent sign without two hexadecimal digits after it.
    public static func decodeForm(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.next()?.hexadecimalValue, let low = rest.next()?.hexadecimalValue else {
                    return nil
                }
                bytes.append(high << 4 | low)
            default:
                bytes.append(byte)
            }
        }
        return bytes
    }
}
