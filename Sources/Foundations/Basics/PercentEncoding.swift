/// Percent-encoding of URL parts and forms, which encode a space as a plus sign.
public enum PercentEncoding {
    /// Encodes all bytes except ASCII letters, digits, and those in `plain`.
    ///
    /// - Parameter plain: Further characters to keep. Default: RFC 3986's unreserved ones.
    public static func encode(_ text: String, leaving plain: String = "-._~") -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            if byte.isASCIILetterOrDigit || plain.utf8.contains(byte) { return [byte] }
            return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Decodes a part of a form; `nil` for a percent sign without two hexadecimal digits.
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
