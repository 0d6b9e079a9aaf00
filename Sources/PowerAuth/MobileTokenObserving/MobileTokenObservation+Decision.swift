public import DecisionReceipts
public import MobileTokenErrors

extension MobileTokenObservation {
    /// A decision, signed or attempted, and its result.
    ///
    /// An open result, such as `unanswered(code:)`, is followed by another event when the outcome is
    /// determined.
    public struct Decision: Sendable {
        /// The deciding activation.
        public let activationID: String
        /// The decided operation.
        public let operationID: String
        /// The verdict.
        public let verdict: DecisionIntent.Verdict
        /// The signing factors in the protocol's names; `nil` if another process signed.
        public let factors: String?
        /// The name of the deciding policy; `nil` for a manual decision, and if another process signed.
        public let policyName: String?
        /// The result.
        public let result: DecisionOutcome.Result

        package init(
            activationID: String,
            operationID: String,
            verdict: DecisionIntent.Verdict,
            factors: String? = nil,
            policyName: String? = nil,
            result: DecisionOutcome.Result
        ) {
            self.activationID = activationID
            self.operationID = operationID
            self.verdict = verdict
            self.factors = factors
            self.policyName = policyName
            self.result = result
        }

        package init(_ intent: DecisionIntent, _ result: DecisionOutcome.Result) {
            self.init(
                activationID: intent.activationID,
                operationID: intent.operationID,
                verdict: intent.verdict,
                factors: intent.factors,
                policyName: intent.policy?.name,
                result: result
            )
        }
    }
}

extension MobileTokenObservation {
    /// A signature that waits for an earlier decision, because its request may still reach the server.
    public struct Wait: Sendable {
        /// The signing activation.
        public let activationID: String
        /// The longest remaining wait. It ends at once when the server's counter has reached the earlier decision.
        public let limit: Duration

        package init(activationID: String, limit: Duration) {
            self.activationID = activationID
            self.limit = limit
        }
    }
}

extension MobileTokenObservation {
    /// An entry that was written to the receipts, or could not be.
    public struct Receipt: Sendable {
        /// The kind of entry. A struct, so that a new kind breaks no `switch`.
        public struct Kind: Sendable, Hashable, CustomStringConvertible {
            /// The name of the kind.
            public let description: String

            /// The intent to decide, written in the transaction that moves the counter.
            public static let intentWritten = Self(description: "intentWritten")
            /// The outcome of the decision.
            public static let outcomeRecorded = Self(description: "outcomeRecorded")
            /// The outcome, determined later, of a decision after a lost response or a crash.
            public static let openRowResolved = Self(description: "openRowResolved")
            /// The outcome could not be written: the receipt stays open until it is resolved.
            public static let outcomeNotWritten = Self(description: "outcomeNotWritten")
        }

        /// The deciding activation.
        public let activationID: String
        /// The kind of entry.
        public let kind: Kind
        /// The outcome; `nil` for an intent.
        public let result: DecisionOutcome.Result?
        /// The reason why nothing was written, if so.
        public let error: MobileTokenError?

        package init(
            activationID: String,
            kind: Kind,
            result: DecisionOutcome.Result? = nil,
            error: MobileTokenError? = nil
        ) {
            self.activationID = activationID
            self.kind = kind
            self.result = result
            self.error = error
        }
    }
}
