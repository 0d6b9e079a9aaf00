import Basics
import Foundation
import Synchronization

/// The names of currencies, from the ICU tables: codes, symbols, and words such as `korun`.
///
/// One symbol may name several currencies: `$` is the dollar of thirty countries.
package enum CurrencyNames {
    /// Returns whether a string names the currency in some country.
    package static func isName(_ text: String, of code: String) -> Bool {
        let name = Self.plain(text)
        let code = code.uppercased()
        if name.uppercased().isExactly(code) { return true }
        guard Self.codes.contains(code) else { return false }
        return Self.symbols(of: code).contains(name) || Self.words[name.lowercased()]?.contains(code) == true
    }

    /// Returns whether both strings unambiguously name one currency: one is its code, both are equal, or `name` names no other
    /// currency.
    package static func isName(_ name: String, of code: String, beside other: String) -> Bool {
        guard Self.isName(name, of: code) else { return false }
        let (plain, other) = (Self.plain(name), Self.plain(other))
        if plain == other || [plain, other].contains(where: { $0.uppercased().isExactly(code.uppercased()) }) {
            return true
        }
        return (Self.homes.codes[plain]?.count ?? 0) <= 1
    }

    /// Returns whether a string names any currency.
    ///
    /// - Parameter isBeforeNumber: Before a number, `all` and `try` are words, and only `ALL` and `TRY` are codes.
    static func isName(_ text: String, isBeforeNumber: Bool) -> Bool {
        let name = Self.plain(text)
        if name.unicodeScalars.contains(where: \.isCurrencySign) { return true }
        if Self.codes.contains(isBeforeNumber ? name : name.uppercased()) { return true }
        // A single letter is ambiguous: `5 K`, `Q 4`.
        if name.utf8.count > 1, Self.homes.codes[name] != nil { return true }
        return Self.words[name.lowercased()] != nil
    }

    /// Returns a name without white space, which varies.
    private static func plain(_ text: String) -> String {
        String(String.UnicodeScalarView(VisibleText(text).typed.filter { $0 != " " }))
    }

    // MARK: Tables

    private static let codes = Set(Locale.Currency.isoCurrencies.map { $0.identifier.uppercased() })

    /// The languages, without their regions.
    private static let languages = Locale.availableIdentifiers.filter { !$0.contains("_") }.map(
        Locale.init(identifier:)
    )

    /// All countries, each with its most common written language. More languages would take too long to load.
    private static let countries = Locale.Region.isoRegions.filter { $0.identifier.utf8.count == 2 }.map { region in
        Locale(identifier: Locale.Language(languageCode: nil, script: nil, region: region).maximalIdentifier)
    }

    /// The currencies of all countries: symbols used there, and locales by currency.
    private static let homes: (codes: [String: Set<String>], locales: [String: [Locale]]) = {
        var codes: [String: Set<String>] = [:]
        var locales: [String: [Locale]] = [:]
        for locale in Self.countries {
            guard let code = locale.currency?.identifier, let symbol = locale.currencySymbol else { continue }
            codes[Self.plain(symbol), default: []].insert(code)
            locales[code, default: []].append(locale)
        }
        codes[""] = nil
        return (codes, locales)
    }()

    /// Each language's words for its countries' currencies, the euro and the dollar, by plural form.
    private static let words: [String: Set<String>] = {
        var words: [String: Set<String>] = [:]
        for language in Set(Self.countries.compactMap(\.language.languageCode)) {
            let locale = Locale(identifier: Locale.Language(languageCode: language).maximalIdentifier)
            let home = locale.currency.map { [($0.identifier, 1), ($0.identifier, 2), ($0.identifier, 5)] } ?? []
            let names = home + [("EUR", 5), ("USD", 5)] + (language == .english ? [("GBP", 5)] : [])
            for (code, count) in names {
                let format = Decimal.FormatStyle.Currency(code: code).presentation(.fullName)
                let name = Decimal(count).formatted(format.precision(.fractionLength(0)).locale(locale))
                for word in name.split(whereSeparator: { !$0.isLetter }) where word.utf8.count > 2 {
                    words[Self.plain(String(word)).lowercased(), default: []].insert(code)
                }
            }
        }
        return words
    }()

    private static let knownSymbols = Mutex<[String: Set<String>]>([:])

    /// The symbols of a currency in all languages and in its own countries.
    private static func symbols(of code: String) -> Set<String> {
        if let known = Self.knownSymbols.withLock({ $0[code] }) { return known }
        let format = Decimal.FormatStyle.Currency(code: code).precision(.fractionLength(0))
        let texts = (Self.languages + (Self.homes.locales[code] ?? [])).map { locale in
            Self.plain(String(Self.plain((0 as Decimal).formatted(format.locale(locale))).filter { $0 != "0" }))
        }
        let symbols = Set(texts).subtracting([""])
        Self.knownSymbols.withLock { $0[code] = symbols }
        return symbols
    }
}
