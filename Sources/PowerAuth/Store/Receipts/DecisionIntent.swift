package import PowerAuthProtocol

/// What a signature is about to decide: one row of the receipts.
///
/// The row is written in the transaction that moves the counter, so that no decision leaves without it, and a decision that
/// has no room for its receipt is not made. Its key is the activation and the number of that move, which no other signature
/// shares. What became of it follows as a ``DecisionOutcome``.
///
/// An intent holds no secret: neither a counter value nor a key nor a password.
package struct DecisionIntent: Sendable, Hashable {
    /// What is decided.
    package enum Verdict: Sendable, Hashable {
        /// The operation is authorized.
        case approve
        /// The operation is rejected, for a reason that is sent to the server.
        case reject(reason: String)
    }

    /// The rule that decided.
    package struct Policy: Sendable, Hashable {
        /// The name of the rule, such as `small payments`.
        package let name: String
        /// The version of the rule, such as a commit.
        package let version: String

        package init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    /// The activation that signs.
    package let activationID: String
    /// The operation that is decided.
    package let operationID: String
    /// Which attempt at this operation it is, from 1. The signatures of one attempt, such as before and after the counter
    /// was brought in step, share the number.
    package let attempt: Int
    /// What is decided.
    package let verdict: Verdict
    /// The rule that decided; `nil` for a call by hand.
    package let policy: Policy?
    /// Whether everything about the operation could be read, and what is shown agrees with what is signed; `nil` when nobody
    /// looked, because only the operation's identifier and data were known.
    package let isComplete: Bool?
    /// The factors that sign.
    package let factors: SignatureType
    /// The number of the membership under which this process may decide; `nil` where nobody else could.
    package let fence: UInt64?
    /// SHA-256 of the operation's JSON as the server sent it, which is what was shown; `nil` when it was not at hand.
    package let shownDigest: [UInt8]?
    /// SHA-256 of the operation's data, which are what is signed.
    package let signedDigest: [UInt8]

    package init(
        activationID: String,
        operationID: String,
        attempt: Int = 1,
        verdict: Verdict,
        policy: Policy? = nil,
        isComplete: Bool? = nil,
        factors: SignatureType,
        fence: UInt64? = nil,
        shownDigest: [UInt8]? = nil,
        signedDigest: [UInt8]
    ) {
        self.activationID = activationID
        self.operationID = operationID
        self.attempt = attempt
        self.verdict = verdict
        self.policy = policy
        self.isComplete = isComplete
        self.factors = factors
        self.fence = fence
        self.shownDigest = shownDigest
        self.signedDigest = signedDigest
    }
}
