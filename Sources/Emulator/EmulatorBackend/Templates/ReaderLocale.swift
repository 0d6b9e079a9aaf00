import Basics
import Foundation

/// The language of a reader, with optional script and region.
package struct ReaderLocale: Hashable, Sendable {
    /// The default language without a header, and the fallback of texts.
    package static let english = Self(tag: "en")

    /// The language; empty if unreadable.
    package private(set) var language = ""
    private var script: String?
    private var region: String?

    /// Reads the preferred language of an `Accept-Language` field as Tomcat and Java do; English without the field or an
    /// acceptable language.
    package init(acceptLanguage: String?) {
        var best: (tag: Substring, weight: Double)?
        // By bytes: to a `String`, a comma followed by a combining mark is no comma.
        for range in (acceptLanguage ?? "").utf8.split(separator: UInt8(ascii: ",")).prefix(32) {
            let parts = range.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false).map(Self.trimmed)
            guard let tag = parts.first, !tag.isEmpty, let weight = Self.weight(parts.dropFirst().first),
                weight > best?.weight ?? 0
            else { continue }
            best = (Substring(tag), weight)
        }
        self = best.map { Self(tag: $0.tag) } ?? .english
    }

    /// Reads a tag such as `zh-Hant-TW` up to its first invalid part.
    package init(tag: some StringProtocol) {
        var parts = tag.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }[...]
        guard let language = parts.popFirst(), (2...8).contains(language.utf8.count),
            language.utf8.allSatisfy(\.isASCIILetter)
        else { return }
        self.language = language.lowercased()
        if let script = parts.first, script.utf8.count == 4, script.utf8.allSatisfy(\.isASCIILetter) {
            self.script = script.prefix(1).uppercased() + script.dropFirst().lowercased()
            parts.removeFirst()
        }
        if let region = parts.first,
            region.utf8.count == 2 && region.utf8.allSatisfy(\.isASCIILetter)
                || region.utf8.count == 3 && region.utf8.allSatisfy(\.isASCIIDigit)
        {
            self.region = region.uppercased()
        }
    }

    private static func trimmed(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    /// Returns a weight from 0 to 1, by default 1; `nil` if it is unreadable.
    private static func weight(_ parameter: Substring.UTF8View?) -> Double? {
        guard let parameter else { return 1 }
        guard parameter.starts(with: "q=".utf8) || parameter.starts(with: "Q=".utf8) else { return nil }
        let digits = parameter.dropFirst(2)
        guard digits.allSatisfy({ $0.isASCIIDigit || $0 == UInt8(ascii: ".") }),
            let weight = Double(String(decoding: digits, as: UTF8.self)), weight <= 1
        else { return nil }
        return weight
    }

    /// The languages with data in ICU.
    private static let known = Set(
        Locale.availableIdentifiers.compactMap { $0.split(separator: "_").first.map(String.init) }
    )

    /// The locale for numbers. Java writes Arabic without a region with the language's digits, ICU with English ones.
    var formattingLocale: Locale {
        guard Self.known.contains(self.language) else { return Locale(identifier: "root") }
        if self.isArabicOfNoRegion { return Locale(identifier: "ar-u-nu-arab") }
        return Locale(identifier: [self.language, self.script, self.region].compactMap(\.self).joined(separator: "_"))
    }

    /// Removes direction marks before numbers in Arabic without a region, which Java's data lack and newer ones have.
    func withoutMarks(_ text: String) -> String {
        guard self.isArabicOfNoRegion else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\u{200F}" }))
    }

    private var isArabicOfNoRegion: Bool { self.language == "ar" && self.script == nil && self.region == nil }

    /// The region's currency; `nil` without one.
    var currency: String? { self.region.flatMap { Locale(identifier: "und_\($0)").currency?.identifier } }
}
