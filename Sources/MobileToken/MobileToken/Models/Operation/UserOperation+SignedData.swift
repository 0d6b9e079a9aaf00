public import Foundation
package import SignedContent

extension UserOperation {
    /// The content of the data to sign: `A1*A100CZK*ICZ2730300000001165254011` is a payment of 100 CZK to an account.
    public struct SignedData: Sendable, Hashable {
        /// The signed data, unchanged.
        public let text: String
        /// The version, a letter. This version of the package knows `A`.
        public let version: Character
        /// The number of the template, 0 to 99.
        public let templateID: Int
        /// The fields, at most five.
        public let fields: [Field]
        /// The parsed data, for comparison with what is shown.
        package let content: DataFields

        /// One field.
        public enum Field: Sendable, Hashable {
            /// An amount, with its original digits.
            case amount(Decimal, currency: String, digits: String)
            /// An IBAN and an optional BIC.
            case account(iban: String, bic: String?)
            /// An account in any other form.
            case anyAccount(String)
            /// A day of the Gregorian calendar.
            case date(year: Int, month: Int, day: Int)
            /// A reference.
            case reference(String)
            /// A note.
            case note(String)
            /// Text.
            case text(String)
            /// An empty field, which keeps the position of the others.
            case empty
            /// A field unknown to this version.
            case unknown(letter: Character, text: String)
        }
    }
}

// MARK: - Parsing

extension UserOperation.SignedData {
    /// Reads the data of an operation: one line, such as `A1*A100CZK`. Anything without that form gives `nil`.
    ///
    /// Servers insert an amount as they received it, so this initializer accepts `1E+2` and `+5`; QR codes do not.
    package init?(parsing text: String) {
        do throws(DataFields.Mistake) {
            try self.init(parsing: Array(text.utf8)[...], amounts: .anyJSONOrJava)
        } catch {
            return nil
        }
    }

    package init(
        parsing bytes: ArraySlice<UInt8>,
        amounts: DataFields.AmountForm = .plain
    ) throws(DataFields.Mistake) {
        self.content = try DataFields(parsing: bytes, amounts: amounts)
        self.text = String(decoding: bytes, as: UTF8.self)
        self.version = self.content.version
        self.templateID = self.content.templateID
        self.fields = self.content.fields.map(Field.init)
    }
}

extension UserOperation.SignedData.Field {
    fileprivate init(_ field: DataField) {
        self =
            switch field {
            case .amount(let amount, let currency, let digits): .amount(amount, currency: currency, digits: digits)
            case .account(let iban, let bic): .account(iban: iban, bic: bic)
            case .anyAccount(let account): .anyAccount(account)
            case .date(let year, let month, let day): .date(year: year, month: month, day: day)
            case .reference(let reference): .reference(reference)
            case .note(let note): .note(note)
            case .text(let text): .text(text)
            case .empty: .empty
            case .unknown(let letter, let text): .unknown(letter: letter, text: text)
            }
    }
}
