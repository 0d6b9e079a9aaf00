package import Foundation

/// A string with only an amount: a number, with an optional currency on either side.
package struct FormattedMoney {
    private let number: WrittenNumber
    private let isNegative: Bool
    package let names: [String]

    /// Reads a string; nil if it has no number.
    package init?(_ text: String) {
        // In some languages, direction marks surround a number; inside, they would reverse it.
        let scalars = Array(text.unicodeScalars)
        guard let start = scalars.firstIndex(where: \.isDecimalDigit),
            let last = scalars.lastIndex(where: \.isDecimalDigit),
            scalars[start...last].allSatisfy({ $0.isDecimalDigit || $0.isNumberMark || $0.properties.isWhitespace }),
            !scalars.contains(where: { $0.properties.isBidiControl && !$0.isMarkOfDirection })
        else { return nil }
        self.number = WrittenNumber(VisibleText(String(scalars: scalars[start...last])).scalars)
        var before = scalars[..<start].filter { !$0.isMarkOfDirection && !$0.properties.isWhitespace }
        var after = scalars[(last + 1)...].filter { !$0.isMarkOfDirection }[...]
        // `20,- Kč`
        if let mark = after.first, mark == "," || mark == ".", after.dropFirst().first?.isDash == true {
            after = after.dropFirst().drop(while: \.isDash)
        }
        var rest = after.drop(while: \.properties.isWhitespace)
        self.isNegative = Self.removeSign(&before, &rest)
        self.names = [Array(before), Array(rest)].map { String(scalars: $0) }.filter { !$0.isEmpty }
    }

    /// Returns whether the string has this amount, in any currency.
    package func stands(for amount: Decimal) -> Bool { self.number.stands(for: self.isNegative ? -amount : amount) }

    private static func removeSign(_ before: inout [Unicode.Scalar], _ after: inout ArraySlice<Unicode.Scalar>) -> Bool
    {
        if before.first?.isDash == true {
            before.removeFirst()
        } else if before.last?.isDash == true {
            before.removeLast()
        } else if before.last == "(", after.last == ")" {
            before.removeLast()
            after.removeLast()
        } else if after.last?.isDash == true {
            after.removeLast()
        } else {
            return false
        }
        return true
    }
}

extension Decimal {
    /// The number in plain digits; nil if it is too long for a line.
    package var plainText: String? {
        guard self.isFinite, !self.isZero else { return self.isZero ? "0" : nil }
        let text = NSDecimalNumber(decimal: self).description(withLocale: Locale(identifier: "en_US_POSIX"))
        return text.utf8.count <= 42 && !text.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") } ? text : nil
    }
}

extension Unicode.Scalar {
    fileprivate var isDecimalDigit: Bool { self.properties.generalCategory == .decimalNumber }

    fileprivate var isMarkOfDirection: Bool { self == "\u{200E}" || self == "\u{200F}" || self == "\u{61C}" }
}
