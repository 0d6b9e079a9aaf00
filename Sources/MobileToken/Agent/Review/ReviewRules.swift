import Basics
import Foundation

/// The rules by which an operation is complete. Each way to deceive a policy that reads only the attributes it knows has one.
struct ReviewRules {
    private(set) var doubts: [OperationReview.Doubt] = []

    mutating func apply(to operation: UserOperation, _ data: OfflineOperation.SignedData?) {
        for issue in operation.issues { self.note(.unreadable, issue.description) }
        for attribute in operation.formData.attributes { self.look(at: attribute) }
        self.compareCurrencies(of: operation)
        for screen in operation.ui?.preApprovalScreens ?? [] { self.note(.screenToPass, screen.id ?? screen.heading) }
        guard let data, data.version == "A" else { return self.note(.undocumentedData) }
        self.look(at: data)
        self.compareAmounts(of: operation, data)
        self.compareAccounts(of: operation, data)
    }

    /// Applies what can be said of a QR code: it shows no attributes, and only title and message beside what is signed.
    mutating func apply(to operation: OfflineOperation) {
        if operation.isNewerFormat { self.note(.unreadable, "lines of a newer format") }
        if operation.flags.fraudWarning { self.note(.notice, "a warning of fraud") }
        guard operation.operationData.version == "A" else { return self.note(.undocumentedData) }
        self.look(at: operation.operationData)
        for case .amount(let amount, let currency, _) in operation.operationData.fields where amount < 0 {
            self.note(.negativeAmount, "\(amount) \(currency)")
        }
        let signed = operation.operationData.fields.compactMap(SignedAccount.init)
        for (name, text) in [("title", operation.title), ("message", operation.message)]
        where !ShownAccounts(in: text).numbers.allSatisfy({ number in signed.contains { $0.isShown(as: number) } }) {
            self.note(.accountNotSigned, name)
        }
    }

    private mutating func note(_ kind: OperationReview.Doubt.Kind, _ subject: String? = nil) {
        self.doubts.append(.init(kind, about: subject))
    }
}

// MARK: - What is shown

extension ReviewRules {
    private mutating func look(at attribute: UserOperation.Attribute) {
        switch attribute.content {
        case .heading, .keyValue, .note, .partyInfo, .image: break
        case .amount(let money): self.look(at: money, attribute.name)
        case .amountConversion: self.note(.conversion, attribute.name)
        case .alert: self.note(.notice, attribute.name)
        case .unknown(let type, _): self.note(.unknownAttribute, attribute.name ?? type)
        }
    }

    private mutating func look(at money: UserOperation.Attribute.Money, _ name: String?) {
        if let amount = money.amount, amount.isFinite {
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

extension UserOperation.Attribute {
    /// The name of the attribute in a doubt.
    fileprivate var name: String? { self.id ?? self.label }
}

// MARK: - What is signed

extension ReviewRules {
    private mutating func look(at data: OfflineOperation.SignedData) {
        for case .unknown(let letter, _) in data.fields { self.note(.unknownDataField, String(letter)) }
        // A reader of the data may take the first or the last.
        for kind in DataFieldKind.allCases where data.fields.count(where: { kind.matches($0) }) > 1 {
            self.note(.repeatedDataField, kind.rawValue)
        }
    }

    private enum DataFieldKind: String, CaseIterable {
        case amount, account, date

        func matches(_ field: OfflineOperation.SignedData.Field) -> Bool {
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
    private mutating func compareAmounts(of operation: UserOperation, _ data: OfflineOperation.SignedData) {
        var unshown: [(amount: Decimal, currency: String)] = data.fields.compactMap { field in
            if case .amount(let amount, let currency, _) = field { (amount, currency) } else { nil }
        }
        for attribute in operation.formData.attributes {
            guard case .amount(let money) = attribute.content else { continue }
            let match = unshown.firstIndex { signed in
                money.amount == signed.amount && money.currency?.isExactly(signed.currency) == true
            }
            if let match { unshown.remove(at: match) } else { self.note(.amountNotSigned, attribute.name) }
        }
        for signed in unshown { self.note(.amountNotShown, "\(signed.amount) \(signed.currency)") }
    }

    private mutating func compareAccounts(of operation: UserOperation, _ data: OfflineOperation.SignedData) {
        let signed = data.fields.compactMap(SignedAccount.init)
        var isShown = signed.map { _ in false }
        func isSigned(_ account: AccountNumber) -> Bool { signed.contains { $0.isShown(as: account) } }
        for text in operation.texts {
            guard case .value(let attribute, let value) = text else {
                if !ShownAccounts(in: text.string).numbers.allSatisfy(isSigned) {
                    self.note(.accountNotSigned, text.name)
                }
                continue
            }
            let shown = AccountNumber(value)
            let matches = signed.indices.filter { signed[$0].isShown(as: shown) }
            for index in matches { isShown[index] = true }
            guard matches.isEmpty else { continue }
            if attribute.isNamedAccount || !ShownAccounts(in: value).numbers.allSatisfy(isSigned) {
                self.note(.accountNotSigned, attribute.name)
            }
        }
        for (account, isShown) in zip(signed, isShown) where !isShown { self.note(.accountNotShown, account.text) }
    }
}

/// A text that a person reads, and may find an account in.
private enum ShownText {
    case value(UserOperation.Attribute, String)
    case other(name: String?, String)

    var string: String {
        switch self {
        case .value(_, let string), .other(_, let string): string
        }
    }

    var name: String? {
        switch self {
        case .value(let attribute, _): attribute.name
        case .other(let name, _): name
        }
    }
}

extension UserOperation {
    fileprivate var texts: [ShownText] {
        [.other(name: "title", self.formData.title), .other(name: "message", self.formData.message)]
            + self.formData.attributes.flatMap(\.texts)
    }
}

extension UserOperation.Attribute {
    fileprivate var texts: [ShownText] {
        let strings: [String]
        switch self.content {
        case .keyValue(let value): return [.value(self, value), .other(name: self.name, self.label ?? "")]
        case .note(let text): strings = [text]
        case .partyInfo(let party): strings = [party.name, party.description]
        case .alert(let alert): strings = [alert.title ?? "", alert.message]
        // Amounts are compared as numbers, pictures are not read, and what is not known is a doubt already.
        case .amount, .amountConversion, .heading, .image, .unknown: strings = []
        }
        return ([self.label ?? ""] + strings).map { .other(name: self.name, $0) }
    }
}

extension UserOperation.Attribute {
    /// Indicates whether the identifier ends in `account` or `iban`, as in `operation.account` and `creditorAccount`.
    fileprivate var isNamedAccount: Bool {
        let letters = (self.id ?? "").utf8.map { $0 | 0x20 }
        return letters.reversed().starts(with: "account".utf8.reversed())
            || letters.reversed().starts(with: "iban".utf8.reversed())
    }
}
