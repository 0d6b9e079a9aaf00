import Basics
import ExactJSON
public import Foundation
import PowerAuthProtocol

extension OfflineOperation {
    /// The subject of an offline operation: `A1*A100CZK*ICZ2730300000001165254011` is a payment of 100 CZK to an account.
    public struct SignedData: Sendable, Hashable {
        /// The data exactly as they came. This is what is signed.
        public let text: String
        /// The version: a letter, of which this one knows `A`.
        public let version: Character
        /// The number of the template, 0 to 99.
        public let templateID: Int
        /// The fields, at most five.
        public let fields: [Field]

        /// One field.
        public enum Field: Sendable, Hashable {
            /// An amount, with its digits as they came.
            case amount(Decimal, currency: String, digits: String)
            /// An IBAN and perhaps a BIC.
            case account(iban: String, bic: String?)
            /// An account in any other form.
            case anyAccount(String)
            /// A day.
            case date(Day)
            /// A reference.
            case reference(String)
            /// A note.
            case note(String)
            /// Text.
            case text(String)
            /// Nothing, which keeps the places of the other fields.
            case empty
            /// A field that this version does not know.
            case unknown(letter: Character, text: String)
        }

        /// A day of the Gregorian calendar, in no time zone.
        public struct Day: Sendable, Hashable, Comparable, CustomStringConvertible {
            /// The year.
            public let year: Int
            /// The month, from 1.
            public let month: Int
            /// The day, from 1.
            public let day: Int

            /// Creates a day; nil when the calendar has none such.
            public init?(year: Int, month: Int, day: Int) {
                guard ISO8601.daysSince1970(year: year, month: month, day: day) != nil else { return nil }
                self.year = year
                self.month = month
                self.day = day
            }

            /// Returns whether `one` is the earlier day.
            public static func < (one: Self, other: Self) -> Bool {
                (one.year, one.month, one.day) < (other.year, other.month, other.day)
            }

            /// `yyyy-MM-dd`.
            public var description: String {
                func padded(_ value: Int, _ width: Int) -> String {
                    let digits = String(value)
                    return String(repeating: "0", count: max(0, width - digits.count)) + digits
                }
                return "\(padded(self.year, 4))-\(padded(self.month, 2))-\(padded(self.day, 2))"
            }
        }
    }
}

// MARK: - Parsing

extension OfflineOperation.SignedData {
    /// Reads one line, such as `A1*A100CZK`.
    public init(parsing text: String) throws(OfflineOperation.ParsingError) {
        guard !text.utf8.contains(UInt8(ascii: "\n")) else {
            throw OfflineOperation.ParsingError(.invalidOperationData, line: 1)
        }
        try self.init(parsing: Array(text.utf8)[...], line: 1)
    }

    init(parsing bytes: ArraySlice<UInt8>, line: Int) throws(OfflineOperation.ParsingError) {
        let parts = OfflineString.split(bytes, at: UInt8(ascii: "*"))
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        guard !scalars.contains(where: \.isControlOrByteOrderMark), let head = parts.first,
            let (version, templateID) = Self.head(head)
        else {
            throw OfflineOperation.ParsingError(.invalidOperationData, line: line)
        }
        guard parts.count <= 6 else { throw OfflineOperation.ParsingError(.tooManyFields, line: line, field: 6) }
        var fields: [Field] = []
        for (index, part) in parts.dropFirst().enumerated() {
            do throws(FieldError) {
                fields.append(try Field(OfflineString.unescaped(part, separator: UInt8(ascii: "*"))))
            } catch {
                throw OfflineOperation.ParsingError(error.code, line: line, field: index + 1)
            }
        }
        self.text = String(decoding: bytes, as: UTF8.self)
        self.version = version
        self.templateID = templateID
        self.fields = fields
    }

    /// Reads one capital and one or two digits.
    private static func head(_ bytes: ArraySlice<UInt8>) -> (version: Character, templateID: Int)? {
        guard let letter = bytes.first, letter.isASCIICapital else { return nil }
        let digits = bytes.dropFirst()
        guard 1...2 ~= digits.count, let templateID = Int(asciiDigits: digits) else { return nil }
        return (Character(Unicode.Scalar(letter)), templateID)
    }
}

private struct FieldError: Error {
    let code: OfflineOperation.ParsingError.Code
}

extension OfflineOperation.SignedData.Field {
    fileprivate init(_ text: String) throws(FieldError) {
        guard let letter = text.unicodeScalars.first else {
            self = .empty
            return
        }
        let value = String(text.unicodeScalars.dropFirst())
        switch letter {
        case "A": self = try Self.amount(value.utf8[...])
        case "I": self = try Self.account(value)
        case "Q": self = .anyAccount(value)
        case "D": self = try Self.date(value.utf8[...])
        case "R": self = .reference(value)
        case "N": self = .note(value)
        case "T": self = .text(value)
        default: self = .unknown(letter: Character(letter), text: value)
        }
    }

    /// Reads a sign, digits with at most one dot, and the three letters of a currency. No exponent, no comma, nothing
    /// guessed.
    private static func amount(_ text: Substring.UTF8View) throws(FieldError) -> Self {
        let currency = text.suffix(3)
        let number = text.dropLast(3)
        let unsigned = number.first == UInt8(ascii: "-") ? number.dropFirst() : number
        let parts = unsigned.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard currency.count == 3, currency.allSatisfy(\.isASCIILetter), parts.count <= 2,
            parts.contains(where: { !$0.isEmpty }), parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) })
        else { throw FieldError(code: .invalidAmount) }

        // The same number as JSON writes it, which is read exactly.
        let whole = String(Substring(parts[0].drop { $0 == UInt8(ascii: "0") }))
        var literal = (unsigned.count < number.count ? "-" : "") + (whole.isEmpty ? "0" : whole)
        if parts.count == 2, !parts[1].isEmpty { literal += "." + String(Substring(parts[1])) }
        guard let value = JSONNumber(literal: literal)?.decimal else { throw FieldError(code: .invalidAmount) }
        return .amount(value, currency: String(Substring(currency)).uppercased(), digits: String(Substring(number)))
    }

    private static func account(_ text: String) throws(FieldError) -> Self {
        let parts = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].isEmpty,
            parts.allSatisfy({ $0.allSatisfy { $0.isASCIIDigit || $0.isASCIICapital } })
        else { throw FieldError(code: .invalidAccount) }
        let bic = parts.count == 2 && !parts[1].isEmpty ? String(Substring(parts[1])) : nil
        return .account(iban: String(Substring(parts[0])), bic: bic)
    }

    private static func date(_ text: Substring.UTF8View) throws(FieldError) -> Self {
        guard text.count == 8, let year = Int(asciiDigits: text.prefix(4)),
            let month = Int(asciiDigits: text.dropFirst(4).prefix(2)), let day = Int(asciiDigits: text.suffix(2)),
            let date = OfflineOperation.SignedData.Day(year: year, month: month, day: day)
        else { throw FieldError(code: .invalidDate) }
        return .date(date)
    }
}
