import Basics
public import Foundation
import SignedContent

/// An operation with its doubts, for a policy, or for a person before ``OperationsService/authorize(_:with:)-(UserOperation,_)``.
///
/// An operation is complete if all of it was readable, nothing needs a person's attention, and the signed
/// ``UserOperation/data`` have the same amount, currency and account as the shown form. By default, an ``ApprovalAgent`` leaves
/// incomplete operations to people.
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
    /// The parsed data to sign; `nil` if they lack the documented form, such as `A1*A100CZK*ICZ…`.
    public let signedData: UserOperation.SignedData?
    /// The reasons why the operation is incomplete, in the order of its attributes; empty if it is complete.
    public let doubts: [Doubt]

    /// Reviews an operation, before a person approves it or in a policy's unit test.
    ///
    /// - Parameters:
    ///   - operation: The operation, as the server listed it.
    ///   - activationID: The activation that would decide, for policies that distinguish activations.
    public init(of operation: UserOperation, activationID: String = "") {
        self.operation = operation
        self.activationID = activationID
        self.signedData = UserOperation.SignedData(parsing: operation.data)
        var rules = ReviewRules()
        rules.apply(to: operation, self.signedData)
        self.doubts = rules.doubts
    }

    /// Indicates whether a policy may rely on the operation's content.
    public var isComplete: Bool { self.doubts.isEmpty }

    /// The exact sum of the operation's amounts in a currency.
    ///
    /// Conversions are excluded. The currency's code is compared exactly.
    ///
    /// - Returns: `nil` unless the whole sum is known: if there is no amount; if one is in another currency, negative, or without
    ///   a number; if an unreadable attribute might be one; or if the signed amount differs.
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

    /// The accounts that are both shown and signed, in their signed spelling; empty unless all are certain.
    ///
    /// An empty array proves nothing. To compare with a list, call ``pays(onlyTo:)``.
    public var accounts: [String] { self.signedAccounts.map(\.text) }

    /// Returns whether the operation certainly pays to an account, and only to these.
    ///
    /// Spellings of one number are equal: an International Bank Account Number with white space, hyphens or in lower case, and
    /// its Czech domestic form. Everything else is compared byte for byte.
    ///
    /// The result is `false` if the shown and the signed amount differ, or if more is shown than was compared.
    public func pays(onlyTo accounts: some Collection<String>) -> Bool {
        guard self.doubts.allSatisfy(\.kind.leavesThePaymentCertain) else { return false }
        let allowed = accounts.map { AccountNumber($0) }
        let signed = self.signedAccounts
        return !signed.isEmpty && signed.allSatisfy { account in allowed.contains { account.isShown(as: $0) } }
    }

    private var signedAccounts: [SignedAccount] {
        guard !self.doubts.contains(where: \.kind.concernsTheAccounts) else { return [] }
        return self.signedData?.content.accounts ?? []
    }
}

extension OperationReview {
    /// Returns the doubts about an operation in a QR code: it has a title and a message, and no attributes.
    package static func doubts(
        title: String,
        message: String,
        data: UserOperation.SignedData,
        isNewerFormat: Bool,
        warnsOfFraud: Bool
    ) -> [Doubt] {
        var rules = ReviewRules()
        rules.apply(toCode: title, message, data, isNewerFormat: isNewerFormat, warnsOfFraud: warnsOfFraud)
        return rules.doubts
    }
}

extension OperationReview {
    /// A reason why an operation is incomplete.
    public struct Doubt: Sendable, Hashable, CustomStringConvertible {
        /// The kind of the doubt.
        public let kind: Kind
        /// The subject, as the server named it: an attribute, a JSON path, a screen. `nil` for the data.
        public let subject: String?

        /// Creates a doubt, for tests.
        package init(_ kind: Kind, about subject: String? = nil) {
            self.kind = kind
            self.subject = subject
        }

        /// The kind and the subject, escaped and cut, for a log line.
        public var description: String {
            guard let subject else { return self.kind.description }
            return "\(self.kind): \(DisplayText.escaped(subject, limit: 200))"
        }
    }
}

extension OperationReview.Doubt {
    /// A kind of doubt. A struct, so that a new kind breaks no caller's `switch`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        /// A part of the operation could not be read; see ``UserOperation/issues``.
        public static let unreadable = Self(description: "unreadable")
        /// An attribute has a type unknown to this version, or lacks its type's form.
        public static let unknownAttribute = Self(description: "unknownAttribute")
        /// An amount has no representable number, only a string for people.
        public static let amountWithoutNumber = Self(description: "amountWithoutNumber")
        /// An amount has no currency code, only a string for people.
        public static let amountWithoutCurrency = Self(description: "amountWithoutCurrency")
        /// An amount is negative.
        public static let negativeAmount = Self(description: "negativeAmount")
        /// The amounts are in more than one currency.
        public static let severalCurrencies = Self(description: "severalCurrencies")
        /// An amount is shown in two currencies, which are not summed.
        public static let conversion = Self(description: "conversion")
        /// The server wants a person's attention to a notice.
        public static let notice = Self(description: "notice")
        /// The operation has an image, which neither a policy nor a terminal can check.
        public static let picture = Self(description: "picture")
        /// A string exceeds 2 000 characters, more than a person reads.
        public static let longText = Self(description: "longText")
        /// A string has characters that change the display order of others.
        public static let directionControls = Self(description: "directionControls")
        /// The server requires reading a screen or scanning a code before the approval.
        public static let screenToPass = Self(description: "screenToPass")
        /// The signed data lack the documented form, so they cannot be compared with the shown form.
        public static let undocumentedData = Self(description: "undocumentedData")
        /// The signed data have a field with an undocumented meaning.
        public static let unknownDataField = Self(description: "unknownDataField")
        /// The signed data have two amounts, accounts or dates.
        public static let repeatedDataField = Self(description: "repeatedDataField")
        /// A shown amount differs from the signed one: as a number, or in a string with another number or currency.
        public static let amountNotSigned = Self(description: "amountNotSigned")
        /// The signed amount is not shown.
        public static let amountNotShown = Self(description: "amountNotShown")
        /// A shown account differs from the signed one.
        public static let accountNotSigned = Self(description: "accountNotSigned")
        /// The signed account is not shown.
        public static let accountNotShown = Self(description: "accountNotShown")
    }
}

extension OperationReview.Doubt.Kind {
    /// Indicates whether the sum of the amounts may differ from the amount moved.
    fileprivate var concernsTheTotal: Bool {
        switch self {
        case .notice, .picture, .screenToPass, .undocumentedData, .unknownDataField, .accountNotSigned,
            .accountNotShown:
            false
        default: true
        }
    }
}

extension OperationReview.Doubt.Kind {
    /// Indicates whether an account other than those shown and signed might be paid.
    fileprivate var concernsTheAccounts: Bool {
        switch self {
        case .notice, .picture, .screenToPass, .amountWithoutNumber, .amountWithoutCurrency, .negativeAmount,
            .severalCurrencies,
            .conversion, .amountNotSigned, .amountNotShown:
            false
        default: true
        }
    }
}

extension OperationReview.Doubt.Kind {
    /// Indicates whether the payment is known nevertheless, and the doubt only asks for attention.
    fileprivate var leavesThePaymentCertain: Bool {
        switch self {
        case .notice, .screenToPass, .conversion, .negativeAmount, .severalCurrencies: true
        default: false
        }
    }
}

extension UserOperation {
    /// The operation's amounts, without conversions.
    var amounts: [UserOperation.Attribute.Money] {
        self.formData.attributes.compactMap { attribute in
            if case .amount(let money) = attribute.content { money } else { nil }
        }
    }
}

extension Decimal {
    /// The exact sum; nil if it has too many digits.
    fileprivate func addingExactly(_ other: Decimal) -> Decimal? {
        let sum = self + other
        guard sum.isFinite, sum - other == self, sum - self == other else { return nil }
        return sum
    }
}
