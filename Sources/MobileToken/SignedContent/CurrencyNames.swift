import Basics

/// The names of currencies: codes, symbols, and words such as `korun`.
///
/// One symbol may name several currencies: `$` is the dollar of thirty countries. The names are those of ICU, in a table that comes with
/// the package, so that what a text says depends on no machine's version of ICU, and no amount has to be formatted to find it out.
package enum CurrencyNames {
    /// Returns whether a string names the currency in some country.
    package static func isName(_ text: String, of code: String) -> Bool {
        let name = Self.plain(text)
        let code = code.uppercased()
        if name.uppercased().isExactly(code) { return true }
        return Self.table.symbols[code]?.contains(name) == true
            || Self.table.words[name.lowercased()]?.contains(code) == true
    }

    /// Returns whether both strings unambiguously name one currency: one is its code, both are equal, or `name` names no other
    /// currency.
    package static func isName(_ name: String, of code: String, beside other: String) -> Bool {
        guard Self.isName(name, of: code) else { return false }
        let (plain, other) = (Self.plain(name), Self.plain(other))
        if plain == other || [plain, other].contains(where: { $0.uppercased().isExactly(code.uppercased()) }) {
            return true
        }
        return Self.table.homes[plain, default: 0] <= 1
    }

    /// Returns whether a string names any currency.
    ///
    /// - Parameter isBeforeNumber: Before a number, `all` and `try` are words, and only `ALL` and `TRY` are codes.
    static func isName(_ text: String, isBeforeNumber: Bool) -> Bool {
        let name = Self.plain(text)
        if name.unicodeScalars.contains(where: \.isCurrencySign) { return true }
        if Self.table.symbols[isBeforeNumber ? name : name.uppercased()] != nil { return true }
        // A single letter is ambiguous: `5 K`, `Q 4`.
        if name.utf8.count > 1, Self.table.homes[name] != nil { return true }
        return Self.table.words[name.lowercased()] != nil
    }

    /// Returns a name without white space, which varies.
    package static func plain(_ text: String) -> String {
        String(scalars: VisibleText(text).typed.filter { $0 != " " })
    }

    private static let table = Table(parsing: PackageResources.CurrencyNames_txt)
}

/// A line for each currency: its code, its symbols where it is used, its other symbols, and its words.
private struct Table {
    /// The symbols of each currency in all languages and in its own countries.
    private(set) var symbols: [String: Set<String>] = [:]
    /// The number of currencies whose countries write this symbol.
    private(set) var homes: [String: Int] = [:]
    /// The currencies of a word in lower case.
    private(set) var words: [String: Set<String>] = [:]

    init(parsing bytes: [UInt8]) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let columns = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map { column in
                column.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            }
            guard columns.count == 4, let code = columns[0].first else { continue }
            self.symbols[code] = Set(columns[1] + columns[2])
            for symbol in columns[1] { self.homes[symbol, default: 0] += 1 }
            for word in columns[3] { self.words[word, default: []].insert(code) }
        }
    }
}
