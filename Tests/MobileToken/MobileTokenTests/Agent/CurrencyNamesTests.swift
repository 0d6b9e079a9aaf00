import Foundation
import SignedContent
import Testing

/// Finds the names of currencies by formatting amounts in all languages, which is too slow for a program that reads texts.
@Suite struct CurrencyNamesTests {
    private static let table = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../../../Sources/MobileToken/SignedContent/CurrencyNames.txt").standardized

    /// Compares the table with the ICU of this toolchain, which renames a few currencies each year; `KEEP_CURRENCY_NAMES=1` writes it
    /// anew.
    @Test func theTableHasTheNamesOfICU() throws {
        let lines = self.lines()
        if ProcessInfo.processInfo.environment["KEEP_CURRENCY_NAMES"] != nil {
            try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: Self.table)
        }
        func names(_ lines: [String]) -> Set<String> {
            Set(lines.flatMap { line in line.split { $0 == "\t" || $0 == " " }.map { line.prefix(3) + " " + $0 } })
        }
        let kept = names(try String(contentsOf: Self.table, encoding: .utf8).split(separator: "\n").map(String.init))
        let missing = names(lines).subtracting(kept)
        #expect(missing.count * 50 < kept.count, "\(missing.sorted())")
    }

    @Test(arguments: [
        ("korun", "CZK"), ("Kč", "CZK"), ("Kc", "CZK"), ("euros", "EUR"), ("€", "EUR"), ("US$", "USD"),
        ("złotych", "PLN"),
        ("ユーロ", "EUR"), ("KRW", "krw"),
    ])
    func namesAreFound(name: String, code: String) { #expect(CurrencyNames.isName(name, of: code)) }

    @Test(arguments: [("korun", "EUR"), ("", "EUR"), ("of", "USD"), ("forint", "CZK"), ("€", "CZK"), ("€", "XYZ")])
    func otherNamesAreNot(name: String, code: String) { #expect(!CurrencyNames.isName(name, of: code)) }

    // MARK: ICU

    private func lines() -> [String] {
        let languages = Locale.availableIdentifiers.filter { !$0.contains("_") }.map(Locale.init(identifier:))
        // Each country in its most common written language.
        let countries = Locale.Region.isoRegions.filter { $0.identifier.utf8.count == 2 }.map { region in
            Locale(identifier: Locale.Language(languageCode: nil, script: nil, region: region).maximalIdentifier)
        }
        let homes = Dictionary(grouping: countries) { $0.currency?.identifier ?? "" }
        let words = Self.words(in: Set(countries.compactMap(\.language.languageCode)))
        return Set(Locale.Currency.isoCurrencies.map { $0.identifier.uppercased() }).sorted().map { code in
            let own = Set(homes[code, default: []].compactMap(\.currencySymbol).map(CurrencyNames.plain))
            let format = Decimal.FormatStyle.Currency(code: code).precision(.fractionLength(0))
            let all = (languages + homes[code, default: []]).map { locale in
                CurrencyNames.plain((0 as Decimal).formatted(format.locale(locale))).filter { $0 != "0" }
            }
            let columns = [own, Set(all.map(CurrencyNames.plain)).subtracting(own), words[code, default: []]]
            return ([code] + columns.map { $0.subtracting([""]).sorted().joined(separator: " ") })
                .joined(separator: "\t")
        }
    }

    /// Each language's words for its country's currency, the euro and the dollar, by plural form.
    private static func words(in languages: Set<Locale.LanguageCode>) -> [String: Set<String>] {
        var words: [String: Set<String>] = [:]
        for language in languages {
            let locale = Locale(identifier: Locale.Language(languageCode: language).maximalIdentifier)
            let home = locale.currency.map { [($0.identifier, 1), ($0.identifier, 2), ($0.identifier, 5)] } ?? []
            for (code, count) in home + [("EUR", 5), ("USD", 5)] + (language == .english ? [("GBP", 5)] : []) {
                let format = Decimal.FormatStyle.Currency(code: code).presentation(.fullName)
                let name = Decimal(count).formatted(format.precision(.fractionLength(0)).locale(locale))
                for word in name.split(whereSeparator: { !$0.isLetter }) where word.utf8.count > 2 {
                    words[code, default: []].insert(CurrencyNames.plain(String(word)).lowercased())
                }
            }
        }
        return words
    }
}
