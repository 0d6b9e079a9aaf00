import Basics
import ExactJSON
package import Foundation

package enum DataField: Sendable, Hashable {
    case amount(Decimal, currency: String, digits: String)
    case account(iban: String, bic: String?)
    case anyAccount(String)
    case date(year: Int, month: Int, day: Int)
    case reference(String)
    case note(String)
    case text(String)
    case empty
    case unknown(letter: Character, text: String)
}

/// Signed data such as `A1*A100CZK*ICZ2730300000001165254011`.
package struct DataFields: Sendable, Hashable {
    package let version: Character
    package let templateID: Int
    package let fields: [DataField]

    /// The accepted forms of an amount.
    package enum AmountForm {
        /// Digits with at most one dot and an optional minus.
        case plain
        /// A plus or an exponent as well.
        case anyJSONOrJava
    }

    package struct Mistake: Error {
        package enum Kind {
            case form, count, amount, account, date
        }

        package let kind: Kind
        /// The number of the field, from 1.
        package var field: Int?
    }

    /// Data without a field.
    package static let none = Self(version: "A", templateID: 0, fields: [])

    package var amounts: [SignedAmount] { self.fields.compactMap(SignedAmount.init) }
    package var accounts: [SignedAccount] { self.fields.compactMap(SignedAccount.init) }
}

// MARK: - Strings for people

extension DataFields {
    /// Returns whether each amount of money in a string is one of these.
    package func signAmounts(in text: VisibleText) -> Bool {
        let mentions = ShownMoney(in: text).mentions
        let amounts = mentions.isEmpty ? [] : self.amounts
        return mentions.allSatisfy { mention in amounts.contains { mention.isShown($0) } }
    }

    /// Returns whether each account in a string is one of these.
    package func signAccounts(in text: VisibleText) -> Bool {
        let numbers = ShownAccounts(in: text).numbers
        let accounts = numbers.isEmpty ? [] : self.accounts
        return numbers.allSatisfy { number in accounts.contains { $0.isShown(as: number) } }
    }
}

// MARK: - Parsing

extension DataFields {
    /// Reads data in one line.
    package init(parsing bytes: ArraySlice<UInt8>, amounts: AmountForm = .plain) throws(Mistake) {
        let parts = OfflineString.split(bytes, at: UInt8(ascii: "*"))
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        guard !scalars.contains(where: \.isControlOrByteOrderMark), let head = parts.first,
            let (version, templateID) = Self.head(head)
        else {
            throw Mistake(kind: .form)
        }
        guard parts.count <= 6 else { throw Mistake(kind: .count, field: 6) }
        var fields: [DataField] = []
        for (index, part) in parts.dropFirst().enumerated() {
            do throws(Mistake) {
                fields.append(try DataField(OfflineString.unescaped(part, separator: UInt8(ascii: "*")), amounts))
            } catch {
                throw Mistake(kind: error.kind, field: index + 1)
            }
        }
        self.version = version
        self.templateID = templateID
        self.fields = fields
    }

    /// Reads a capital and one or two digits.
    private static func head(_ bytes: ArraySlice<UInt8>) -> (version: Character, templateID: Int)? {
        guard let letter = bytes.first, letter.isASCIICapital else { return nil }
        let digits = bytes.dropFirst()
        guard 1...2 ~= digits.count, let templateID = Int(asciiDigits: digits) else { return nil }
        return (Character(Unicode.Scalar(letter)), templateID)
    }
}

extension DataField {
    fileprivate init(_ text: String, _ amounts: DataFields.AmountForm) throws(DataFields.Mistake) {
        guard let letter = text.unicodeScalars.first else {
            self = .empty
            return
        }
        let value = String(text.unicodeScalars.dropFirst())
        switch letter {
        case "A": self = try Self.amount(value.utf8[...], amounts)
        case "I": self = try Self.account(value)
        case "Q": self = .anyAccount(value)
        case "D": self = try Self.date(value.utf8[...])
        case "R": self = .reference(value)
        case "N": self = .note(value)
        case "T": self = .text(value)
        default: self = .unknown(letter: Character(letter), text: value)
        }
    }

    /// Reads a sign, digits with at most one dot, and a three-letter currency. A comma is refused.
    private static func amount(
        _ text: Substring.UTF8View,
        _ form: DataFields.AmountForm
    ) throws(DataFields.Mistake) -> Self {
        let currency = text.suffix(3)
        let number = text.dropLast(3)
        let isPlain = form == .plain
        let isSigned = number.first == UInt8(ascii: "-") || (!isPlain && number.first == UInt8(ascii: "+"))
        let exponent = number.drop { isPlain || $0 | 0x20 != UInt8(ascii: "e") }
        let unsigned = number.dropFirst(isSigned ? 1 : 0).dropLast(exponent.count)
        let parts = unsigned.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard currency.count == 3, currency.allSatisfy(\.isASCIILetter), parts.count <= 2,
            parts.contains(where: { !$0.isEmpty }), parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) })
        else { throw DataFields.Mistake(kind: .amount) }

        // The number in JSON form, which is read exactly.
        let whole = String(Substring(parts[0].drop { $0 == UInt8(ascii: "0") }))
        var literal = (number.first == UInt8(ascii: "-") ? "-" : "") + (whole.isEmpty ? "0" : whole)
        if parts.count == 2, !parts[1].isEmpty { literal += "." + String(Substring(parts[1])) }
        literal += String(decoding: exponent, as: UTF8.self)
        guard let value = JSONNumber(literal: literal)?.decimal else { throw DataFields.Mistake(kind: .amount) }
        return .amount(value, currency: String(Substring(currency)).uppercased(), digits: String(Substring(number)))
    }

    private static func account(_ text: String) throws(DataFields.Mistake) -> Self {
        let parts = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard parts.count <= 2, !parts[0].isEmpty,
            parts.allSatisfy({ $0.allSatisfy { $0.isASCIIDigit || $0.isASCIICapital } })
        else { throw DataFields.Mistake(kind: .account) }
        let bic = parts.count == 2 && !parts[1].isEmpty ? String(Substring(parts[1])) : nil
        return .account(iban: String(Substring(parts[0])), bic: bic)
    }

    private static func date(_ text: Substring.UTF8View) throws(DataFields.Mistake) -> Self {
        guard text.count == 8, let year = Int(asciiDigits: text.prefix(4)),
            let month = Int(asciiDigits: text.dropFirst(4).prefix(2)), let day = Int(asciiDigits: text.suffix(2)),
            ISO8601.daysSince1970(year: year, month: month, day: day) != nil
        else { throw DataFields.Mistake(kind: .date) }
        return .date(year: year, month: month, day: day)
    }
}
