public import Foundation
package import PowerAuthProtocol

/// A decision about to be signed: one row of the receipts.
///
/// The row is written in the transaction that moves the counter, so no decision is sent without a receipt. Its key is the
/// activation and the number of that move, which is unique. A `DecisionOutcome` follows later.
///
/// An intent contains no counter value, key or password. It consists of ``facts``, which a receipt keeps for good, and
/// ``personalData``, which can be erased. The intent also offers their members directly, such as `intent.verdict`.
@dynamicMemberLookup
public struct DecisionIntent: Sendable, Hashable {
    /// The verdict on an operation.
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// The operation is authorized.
        case approve
        /// The operation is rejected.
        case reject
    }

    /// The rule that made the decision.
    public struct Policy: Sendable, Hashable {
        /// The name of the rule, such as `small payments`.
        public let name: String
        /// The version of the rule, such as a commit.
        public let version: String

        /// Creates a reference to a rule.
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// A decision's share of a limit.
    public struct Charge: Sendable, Hashable {
        /// The name of the limit.
        public let limit: String
        /// The currency of the amount; `nil` for a limit on the number of decisions, which charges 1.
        public let currency: String?
        /// The amount.
        public let amount: Decimal
    }

    /// The permanent part of a decision's receipt.
    public struct Facts: Sendable, Hashable {
        /// The signing activation.
        public let activationID: String
        /// The number of the attempt at this operation, from 1. All signatures of one attempt share it, such as before and after
        /// a resynchronization.
        public let attempt: Int
        /// The verdict.
        public let verdict: Verdict
        /// The deciding rule; `nil` for a manual decision.
        public let policy: Policy?
        /// Indicates that the operation was fully readable and its displayed text agrees with the signed data; `nil` if
        /// unchecked, because only the operation's identifier and data were known.
        public let isComplete: Bool?
        /// The signing factors in the protocol's names: `possession`, `possession_knowledge`.
        public let factors: String
        /// The number of the membership that permits this process to decide; `nil` if no other process could.
        public package(set) var fence: UInt64?
        /// The time of signing by the local clock. Receipts store dates in whole milliseconds.
        public package(set) var localDate: Date
        /// The time of signing by the server's clock; `nil` if only the local one was known.
        public package(set) var serverDate: Date?
        /// The time, by the local clock, after which the request can no longer reach the server; `nil` before signing. Any
        /// process that traces the decision waits until then, whatever its own timeouts are.
        public package(set) var arrivesBefore: Date?

        /// The charges to limits; empty without limits.
        public package(set) var charges: [Charge] = []

        /// Indicates that a policy decided. A `DecisionPause` stops such decisions.
        public var isAutomatic: Bool { self.policy != nil }
    }

    /// The personal data of the operation's user.
    public struct PersonalData: Sendable, Hashable {
        /// The decided operation.
        public let operationID: String
        /// The operation's data, which are signed.
        public let signed: String
        /// The operation's JSON as sent by the server and displayed; `nil` if it was not available.
        public let shown: String?
        /// The rejection reason sent to the server; `nil` for an approval.
        public let reason: String?

        package init(operationID: String, signed: String, shown: String? = nil, reason: String? = nil) {
            self.operationID = operationID
            self.signed = signed
            self.shown = shown
            self.reason = reason
        }
    }

    /// The permanent part of the receipt.
    public private(set) var facts: Facts
    /// The erasable part of the receipt.
    public let personalData: PersonalData
    /// The shares of limits, while it is signed.
    package var demands: [LimitDemand] = []
    /// The same at the time of the signature; `nil` without limits.
    package private(set) var charges: LimitCharges?

    package init(facts: Facts, personalData: PersonalData) {
        self.facts = facts
        self.personalData = personalData
    }

    package init(
        activationID: String,
        operationID: String,
        attempt: Int = 1,
        verdict: Verdict,
        reason: String? = nil,
        policy: Policy? = nil,
        isComplete: Bool? = nil,
        factors: SignatureType,
        fence: UInt64? = nil,
        shown: [UInt8]? = nil,
        signed: String,
        localDate: Date = Date(),
        serverDate: Date? = nil,
        arrivesBefore: Date? = nil
    ) {
        self.init(
            facts: Facts(
                activationID: activationID,
                attempt: attempt,
                verdict: verdict,
                policy: policy,
                isComplete: isComplete,
                factors: factors.rawValue,
                fence: fence,
                localDate: localDate,
                serverDate: serverDate,
                arrivesBefore: arrivesBefore
            ),
            personalData: PersonalData(
                operationID: operationID,
                signed: signed,
                shown: shown.map { String(decoding: $0, as: UTF8.self) },
                reason: reason
            )
        )
    }

    // Inlined in other modules, so that a member costs no walk along a key path there.

    /// Returns a member of ``facts``.
    @inlinable
    public subscript<Value>(dynamicMember member: KeyPath<Facts, Value>) -> Value { self.facts[keyPath: member] }

    /// Returns a member of ``personalData``.
    @inlinable
    public subscript<Value>(dynamicMember member: KeyPath<PersonalData, Value>) -> Value {
        self.personalData[keyPath: member]
    }

    /// Returns the intent with the lease's number as its fence, unless it has one.
    package func fenced(by lease: Int64?) -> Self {
        var intent = self
        intent.facts.fence = self.facts.fence ?? lease.map { UInt64(clamping: $0) }
        return intent
    }

    package func dated(_ localDate: Date, serverDate: Date?, arrivesBefore: Date? = nil) -> Self {
        var intent = self
        intent.facts.localDate = localDate
        intent.facts.serverDate = serverDate
        intent.facts.arrivesBefore = arrivesBefore
        guard !self.demands.isEmpty else { return intent }
        intent.charges = LimitCharges(self.demands, at: serverDate ?? localDate, isAutomatic: self.isAutomatic)
        intent.facts.charges = self.demands.map {
            Charge(limit: $0.limit, currency: $0.currency, amount: LimitDemand.number(ofUnits: $0.amount))
        }
        return intent
    }
}
