import DecisionReceipts
import Foundation
import PowerAuthClient
import SignedContent

/// The limits of an agent, and what an approval takes from them.
final class LimitRules: Sendable {
    let limits: [ApprovalAgent.Limit]
    private let userID: @Sendable (String) -> String?

    init(_ limits: [ApprovalAgent.Limit], userID: @escaping @Sendable (String) -> String?) {
        self.limits = limits
        self.userID = userID
    }

    /// An approval, as its signed data and its server tell it.
    struct Subject {
        let activationID: String
        /// The name of the operation; `nil` if only its data are known.
        let template: String?
        /// The signed data; `nil` if they cannot be read, or one of their fields cannot.
        let content: DataFields?

        init(_ operation: some AuthorizableOperation, of activationID: String) {
            self.activationID = activationID
            self.template = (operation as? UserOperation)?.name
            let content = UserOperation.SignedData(parsing: operation.data)?.content
            self.content = content.flatMap { $0.fields.allSatisfy(\.isKnown) ? $0 : nil }
        }
    }

    /// Returns what an approval takes from the limits.
    ///
    /// - Parameter isAutomatic: `false` for a decision by hand, which concerns the limits that include people.
    /// - Throws: `limitReached` with the limit whose share cannot be computed.
    func demands(of subject: Subject, isAutomatic: Bool = true) throws(MobileTokenError) -> [LimitDemand] {
        var demands: [LimitDemand] = []
        for limit in self.limits where isAutomatic || limit.includesPeople {
            guard let found = self.demands(of: subject, on: limit) else { throw .limitReached(limit.name) }
            demands += found
            guard demands.count <= LimitCharges.maximumCount else { throw .limitReached(limit.name) }
        }
        return demands
    }

    /// - Returns: `nil` if the share cannot be computed.
    private func demands(of subject: Subject, on limit: ApprovalAgent.Limit) -> [LimitDemand]? {
        guard let window = limit.window.period, let keys = self.keys(of: subject, limit.scope) else { return nil }
        var amounts: [Amount] = []
        if let allowed = limit.allowedCount { amounts.append((nil, LimitDemand.scale, allowed)) }
        if !limit.sum.isEmpty {
            guard let content = subject.content else { return nil }
            for (currency, signed) in Dictionary(grouping: content.amounts, by: \.currency) {
                guard let allowed = limit.sum[currency]?.units(.down), signed.allSatisfy({ $0.amount >= 0 }),
                    let amount = signed.map(\.amount).reduce(0, +).units(.up)
                else { return nil }
                amounts.append((currency, amount, allowed))
            }
        }
        return keys.flatMap { key in amounts.map { limit.demand(of: key, $0, window) } }
    }

    fileprivate typealias Amount = (currency: String?, amount: Int64, allowed: Int64)

    /// Returns the values that a scope counts apart; none if it does not concern the operation, `nil` if they are unknown.
    private func keys(of subject: Subject, _ scope: ApprovalAgent.Limit.Scope) -> [[UInt8]]? {
        switch scope {
        case .activation: return [Array(subject.activationID.utf8)]
        case .user: return self.userID(subject.activationID).map { [Array($0.utf8)] }
        case .template: return subject.template.map { [Array($0.utf8)] }
        case .fleet: return [[]]
        case .payee:
            guard let content = subject.content else { return nil }
            let accounts = Set(content.accounts.map { AccountNumber($0.text).bytes })
            return accounts.isEmpty && !content.amounts.isEmpty ? nil : Array(accounts)
        }
    }

    /// Charges an approval at its creation, unless a limit would be passed.
    ///
    /// - Returns: That limit.
    func limit(passedBy review: OperationReview, _ sums: inout ChargeSums) -> String? {
        do throws(MobileTokenError) {
            let subject = Subject(review.operation, of: review.activationID)
            let demands = try self.demands(of: subject)
            let charges = LimitCharges(demands, at: review.operation.created, isAutomatic: true)
            if let limit = sums.limit(passedBy: charges) { return limit }
            sums.charge(charges.entries)
            return nil
        } catch {
            return error.limit ?? ""
        }
    }

    /// Returns what shows the use of a scope whose value needs no operation; none for the others.
    func checks(of activationID: String, at date: Date) -> [LimitCharges.Check] {
        let demands = self.limits.flatMap { limit -> [LimitDemand] in
            guard let window = limit.window.period, ![.payee, .template].contains(limit.scope),
                let keys = self.keys(of: Subject(activationID), limit.scope)
            else { return [] }
            let sums = limit.sum.sorted { $0.key < $1.key }.compactMap { currency, amount -> Amount? in
                amount.units(.down).map { (currency, 0, $0) }
            }
            let amounts = (limit.allowedCount.map { [(nil, 0, $0)] } ?? []) + sums
            return keys.flatMap { key in amounts.map { limit.demand(of: key, $0, window) } }
        }
        return LimitCharges(demands, at: date, isAutomatic: true).checks
    }
}

extension ApprovalAgent.Limit {
    fileprivate var allowedCount: Int64? {
        self.count.map { Int64(min($0, 1_000_000_000_000)) * LimitDemand.scale }
    }

    fileprivate func demand(of key: [UInt8], _ amount: LimitRules.Amount, _ window: LimitWindow) -> LimitDemand {
        LimitDemand(
            limit: self.name,
            key: LimitDemand.key(of: self.scope.rawValue, key, currency: amount.currency),
            currency: amount.currency,
            amount: amount.amount,
            allowed: amount.allowed,
            window: window,
            includesPeople: self.includesPeople
        )
    }
}

extension LimitRules.Subject {
    fileprivate init(_ activationID: String) {
        (self.activationID, self.template, self.content) = (activationID, nil, nil)
    }
}

extension DataField {
    /// Indicates that it may not be an amount or account in disguise.
    fileprivate var isKnown: Bool { if case .unknown = self { false } else { true } }
}

extension Decimal {
    /// The number of ten-thousandths; `nil` if it is not representable.
    fileprivate func units(_ rounding: NSDecimalNumber.RoundingMode) -> Int64? {
        var (product, rounded) = (self * Decimal(LimitDemand.scale), Decimal())
        guard product.isFinite, product / Decimal(LimitDemand.scale) == self else { return nil }
        NSDecimalRound(&rounded, &product, 0, rounding)
        guard rounded <= Decimal(Int64.max / 2), rounded >= 0 else { return nil }
        return Int64("\(rounded)")
    }
}
