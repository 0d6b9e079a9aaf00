import Basics
public import Foundation

/// An operation, and what keeps it from being understood as a whole: what a policy decides on, and what a person should see
/// before ``OperationsService/authorize(_:with:)``.
///
/// An operation is complete when everything about it could be read, nothing asks for a person's eyes, and what gets signed
/// (``UserOperation/data``) names the same amount, currency and account as what is shown. An ``ApprovalAgent`` leaves what is
/// not complete to people, unless it is told otherwise.
///
/// ```swift
/// let review = OperationReview(of: operation, activationID: "3f2c…")
/// if review.isComplete, let total = review.total(in: "CZK"), total <= 50 { … }
/// for doubt in review.doubts { print(doubt) }  // amountNotSigned: operation.amount
/// ```
public struct OperationReview: Sendable, Hashable {
    /// The operation.
    public let operation: UserOperation
    /// The activation that would decide it.
    public let activationID: String
    /// The data that would be signed, read; `nil` when it does not have the documented form, such as `A1*A100CZK*ICZ…`.
    public let signedData: OfflineOperation.SignedData?
    /// The reason the operation is not complete, in the order of its attributes; empty when it is.
    public let doubts: [Doubt]

    /// Reviews an operation: before a person approves it, or in a unit test of a policy.
    ///
    /// - Parameters:
    ///   - operation: The operation, as the server listed it.
    ///   - activationID: The activation that would decide, for policies that tell them apart.
    public init(of operation: UserOperation, activationID: String = "") {
        self.operation = operation
        self.activationID = activationID
        self.signedData = try? OfflineOperation.SignedData(parsing: operation.data)
        var rules = ReviewRules()
        rules.apply(to: operation, self.signedData)
        self.doubts = rules.doubts
    }

    /// Indicates whether a policy may rest on what it sees.
    public var isComplete: Bool { self.doubts.isEmpty }

    /// The sum of the operation's amounts in a currency, with every digit.
    ///
    /// Conversions never count, and the currency's code is compared exactly.
    ///
    /// - Returns: `nil` unless the whole sum is known: when there is no amount, when one is in another currency, negative, or
    ///   has no number, when an attribute could not be read and might be one, and when the amount that gets signed is another.
    public func total(in currency: String) -> Decimal? {
        guard !self.doubts.contains(where: \.kind.concernsTheTotal) else { return nil }
        var total: Decimal?
        for money in self.operation.amounts {
            guard let amount = money.amount, money.currency?.isExactly(currency) == true,
                let sum = (total ?? 0).addingExactly(amount)
            else { return nil }
            total = sum
        }
        return total
    }

    /// The accounts that are shown and get signed, spelled as they get signed; empty unless all of that is certain.
    ///
    /// None is no proof of anything. To compare with a list, ask ``pays(onlyTo:)``.
    public var accounts: [String] { self.signedAccounts.map(\.text) }

    /// Returns whether the operation pays to an account for certain, and to none but these.
    ///
    /// Spellings of the same number are the same account: an International Bank Account Number with blanks, with hyphens or in lower
    /// case, and the Czech domestic form of one. Everything else is compared byte for byte.
    public func pays(onlyTo accounts: some Collection<String>) -> Bool {
        let allowed = accounts.map { AccountNumber($0) }
        let signed = self.signedAccounts
        return !signed.isEmpty && signed.allSatisfy { account in allowed.contains { account.isShown(as: $0) } }
    }

    private var signedAccounts: [SignedAccount] {
        guard !self.doubts.contains(where: \.kind.concernsTheAccounts) else { return [] }
        return (self.signedData?.fields ?? []).compactMap(SignedAccount.init)
    }
}

extension OperationReview {
    /// One reason why an operation is not complete.
    public struct Doubt: Sendable, Hashable, CustomStringConvertible {
        /// The kind of the doubt.
        public let kind: Kind
        /// The subject, as the server named it: an attribute, a place in the JSON, a screen. `nil` when it is the data.
        public let subject: String?

        /// Creates a doubt, for tests of what reads it.
        public init(_ kind: Kind, about subject: String? = nil) {
            self.kind = kind
            self.subject = subject
        }

        /// The kind and the subject, escaped and cut, for a line of a log.
        public var description: String {
            guard let subject else { return self.kind.description }
            return "\(self.kind): \(DisplayText.escaped(subject, limit: 200))"
        }
    }
}

extension OperationReview.Doubt {
    /// A kind of doubt about an operation. A struct, so that a new kind breaks nobody's `switch`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// A part of the operation could not be read; see ``UserOperation/issues``.
        public static let unreadable = Self(description: "unreadable")
        /// An attribute is of a type that this version does not know, or does not have its type's form.
        public static let unknownAttribute = Self(description: "unknownAttribute")
        /// An amount has no number, only a text for people.
        public static let amountWithoutNumber = Self(description: "amountWithoutNumber")
        /// An amount has no currency code, only a text for people.
        public static let amountWithoutCurrency = Self(description: "amountWithoutCurrency")
        /// An amount is negative.
        public static let negativeAmount = Self(description: "negativeAmount")
        /// The amounts are in more than one currency.
        public static let severalCurrencies = Self(description: "severalCurrencies")
        /// An amount is shown in two currencies, of which no sum is made.
        public static let conversion = Self(description: "conversion")
        /// The server asks for attention to a notice.
        public static let notice = Self(description: "notice")
        /// The server wants a screen to be read, or a code to be scanned, before the approval.
        public static let screenToPass = Self(description: "screenToPass")
        /// The signed data does not have the documented form, so it cannot be compared with what is shown.
        public static let undocumentedData = Self(description: "undocumentedData")
        /// The signed data has a field whose meaning is not documented.
        public static let unknownDataField = Self(description: "unknownDataField")
        /// The signed data has two amounts, accounts or dates.
        public static let repeatedDataField = Self(description: "repeatedDataField")
        /// An amount is shown that is not the one that gets signed.
        public static let amountNotSigned = Self(description: "amountNotSigned")
        /// The amount that gets signed is not shown.
        public static let amountNotShown = Self(description: "amountNotShown")
        /// An account is shown that is not the one that gets signed.
        public static let accountNotSigned = Self(description: "accountNotSigned")
        /// The account that gets signed is not shown.
        public static let accountNotShown = Self(description: "accountNotShown")
    }
}

extension OperationReview.Doubt.Kind {
    /// Indicates whether a sum of the amounts could be another one than what is moved.
    fileprivate var concernsTheTotal: Bool {
        switch self {
        case .notice, .screenToPass, .undocumentedData, .unknownDataField, .accountNotSigned, .accountNotShown: false
        default: true
        }
    }
}

extension OperationReview.Doubt.Kind {
    /// Tells that another account could be paid than those that are shown and signed.
    fileprivate var concernsTheAccounts: Bool {
        switch self {
        case .notice, .screenToPass, .amountWithoutNumber, .amountWithoutCurrency, .negativeAmount, .severalCurrencies,
            .conversion, .amountNotSigned, .amountNotShown:
            false
        default: true
        }
    }
}

extension UserOperation {
    /// The operation's amounts, those of conversions not included.
    var amounts: [UserOperation.Attribute.Money] {
        self.formData.attributes.compactMap { attribute in
            if case .amount(let money) = attribute.content { money } else { nil }
        }
    }
}

extension Decimal {
    /// The sum, unless it has more digits than there is room for.
    fileprivate func addingExactly(_ other: Decimal) -> Decimal? {
        let sum = self + other
        guard sum.isFinite, sum - other == self, sum - self == other else { return nil }
        return sum
    }
}
