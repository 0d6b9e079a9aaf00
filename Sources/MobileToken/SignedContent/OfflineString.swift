/// The escapes of offline strings: `\n`, `\\`, and the escaped separator. One pass from left to right reads them; any other
/// backslash is literal.
package enum OfflineString {
    /// Returns the parts between unescaped separators, with their escapes.
    static func split(_ bytes: ArraySlice<UInt8>, at separator: UInt8) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = bytes.startIndex
        var index = start
        while index < bytes.endIndex {
            if bytes[index] == separator {
                parts.append(bytes[start..<index])
                start = index + 1
            } else if self.escape(in: bytes, at: index, separator: separator) != nil {
                index += 1
            }
            index += 1
        }
        return parts + [bytes[start...]]
    }

    /// Returns the string without escapes.
    package static func unescaped(_ bytes: ArraySlice<UInt8>, separator: UInt8?) -> String {
        var text: [UInt8] = []
        var index = bytes.startIndex
        while index < bytes.endIndex {
            if let character = self.escape(in: bytes, at: index, separator: separator) {
                text.append(character)
                index += 2
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the byte for the escape at an index; nil if there is none.
    private static func escape(in bytes: ArraySlice<UInt8>, at index: Int, separator: UInt8?) -> UInt8? {
        guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.endIndex else { return nil }
        switch bytes[index + 1] {
        case UInt8(ascii: "n"): return UInt8(ascii: "\n")
        case UInt8(ascii: "\\"): return UInt8(ascii: "\\")
        case separator: return separator
        default: return nil
        }
    }
}
