public import Foundation
package import PowerAuthProtocol

/// The decision that a signature is about to make: one row of the receipts.
///
/// The row is written in the transaction that moves the counter, so that no decision leaves without it, and a decision that
/// has no room for its receipt is not made. Its key is the activation and the number of that move, which no other signature
/// shares. What became of it follows as a ``DecisionOutcome``.
///
/// An intent holds no secret: neither a counter value nor a key nor a password. Its personal data are what ``RecordedIntent``
/// keeps apart, so that they can be erased.
public struct DecisionIntent: Sendable, Hashable {
    /// Which way an operation is decided.
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

    /// The activation that signs.
    public let activationID: String
    /// The operation that is decided.
    public let operationID: String
    /// Which attempt at this operation it is, from 1. The signatures of one attempt, such as before and after the counter
    /// was brought in step, share the number.
    public let attempt: Int
    /// The verdict.
    public let verdict: Verdict
    /// The reason of a rejection, as it is sent to the server; `nil` for an approval.
    public let reason: String?
    /// The rule that decided; `nil` for a call by hand.
    public let policy: Policy?
    /// Indicates that everything about the operation could be read, and that what is shown agrees with what is signed; `nil` when nobody
    /// looked, because only the operation's identifier and data were known.
    public let isComplete: Bool?
    /// The factors that sign.
    package let factors: SignatureType
    /// The number of the membership under which this process may decide; `nil` where nobody else could.
    public private(set) var fence: UInt64?
    /// The operation's JSON as the server sent it, which is what was shown; `nil` when it was not at hand.
    public let shown: [UInt8]?
    /// The operation's data, which are what is signed.
    public let signed: String
    /// When it is signed, by the local clock.
    public private(set) var localDate: Date
    /// When it is signed, by the server's clock; `nil` as long as only the local one is known.
    public private(set) var serverDate: Date?
    /// The time after which the request cannot reach the server any more, by the local clock; `nil` before it is signed. A process that
    /// traces the decision waits until then, whatever its own time-outs are.
    public private(set) var arrivesBefore: Date?

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
        self.activationID = activationID
        self.operationID = operationID
        self.attempt = attempt
        self.verdict = verdict
        self.reason = reason
        self.policy = policy
        self.isComplete = isComplete
        self.factors = factors
        self.fence = fence
        self.shown = shown
        self.signed = signed
        self.localDate = localDate
        self.serverDate = serverDate
        self.arrivesBefore = arrivesBefore
    }

    /// The same, signed under a membership, unless it names one already.
    package func fenced(by number: UInt64) -> Self {
        var intent = self
        intent.fence = self.fence ?? number
        return intent
    }

    /// The same, signed at another time.
    package func dated(_ localDate: Date, serverDate: Date?, arrivesBefore: Date? = nil) -> Self {
        var intent = self
        intent.localDate = localDate
        intent.serverDate = serverDate
        intent.arrivesBefore = arrivesBefore
        return intent
    }
}
