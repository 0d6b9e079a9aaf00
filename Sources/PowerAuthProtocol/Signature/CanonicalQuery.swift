import Basics

/// The canonical form of a URL's query, which both sides sign whatever order and encoding it was sent in.
package enum CanonicalQuery {
    /// The error for a percent sign without two hexadecimal digits after it. Servers refuse such a request.
    package struct Malformed: Error, Equatable {
        package init() {}
    }

    /// Returns the canonical form of `query`.
    ///
    /// Split at `&`; pairs without `=` are dropped; each is split at its first `=`, form-decoded (a plus is a space; bytes
    /// that are not UTF-8 become U+FFFD), sorted by key, then value, in the order of UTF-16 code units, and written again:
    /// letters, digits and `-_.*` as they are, a space as `+`, all else percent-encoded. Without pairs, it is empty.
    package static func string(of query: String?) throws(Malformed) -> String {
        var pairs: [(key: String, value: String)] = []
        for pair in (query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = try Self.decoded(pair[..<equals])
            let value = try Self.decoded(pair[pair.index(after: equals)...])
            pairs.append((key, value))
        }
        pairs.sort { one, other in
            if one.key.utf16.elementsEqual(other.key.utf16) {
                return one.value.utf16.lexicographicallyPrecedes(other.value.utf16)
            }
            return one.key.utf16.lexicographicallyPrecedes(other.key.utf16)
        }
        return pairs.map { "\(Self.encoded($0.key))=\(Self.encoded($0.value))" }.joined(separator: "&")
    }

    private static func decoded(_ string: Substring.UTF8View) throws(Malformed) -> String {
        var bytes = [UInt8]()
        var rest = string
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                    throw Malformed()
                }
                bytes.append(high << 4 | low)
            default:
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func encoded(_ string: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes = [UInt8]()
        for byte in string.utf8 {
            switch byte {
            case _ where byte.isASCIILetterOrDigit || "-_.*".utf8.contains(byte):
                bytes.append(byte)
            case UInt8(ascii: " "):
                bytes.append(UInt8(ascii: "+"))
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
