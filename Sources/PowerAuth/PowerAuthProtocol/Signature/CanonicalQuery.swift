import Basics

/// The canonical form of a URL query, which both sides sign whatever its order and encoding.
package enum CanonicalQuery {
    /// A percent sign without two hexadecimal digits. Servers refuse the request.
    package struct Malformed: Error, Equatable {
        package init() {}
    }

    /// Returns the canonical form of `query`. The query is split at `&`. Pairs without `=` are dropped, others split at the first
    /// `=` and form-decoded (a plus is a space; invalid UTF-8 becomes U+FFFD). They are sorted by key, then value, as UTF-16 code
    /// units, and encoded: letters, digits and `-_.*` stay, a space becomes `+`, all else is percent-encoded. Empty without
    /// pairs.
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
