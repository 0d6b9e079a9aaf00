/// Which language an answer is written in.
package enum Language {
    /// What a reader gets who asks for nothing we have.
    package static let fallback = "en"

    /// The best of the available languages for an `Accept-Language` value such as `cs-CZ, en;q=0.8`.
    ///
    /// Only the primary subtag counts. Of equal weights the first wins; `;q=0` excludes.
    static func preferred(_ acceptLanguage: String?, among available: some Collection<String>) -> String {
        let ranges = (acceptLanguage ?? "").split(separator: ",").prefix(32).compactMap(self.range)
        // A stable order: `sorted` does not promise one.
        let ordered = ranges.enumerated().sorted { ($1.element.weight, $0.offset) < ($0.element.weight, $1.offset) }
        for (_, range) in ordered where range.weight > 0 {
            if range.language == "*" { break }
            if available.contains(range.language) { return range.language }
        }
        return self.fallback
    }

    private static func range(_ text: Substring) -> (language: String, weight: Double)? {
        let parts = text.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
        guard let tag = parts.first, let primary = tag.split(separator: "-").first else { return nil }
        let quality = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
        return (primary.lowercased(), quality.flatMap { Double($0) } ?? 1)
    }
}
