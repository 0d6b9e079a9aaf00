package import Foundation

package struct SignedAmount {
    package let amount: Decimal
    package let currency: String

    init?(_ field: DataField) {
        guard case .amount(let amount, let currency, _) = field else { return nil }
        (self.amount, self.currency) = (amount, currency)
    }
}

/// The amounts of money in a string for people, in any notation.
struct ShownMoney {
    /// The numbers that look like money, with adjacent currency names.
    let mentions: [Mention]

    struct Mention {
        fileprivate let number: WrittenNumber
        fileprivate let currencies: [String]

        /// Returns whether the string has this amount, in some usual reading. A minus may mark the direction of a payment.
        func isShown(_ signed: SignedAmount) -> Bool {
            (self.number.stands(for: signed.amount) || self.number.stands(for: -signed.amount))
                && self.currencies.allSatisfy { CurrencyNames.isName($0, of: signed.currency) }
        }
    }

    init(in text: VisibleText) {
        var mentions: [Mention] = []
        let scalars = text.signs.hasDigit ? text.scalars : []
        var position = 0
        while let start = scalars[position...].firstIndex(where: \.isDigit) {
            let end = Self.endOfNumber(in: scalars, from: start)
            if let mention = Self.mention(in: scalars, start..<end) { mentions.append(mention) }
            position = end
        }
        self.mentions = mentions
    }

    /// Returns the end of a run of digits with at most one mark between two of them.
    private static func endOfNumber(in scalars: [Unicode.Scalar], from start: Int) -> Int {
        var end = start
        while end < scalars.count {
            let isMark = scalars[end].isNumberMark && end + 1 < scalars.count && scalars[end + 1].isDigit
            guard scalars[end].isDigit || isMark else { break }
            end += 1
        }
        return end
    }

    private static func mention(in scalars: [Unicode.Scalar], _ range: Range<Int>) -> Mention? {
        // The bank code of a Czech account.
        if range.count == 4, range.lowerBound > 0, scalars[range.lowerBound - 1] == "/" { return nil }
        let number = Array(scalars[range])
        let (before, after) = (
            Neighbor(before: range.lowerBound, in: scalars), Neighbor(after: range.upperBound, in: scalars)
        )
        let currencies = [before, after].compactMap(\.currency)
        guard !currencies.isEmpty else {
            guard before.isApart, after.isApart, WrittenNumber.looksLikeMoney(number) else { return nil }
            return Mention(number: WrittenNumber(number), currencies: [])
        }
        guard !before.isMultiplied, !after.isMultiplied else {
            return Mention(number: WrittenNumber([]), currencies: currencies)
        }
        // Two letters before a number may have any meaning, as in the reference `RF18 5390 0754 7034`.
        if after.currency == nil, before.isShort, WrittenNumber(number).readings.isEmpty { return nil }
        return Mention(
            number: Self.number(nearest: after.currency != nil ? .end : .start, of: number),
            currencies: currencies
        )
    }

    private enum Side { case start, end }

    /// Returns the longest number at one end of digits with spaces: of `2026 1 949`, it is 1949.
    private static func number(nearest side: Side, of digits: [Unicode.Scalar]) -> WrittenNumber {
        let all = digits.split(separator: " ")
        let groups = side == .end ? all.suffix(20) : Array(all.prefix(20))[...]
        for count in 0..<groups.count {
            let number = WrittenNumber(
                (side == .end ? groups.dropFirst(count) : groups.dropLast(count)).joined(separator: [" "])
            )
            guard number.readings.isEmpty else { return number }
            // A group that begins with a zero continues the one before it.
            if groups.dropFirst(count).first?.first == "0" { return number }
        }
        return WrittenNumber([])
    }
}

/// The word beside a number.
private struct Neighbor {
    private(set) var currency: String?
    /// Indicates whether the currency's name is two letters.
    var isShort: Bool {
        self.currency.map { $0.utf8.count <= 2 && $0.utf8.allSatisfy { $0 != UInt8(ascii: "$") } } ?? false
    }
    /// Indicates whether a word such as `million` is between them.
    private(set) var isMultiplied = false
    /// Indicates whether the number stands alone, outside a name, a version or a telephone number.
    private(set) var isApart = true

    init(after end: Int, in scalars: [Unicode.Scalar]) {
        var rest = scalars[end...]
        if let next = rest.first { self.isApart = !next.isWordPart && !next.isDash && next != "/" && next != ":" }
        // `20,- Kč`
        if let first = rest.first, first == "," || first == ".", rest.dropFirst().first?.isDash == true {
            rest = rest.dropFirst().drop(while: \.isDash)
        }
        rest = rest.drop { $0 == " " || $0 == "(" || $0 == "[" }
        let word = Self.word(in: rest)
        self.take(word) { Self.word(in: rest.dropFirst(word.count).drop { $0 == " " || $0 == "." }) }
    }

    init(before start: Int, in scalars: [Unicode.Scalar]) {
        let rest = Array(scalars[..<start].suffix(64).reversed())[...]
        if let next = rest.first { self.isApart = !next.isWordPart && next != "/" && next != "+" && next != "#" }
        let isBetween: (Unicode.Scalar) -> Bool = {
            $0 == " " || $0 == ":" || $0 == "=" || $0 == "(" || $0 == ")" || $0.isDash
        }
        let word = Array(Self.word(in: rest.drop(while: isBetween)).reversed())
        self.take(word, isBeforeNumber: true) { [] }
    }

    private mutating func take(
        _ word: [Unicode.Scalar],
        isBeforeNumber: Bool = false,
        next: () -> [Unicode.Scalar]
    ) {
        self.currency = Self.currency(in: word, isBeforeNumber)
        guard self.currency == nil, !isBeforeNumber, Self.isMultiplier(word) else { return }
        self.currency = Self.currency(in: next(), isBeforeNumber)
        self.isMultiplied = self.currency != nil
    }

    /// Returns the leading letters and signs.
    private static func word(in scalars: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar] {
        Array(scalars.prefix { $0.isWordPart || $0 == "." || $0 == "\u{2BB}" }.prefix(24))
    }

    /// Returns a currency's name: the whole word, its part with a currency sign, or three capitals attached to others.
    private static func currency(in word: [Unicode.Scalar], _ isBeforeNumber: Bool) -> String? {
        var word = word
        while word.last == ".", isBeforeNumber ? false : !Self.isName(word, isBeforeNumber) { word.removeLast() }
        while isBeforeNumber, word.first == "." { word.removeFirst() }
        guard !word.isEmpty else { return nil }
        if Self.isName(word, isBeforeNumber) { return Self.string(word) }
        let glued = isBeforeNumber ? Array(word.suffix(3)) : Array(word.prefix(3))
        let isOfCapitals = glued.allSatisfy { "A"..."Z" ~= $0 }
        return isOfCapitals && Self.isName(glued, isBeforeNumber) ? Self.string(glued) : nil
    }

    private static func isName(_ word: [Unicode.Scalar], _ isBeforeNumber: Bool) -> Bool {
        CurrencyNames.isName(Self.string(word), isBeforeNumber: isBeforeNumber)
    }

    private static func string(_ scalars: [Unicode.Scalar]) -> String { String(scalars: scalars) }

    /// The stems and abbreviations of words for thousands and more.
    private static let multipliers = [
        "thousand", "tis", "tsd", "tys", "mil", "mio", "mln", "mrd", "mld", "bil", "lakh", "crore", "тис", "тыс", "млн",
        "млрд", "мил",
    ]

    private static func isMultiplier(_ word: [Unicode.Scalar]) -> Bool {
        guard !word.isEmpty else { return false }
        let text = Self.string(word).lowercased()
        return ["k", "m", "t", "mm", "bn", "cr", "k.", "m.", "t."].contains(text)
            || Self.multipliers.contains { text.hasPrefix($0) }
    }
}

extension Unicode.Scalar {
    fileprivate var isWordPart: Bool {
        self.isLetter || self.isCurrencySign
    }
}
