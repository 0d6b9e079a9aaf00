import Basics
import ExactJSON
import Foundation
import Synchronization

/// The format of one currency's amounts for one reader, as in real servers: the patterns and symbols of Foundation's ICU,
/// combined as in Java.
///
/// Java groups by three in every locale that groups, writes a code in place of the symbol without an added space, and has neither
/// digits nor a symbol for an unknown currency. A reader with a region sees the region's currency in formatted values: real
/// servers never name the operation's.
///
/// Foundation's ICU is Apple's, which changed three of Unicode's data that Java has: the separator of amounts in Austria, the
/// order of values in French-speaking Switzerland, the width of the Japanese yen.
struct MonetaryFormat: Sendable {
    private let code: String
    private let symbol: String
    /// The minimum number of fraction digits.
    private let minimumDigits: Int
    private let amounts: NumberPattern
    /// The pattern and symbol; `nil` for an unknown currency, whose amount and code stand side by side.
    private let values: (pattern: NumberPattern, symbol: String)?

    private static let cache = Mutex<[Key: Self]>([:])

    private struct Key: Hashable {
        let code: ExactString
        let reader: ReaderLocale
    }

    /// Returns the format of a currency's amounts. Recent formats are cached, because ICU is slow.
    static func of(_ code: String, for reader: ReaderLocale) -> Self {
        let key = Key(code: ExactString(code), reader: reader)
        if let known = self.cache.withLock({ $0[key] }) { return known }
        let format = Self(code, reader)
        self.cache.withLock { cache in
            if cache.count >= 512 { cache = [:] }
            cache[key] = format
        }
        return format
    }

    private init(_ code: String, _ reader: ReaderLocale) {
        let locale = reader.formattingLocale
        self.code = code
        var amounts = NumberPattern(reader) { $0.formatted(Decimal.FormatStyle(locale: locale).attributed) }
        if locale.identifier == "de_AT" { amounts.groupSeparator = "\u{A0}" }
        self.amounts = amounts
        guard Locale.Currency(code).isISOCurrency, code.utf8.allSatisfy(\.isASCIICapital) else {
            (self.symbol, self.minimumDigits, self.values) = (code, 0, nil)
            return
        }
        self.symbol = NumberPattern.symbol(of: code, in: locale)
        self.minimumDigits = Self.digits(of: code)
        // The euro represents any symbol: it is no letter, so ICU adds no space.
        var pattern = NumberPattern(reader) { $0.formatted(.currency(code: "EUR").locale(locale).attributed) }
        if locale.identifier == "fr_CH" { pattern = amounts.withSymbolBehind(decimalSeparator: ".") }
        self.values = (pattern, reader.currency.map { NumberPattern.symbol(of: $0, in: locale) } ?? self.symbol)
    }

    /// Returns the digits of a currency's minor unit. Metals and accounting units, with codes in X, have none; money with that
    /// letter has ICU's.
    private static func digits(of code: String) -> Int {
        let isMoneyOfARegion = code == "XCD" || code.utf8.first != UInt8(ascii: "X")
        return isMoneyOfARegion ? NumberPattern.digits(of: code) : 0
    }

    /// Returns `2199.4` as `2,199.40`.
    func amount(_ number: JavaDecimal) -> String {
        self.amounts.written(number, minimumDigits: self.minimumDigits, symbol: "")
    }

    /// Returns the members that show an amount to a person. A string that is no number is shown unchanged.
    ///
    /// - Parameter name: Makes a member's name from its suffix, such as `AmountFormatted`.
    static func members(_ text: String, _ code: String, for reader: ReaderLocale, _ name: (String) -> String)
        -> JSONObject
    {
        let format = Self.of(code, for: reader)
        var members: JSONObject = [:]
        let number = JavaDecimal(text)
        let amount = number.map(format.amount) ?? text
        if let literal = number.flatMap({ JSONNumber(literal: $0.description) }) {
            members[name("Amount")] = .number(literal)
        }
        members[name("Currency")] = .string(code)
        members[name("AmountFormatted")] = .string(amount)
        members[name("CurrencyFormatted")] = .string(format.symbol)
        let value =
            if let number, let values = format.values {
                values.pattern.written(number, minimumDigits: format.minimumDigits, symbol: values.symbol)
            } else {
                amount + (number == nil ? " " : "\u{A0}") + code
            }
        members[name("ValueFormatted")] = .string(value)
        return members
    }
}

/// A locale's number pattern, derived from two ICU samples.
private struct NumberPattern: Sendable {
    private enum Piece: Sendable, Equatable {
        case text(String)
        case symbol, number
    }

    private var positive: [Piece]
    private var negative: [Piece]
    var groupSeparator: String
    private var decimalSeparator: String
    private let zero: Unicode.Scalar

    init(_ reader: ReaderLocale, _ sample: (Decimal) -> AttributedString) {
        let number: Decimal = 1_234_567.5
        let text = sample(number)
        self.positive = Self.pieces(of: text, reader)
        self.negative = Self.pieces(of: sample(-number), reader)
        self.groupSeparator = Self.text(in: text) { $0 == .groupingSeparator } ?? ""
        self.decimalSeparator = Self.text(in: text) { $0 == .decimalSeparator } ?? "."
        let digit = text.runs.first { $0.numberPart == .integer && $0.numberSymbol == nil }
            .flatMap { text[$0.range].unicodeScalars.first }
        // The first digit of the sample is a one.
        self.zero = digit.flatMap { Unicode.Scalar($0.value - 1) } ?? "0"
    }

    private static func text(
        in text: AttributedString,
        where isWanted: (AttributeScopes.FoundationAttributes.NumberFormatAttributes.SymbolAttribute.Symbol?) -> Bool
    ) -> String? {
        text.runs.first { isWanted($0.numberSymbol) }.map { String(text[$0.range].characters) }
    }

    private static func pieces(of text: AttributedString, _ reader: ReaderLocale) -> [Piece] {
        var pieces: [Piece] = []
        for run in text.runs {
            switch (run.numberSymbol, run.numberPart) {
            case (.currency?, _): pieces.append(.symbol)
            case (.groupingSeparator?, _), (.decimalSeparator?, _), (_, .some):
                if pieces.last != .number { pieces.append(.number) }
            default: pieces.append(.text(reader.withoutMarks(String(text[run.range].characters))))
            }
        }
        return pieces
    }

    /// Returns this pattern's digits followed by the symbol.
    func withSymbolBehind(decimalSeparator: String) -> Self {
        var pattern = self
        pattern.positive += [.text("\u{A0}"), .symbol]
        pattern.negative += [.text("\u{A0}"), .symbol]
        pattern.decimalSeparator = decimalSeparator
        return pattern
    }

    func written(_ number: JavaDecimal, minimumDigits: Int, symbol: String) -> String {
        let digits = number.digits(behindSeparator: minimumDigits...18)
        let written =
            self.grouped(digits.integer)
            + (digits.fraction.isEmpty ? "" : self.decimalSeparator + self.localized(digits.fraction))
        return (number.isNegative ? self.negative : self.positive).map { piece in
            switch piece {
            case .text(let text): text
            case .symbol: symbol
            case .number: written
            }
        }.joined()
    }

    private func grouped(_ digits: [UInt8]) -> String {
        let starts = [0] + Array(stride(from: (digits.count - 1) % 3 + 1, to: digits.count, by: 3))
        return zip(starts, starts.dropFirst() + [digits.count]).map { self.localized(digits[$0..<$1]) }
            .joined(separator: self.groupSeparator)
    }

    private func localized(_ digits: some Sequence<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        for digit in digits {
            if let scalar = Unicode.Scalar(self.zero.value + UInt32(digit - UInt8(ascii: "0"))) { text.append(scalar) }
        }
        return String(text)
    }

    /// Returns a currency's symbol with the direction marks around it.
    static func symbol(of code: String, in locale: Locale) -> String {
        let isYenAtHome = code == "JPY" && locale.identifier.utf8.starts(with: "ja".utf8)
        let style = Decimal.FormatStyle.Currency(code: code, locale: locale).presentation(
            isYenAtHome ? .narrow : .standard
        )
        let text = (0 as Decimal).formatted(style.attributed)
        let runs = text.runs.map { ($0.numberSymbol, String(text[$0.range].characters)) }
        guard let index = runs.firstIndex(where: { $0.0 == .currency }) else { return code }
        let marks = runs[(index + 1)...].first.map { next in
            next.0 == nil && next.1.unicodeScalars.allSatisfy(\.properties.isBidiControl) ? next.1 : ""
        }
        return runs[index].1 + (marks ?? "")
    }

    /// Returns the number of a currency's fraction digits.
    static func digits(of code: String) -> Int {
        let text = (0 as Decimal).formatted(.currency(code: code).locale(Locale(identifier: "en")).attributed)
        return text.runs.first { $0.numberPart == .fraction }.map { text[$0.range].characters.count } ?? 0
    }
}
