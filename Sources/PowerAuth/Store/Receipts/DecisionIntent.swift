public import Foundation
package import PowerAuthProtocol

/// The decision that a signature is about to make: one row of the receipts.
///
/// The row is written in the transaction that moves the counter, so that no decision leaves without it, and a decision that
/// has no room for its receipt is not made. Its key is the activation and the number of that move, which no other signature
/// shares. What became of it follows as a `DecisionOutcome`.
///
/// An intent holds no secret: neither a counter value nor a key nor a password. Its members are those of ``facts``, which a receipt
/// keeps for good, and of ``personalData``, which can be erased; each can be read from the intent itself, such as
/// `intent.verdict`.
@dynamicMemberLookup
public struct DecisionIntent: Sendable, Hashable {
    /// The way in which an operation is decided.
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// The operation is authorized.
        case approve
        /// The operation is rejected.
        case reject
    }

    /// The rule that decided.
    public struct Policy: Sendable, Hashable {
        /// The name of the rule, such as `small payments`.
        public let name: String
        /// The version of the rule, such as a commit.
        public let version: String

        /// Names a rule.
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// The part of a decision that stays in its receipt for good.
    public struct Facts: Sendable, Hashable {
        /// The activation that signs.
        public let activationID: String
        /// The number of the attempt at this operation, from 1. The signatures of one attempt, such as before and after the counter
        /// was brought in step, share the number.
        public let attempt: Int
        /// The verdict.
        public let verdict: Verdict
        /// The rule that decided; `nil` for a call by hand.
        public let policy: Policy?
        /// Indicates that everything about the operation could be read, and that what is shown agrees with what is signed; `nil` when
        /// nobody looked, because only the operation's identifier and data were known.
        public let isComplete: Bool?
        /// The factors that sign, as the protocol names them: `possession`, `possession_knowledge`.
        public let factors: String
        /// The number of the membership under which this process may decide; `nil` where nobody else could.
        public internal(set) var fence: UInt64?
        /// The time when it is signed, by the local clock. A receipt has whole milliseconds, here and below.
        public internal(set) var localDate: Date
        /// The time when it is signed, by the server's clock; `nil` as long as only the local one is known.
        public internal(set) var serverDate: Date?
        /// The time after which the request cannot reach the server any more, by the local clock; `nil` before it is signed. A process
        /// that traces the decision waits until then, whatever its own time-outs are.
        public internal(set) var arrivesBefore: Date?

        /// Indicates that a policy decided, and not a call by hand: such decisions a `DecisionPause` stops.
        public var isAutomatic: Bool { self.policy != nil }
    }

    /// The data of the person whose operation it is.
    public struct PersonalData: Sendable, Hashable {
        /// The operation that is decided.
        public let operationID: String
        /// The operation's data, which are what is signed.
        public let signed: String
        /// The operation's JSON as the server sent it, which is what was shown; `nil` when it was not at hand.
        public let shown: String?
        /// The reason of a rejection, as it is sent to the server; `nil` for an approval.
        public let reason: String?

        package init(operationID: String, signed: String, shown: String? = nil, reason: String? = nil) {
            self.operationID = operationID
            self.signed = signed
            self.shown = shown
            self.reason = reason
        }
    }

    /// The part that stays in the receipt.
    public private(set) var facts: Facts
    /// The part that can be erased from the receipt.
    public let personalData: PersonalData

    init(facts: Facts, personalData: PersonalData) {
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

    /// Returns one of the facts.
    public subscript<Value>(dynamicMember member: KeyPath<Facts, Value>) -> Value { self.facts[keyPath: member] }

    /// Returns one of the personal data.
    public subscript<Value>(dynamicMember member: KeyPath<PersonalData, Value>) -> Value {
        self.personalData[keyPath: member]
    }

    /// The same, signed under the lease of this number, if there is one, unless it names one already.
    func fenced(by lease: Int64?) -> Self {
        var intent = self
        intent.facts.fence = self.facts.fence ?? lease.map { UInt64(clamping: $0) }
        return intent
    }

    /// The same, signed at another time.
    package func dated(_ localDate: Date, serverDate: Date?, arrivesBefore: Date? = nil) -> Self {
        var intent = self
        intent.facts.localDate = localDate
        intent.facts.serverDate = serverDate
        intent.facts.arrivesBefore = arrivesBefore
        return intent
    }
}
