import ExactJSON
import Foundation

/// A number written for people, with group and fraction marks.
///
/// The marks differ by country, so one string may have two readings: `1.949` is 1949 in Berlin and less than 2 in London.
struct WrittenNumber {
    /// The numbers that the string may mean; empty if it is no number.
    let readings: [Decimal]
    private let fractionDigits: Int

    init(_ text: some Sequence<Unicode.Scalar>) {
        let parts = Parts(text)
        let fraction = parts?.fraction
        let readings = [parts?.whole, fraction.map { "\($0.whole).\($0.fraction)" }].compactMap { $0 }
        self.readings = readings.compactMap { JSONNumber(literal: $0)?.decimal }
        self.fractionDigits = fraction?.fraction.utf8.count ?? 0
    }

    /// Returns whether the string means this amount. Servers write 18 fraction digits, so the amount may have more.
    func stands(for amount: Decimal) -> Bool {
        self.readings.contains { reading in
            guard reading != amount else { return true }
            guard self.fractionDigits >= 18 else { return false }
            return [.down, .bankers, .plain].contains { amount.rounded(to: self.fractionDigits, $0) == reading }
        }
    }

    /// Indicates whether the notation is specific to money: groups with a two-digit fraction, or at least three groups.
    static func looksLikeMoney(_ text: some Sequence<Unicode.Scalar>) -> Bool {
        guard let parts = Parts(text), let first = parts.groups.first, !first.isEmpty else { return false }
        if let fraction = parts.fraction, fraction.fraction.utf8.count == 2 {
            return parts.groups.count > 2 || first.count >= 5
        }
        // An IP address has four numbers of up to 255.
        let isAddress = parts.groups.count == 4 && parts.marks.allSatisfy { $0 == "." }
        return parts.groups.count > 2 && parts.whole != nil && parts.marks.first != " " && !isAddress
    }

    /// The digits between marks.
    private struct Parts {
        var groups: [[UInt8]] = [[]]
        var marks: [Unicode.Scalar] = []

        /// Nil if it contains anything else, or ends with a mark.
        init?(_ text: some Sequence<Unicode.Scalar>) {
            for scalar in text {
                if scalar.isASCIIDigit {
                    self.groups[self.groups.count - 1].append(UInt8(truncatingIfNeeded: scalar.value))
                } else if scalar.isNumberMark {
                    self.groups.append([])
                    self.marks.append(scalar == "\u{2019}" ? "'" : scalar)
                } else {
                    return nil
                }
            }
            guard self.groups.dropFirst().allSatisfy({ !$0.isEmpty }), self.groups != [[]] else { return nil }
        }

        /// The digits if every mark separates groups.
        var whole: String? { Self.whole(self.groups[...], self.marks[...]) }

        /// The digits if the last mark precedes a fraction.
        var fraction: (whole: String, fraction: String)? {
            guard let mark = self.marks.last, mark.isFractionMark, !self.marks.dropLast().contains(mark),
                let whole = Self.whole(self.groups.dropLast(), self.marks.dropLast())
            else { return nil }
            return (whole, String(decoding: self.groups[self.groups.count - 1], as: UTF8.self))
        }

        private static func whole(_ groups: ArraySlice<[UInt8]>, _ marks: ArraySlice<Unicode.Scalar>) -> String? {
            guard let first = groups.first, let last = groups.last, let mark = marks.first ?? "," as Unicode.Scalar?,
                marks.allSatisfy({ $0 == mark }), mark != "\u{66B}"
            else { return nil }
            // Numbers have no leading zero; such digits may be part of a longer number.
            guard first.first != UInt8(ascii: "0") || (first.count == 1 && groups.count == 1) else { return nil }
            if groups.count > 1 {
                let middle = groups.dropFirst().dropLast()
                let isThousands = middle.allSatisfy { $0.count == 3 } && 1...3 ~= first.count
                let isIndian = middle.allSatisfy { $0.count == 2 } && 1...2 ~= first.count
                guard last.count == 3, isThousands || isIndian else { return nil }
            }
            let digits = String(decoding: groups.joined(), as: UTF8.self)
            return digits.isEmpty ? "0" : digits
        }
    }
}

extension Unicode.Scalar {
    /// Indicates whether this may stand between a number's digits.
    var isNumberMark: Bool {
        [" ", "'", "\u{2019}", "\u{66C}", "\u{60C}"].contains(self) || self.isFractionMark
    }

    fileprivate var isFractionMark: Bool { self == "." || self == "," || self == "\u{66B}" }
}

extension Decimal {
    fileprivate func rounded(to scale: Int, _ mode: NSDecimalNumber.RoundingMode) -> Decimal {
        var (value, result) = (self, Decimal())
        NSDecimalRound(&result, &value, scale, mode)
        return result
    }
}
