import Basics
import Foundation
import OperationScreens
import SignedContent

/// The rules of completeness. Each way to deceive a policy that reads only known attributes has a rule.
struct ReviewRules {
    private(set) var doubts: [OperationReview.Doubt] = []

    mutating func apply(to operation: UserOperation, _ data: UserOperation.SignedData?) {
        for issue in operation.issues { self.note(.unreadable, issue.description) }
        for attribute in operation.formData.attributes { self.look(at: attribute) }
        self.compareCurrencies(of: operation)
        for screen in operation.ui?.preApprovalScreens ?? [] { self.note(.screenToPass, screen.id ?? screen.heading) }
        let texts = self.readable(operation.texts)
        guard let data, data.version == "A" else { return self.note(.undocumentedData) }
        self.look(at: data)
        self.compareAmounts(of: operation, data)
        self.compareAccounts(of: operation, data)
        self.compare(texts, data)
    }

    /// Applies the rules for QR codes, which have no attributes, only title and message beside the signed data.
    mutating func apply(
        toCode title: String,
        _ message: String,
        _ data: UserOperation.SignedData,
        isNewerFormat: Bool,
        warnsOfFraud: Bool
    ) {
        if isNewerFormat { self.note(.unreadable, "lines of a newer format") }
        if warnsOfFraud { self.note(.notice, "a warning of fraud") }
        let texts = self.readable([ShownText("title", title), ShownText("message", message)])
        guard data.version == "A" else { return self.note(.undocumentedData) }
        self.look(at: data)
        for case .amount(let amount, let currency, _) in data.fields where amount < 0 {
            self.note(.negativeAmount, "\(amount) \(currency)")
        }
        self.compare(texts, data)
    }

    private mutating func note(_ kind: OperationReview.Doubt.Kind, _ subject: String? = nil) {
        self.doubts.append(.init(kind, about: subject))
    }
}

// MARK: - What is shown

extension ReviewRules {
    private mutating func look(at attribute: UserOperation.Attribute) {
        switch attribute.content {
        case .heading, .keyValue, .note, .partyInfo: break
        case .image: self.note(.picture, attribute.name)
        case .amount(let money): self.look(at: money, attribute.name)
        case .amountConversion(let source, let target, _):
            self.note(.conversion, attribute.name)
            for money in [source, target] where !money.isNamedByItsTexts { self.note(.amountNotSigned, attribute.name) }
        case .alert: self.note(.notice, attribute.name)
        case .unknown(let type, _): self.note(.unknownAttribute, attribute.name ?? type)
        }
    }

    private mutating func look(at money: UserOperation.Attribute.Money, _ name: String?) {
        if let amount = money.amount, amount.plainText != nil {
            if amount < 0 { self.note(.negativeAmount, name) }
        } else {
            self.note(.amountWithoutNumber, name)
        }
        if money.currency == nil { self.note(.amountWithoutCurrency, name) }
    }

    private mutating func compareCurrencies(of operation: UserOperation) {
        let currencies = Set(operation.amounts.compactMap { $0.currency.map { ExactString($0) } })
        guard currencies.count > 1 else { return }
        self.note(.severalCurrencies, currencies.map(\.string).sorted().joined(separator: ", "))
    }
}

extension ReviewRules {
    /// The number of characters that a person is expected to read.
    private static let readableLength = 2_000

    /// Returns the strings short enough to be read.
    private mutating func readable(_ texts: [ShownText]) -> [(text: ShownText, visible: VisibleText)] {
        texts.filter { !$0.string.isEmpty }.compactMap { text in
            guard text.string.hasAtMost(Self.readableLength) else {
                self.note(.longText, text.name)
                return nil
            }
            let visible = VisibleText(text.string)
            if visible.hasDirectionControls { self.note(.directionControls, text.name) }
            return (text, visible)
        }
    }
}

// MARK: - What is signed

extension ReviewRules {
    private mutating func look(at data: UserOperation.SignedData) {
        for case .unknown(let letter, _) in data.fields { self.note(.unknownDataField, String(letter)) }
        // A reader of the data may take the first or the last.
        for kind in DataFieldKind.allCases where data.fields.count(where: { kind.matches($0) }) > 1 {
            self.note(.repeatedDataField, kind.rawValue)
        }
    }

    private enum DataFieldKind: String, CaseIterable {
        case amount, account, date

        func matches(_ field: UserOperation.SignedData.Field) -> Bool {
            switch field {
            case .amount: self == .amount
            case .account, .anyAccount: self == .account
            case .date: self == .date
            case .reference, .note, .text, .empty, .unknown: false
            }
        }
    }
}

// MARK: - Whether both agree

extension ReviewRules {
    private mutating func compareAmounts(of operation: UserOperation, _ data: UserOperation.SignedData) {
        let signed = data.content.amounts
        var unshown = signed
        for attribute in operation.formData.attributes {
            switch attribute.content {
            case .amount(let money):
                let match = unshown.firstIndex { $0.isShown(as: money) }
                if let match { unshown.remove(at: match) }
                if match == nil || !money.isNamedByItsTexts { self.note(.amountNotSigned, attribute.name) }
            case .keyValue(let value) where NamedKind(attribute.id ?? "") == .amount:
                let shown = FormattedMoney(value)
                let isSigned = signed.contains { signed in
                    shown?.stands(for: signed.amount) == true
                        && shown?.names.allSatisfy { CurrencyNames.isName($0, of: signed.currency) } == true
                }
                if !isSigned { self.note(.amountNotSigned, attribute.name) }
            default: break
            }
        }
        for signed in unshown { self.note(.amountNotShown, "\(signed.amount) \(signed.currency)") }
        for case .amount(let money) in operation.reviewAttributes.map(\.content)
        where !(signed.isEmpty || signed.contains { $0.isShown(as: money) }) || !money.isNamedByItsTexts {
            self.note(.amountNotSigned, "postApprovalScreen")
        }
    }

    private mutating func compareAccounts(of operation: UserOperation, _ data: UserOperation.SignedData) {
        let signed = data.content.accounts
        var unshown = signed
        for attribute in operation.formData.attributes {
            guard case .keyValue(let value) = attribute.content else { continue }
            let isNamedAccount = NamedKind(attribute.id ?? "") == .account
            guard isNamedAccount || !unshown.isEmpty else { continue }
            let shown = AccountNumber(value)
            unshown.removeAll { $0.isShown(as: shown) }
            guard isNamedAccount, !signed.contains(where: { $0.isShown(as: shown) }) else { continue }
            self.note(.accountNotSigned, attribute.name)
        }
        for account in unshown { self.note(.accountNotShown, account.text) }
    }

    /// Compares the amounts and accounts that the strings name.
    private mutating func compare(
        _ texts: [(text: ShownText, visible: VisibleText)],
        _ data: UserOperation.SignedData
    ) {
        for (text, visible) in texts {
            if !data.content.signAccounts(in: visible) { self.note(.accountNotSigned, text.name) }
            if !data.content.signAmounts(in: visible) { self.note(.amountNotSigned, text.name) }
        }
    }
}

extension String {
    /// Returns whether the string has at most this number of characters. Their bytes, which are no fewer, are counted already.
    fileprivate func hasAtMost(_ count: Int) -> Bool {
        self.utf8.count <= count || self.unicodeScalars.dropFirst(count).isEmpty
    }
}
