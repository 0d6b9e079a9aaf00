import Foundation
import MobileToken

/// Chooses the payments that are approved without a person. Without rules there are none.
struct PaymentPolicy: Sendable {
    /// The conditions on a payment for one rule to approve it.
    struct Rule: Sendable {
        /// The name of the operation, byte for byte.
        var template: String
        var currency: String
        /// The most that one operation may move.
        var limit: Decimal
        var accounts: Accounts
    }

    /// The accounts to which money may go.
    enum Accounts: Sendable {
        case any
        /// These, in any spelling of the same number.
        case only([String])
    }

    /// The reason for leaving an operation to people. The words are labels of a metric: a fixed few, which tell nothing of the operation.
    enum LeaveReason: String, Sendable, CaseIterable {
        case incomplete, unknownTemplate, totalUnknown, overLimit, accountNotAllowed
    }

    /// The policy's name in receipts.
    var name: String
    var version: String
    var rules: [Rule]
    /// The bounds on what the rules approve together.
    var limits: [ApprovalAgent.Limit] = []

    /// Judges an operation by each rule for its name. The first rule that approves counts; otherwise the reason of the last.
    func judge(_ review: OperationReview) -> ApprovalAgent.Verdict {
        guard review.isComplete else { return .deferToPeople(.incomplete) }
        var verdict = ApprovalAgent.Verdict.deferToPeople(.unknownTemplate)
        for rule in self.rules where rule.template.isSame(as: review.operation.name) {
            verdict = rule.judge(review)
            if verdict == .approve { return .approve }
        }
        return verdict
    }
}

extension ApprovalAgent.Verdict {
    static func deferToPeople(_ reason: PaymentPolicy.LeaveReason) -> Self { .deferToPeople(reason: reason.rawValue) }
}

extension PaymentPolicy.Rule {
    fileprivate func judge(_ review: OperationReview) -> ApprovalAgent.Verdict {
        guard let total = review.total(in: self.currency), total > 0 else { return .deferToPeople(.totalUnknown) }
        guard total <= self.limit else { return .deferToPeople(.overLimit) }
        guard self.accounts.allow(review) else { return .deferToPeople(.accountNotAllowed) }
        return .approve
    }
}

extension PaymentPolicy.Accounts {
    fileprivate func allow(_ review: OperationReview) -> Bool {
        guard case .only(let allowed) = self else { return true }
        return review.pays(onlyTo: allowed)
    }
}

extension String {
    /// Returns whether both are the same bytes: a name that looks alike is another one.
    fileprivate func isSame(as other: String) -> Bool { self.utf8.elementsEqual(other.utf8) }
}

// MARK: - From the configuration

extension PaymentPolicy {
    init(_ settings: SettingsReader) throws {
        self.name = try settings.string("name") ?? "payments"
        self.version = try settings.string("version") ?? ""
        self.rules = try settings.objects("rules", of: Rule.members) { try Rule($0) }
        self.limits = try settings.objects("limits", of: ApprovalAgent.Limit.members) { try .init($0) }
        for (index, limit) in self.limits.enumerated()
        where self.limits[..<index].contains(where: { $0.name == limit.name }) {
            throw settings.error("limits[\(index)].name", "is another limit's as well")
        }
    }
}

extension PaymentPolicy.Rule {
    fileprivate static let members = ["template", "currency", "limit", "accounts", "anyAccount"]

    fileprivate init(_ settings: SettingsReader) throws {
        self.template = try settings.requiredString("template")
        self.currency = try settings.requiredString("currency")
        guard self.currency.utf8.count == 3, self.currency.utf8.allSatisfy({ (0x41...0x5A).contains($0) }) else {
            throw settings.error("currency", "is not a code of three capital letters")
        }
        guard let limit = try settings.decimal("limit") else { throw settings.error("limit", "is missing") }
        guard limit > 0 else { throw settings.error("limit", "is not more than zero") }
        self.limit = limit
        self.accounts = try Self.accounts(settings)
    }

    /// A list of accounts, or `anyAccount`: neither is the default of the other.
    private static func accounts(_ settings: SettingsReader) throws -> PaymentPolicy.Accounts {
        let listed = try settings.strings("accounts")
        let isAny = try settings.boolean("anyAccount") ?? false
        switch (listed, isAny) {
        case (.some, true): throw settings.error("anyAccount", "contradicts the list of accounts")
        case (.some(let accounts), false):
            guard !accounts.isEmpty else { throw settings.error("accounts", "is empty") }
            return .only(accounts)
        case (nil, true): return .any
        case (nil, false): throw settings.error("accounts", "is missing; say \"anyAccount\": true if that is meant")
        }
    }
}
