/// The language of a response.
package enum Language {
    /// The language for readers who ask for none that is available.
    package static let fallback = "en"

    /// Returns the first language of an `Accept-Language` value such as `cs-CZ, en;q=0.8`, if it is available.
    ///
    /// Real servers look at no other: who prefers French to Czech reads English where there is no French. Only the primary
    /// subtag counts. Of equal weights the first wins; `;q=0` excludes.
    static func preferred(_ acceptLanguage: String?, among available: some Collection<String>) -> String {
        let ranges = (acceptLanguage ?? "").utf8.split(separator: UInt8(ascii: ",")).prefix(32).compactMap(self.range)
            .filter { $0.weight > 0 && $0.language != "*" }
        // Not `max`, which returns the last of equal ones.
        let first = ranges.reduce(nil as (language: String, weight: Double)?) { best, range in
            if let best, best.weight >= range.weight { best } else { range }
        }
        guard let language = first?.language, available.contains(language) else { return self.fallback }
        return language
    }

    // By bytes: to a `String`, a comma with a combining mark behind it is no comma.
    private static func range(_ range: Substring.UTF8View) -> (language: String, weight: Double)? {
        let parts = range.split(separator: UInt8(ascii: ";")).map { $0.filter { $0 != 0x20 && $0 != 0x09 } }
        guard let primary = parts.first?.split(separator: UInt8(ascii: "-")).first else { return nil }
        let quality = parts.dropFirst().first { $0.starts(with: "q=".utf8) }?.dropFirst(2)
        let weight = quality.flatMap { Double(String(decoding: $0, as: UTF8.self)) }
        return (String(decoding: primary, as: UTF8.self).lowercased(), weight ?? 1)
    }
}
