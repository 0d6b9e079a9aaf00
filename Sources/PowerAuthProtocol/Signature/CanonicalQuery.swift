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

    private static func decoded(_ text: Substring.UTF8View) throws(Malformed) -> String {
        guard let bytes = PercentEncoding.decodeForm(text) else { throw Malformed() }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func encoded(_ text: String) -> String {
        let encoded = PercentEncoding.encode(text, leaving: "-_.* ")
        return String(decoding: encoded.utf8.map { $0 == UInt8(ascii: " ") ? UInt8(ascii: "+") : $0 }, as: UTF8.self)
    }
}
