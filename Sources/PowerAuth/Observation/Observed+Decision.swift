import PowerAuthProtocol

extension Observed {
    /// A decision that was signed, or was to be, and how it ended.
    ///
    /// A decision whose result is ``DecisionOutcome/Result/unanswered(code:)`` is told of again once its fate is found out.
    public struct Decision: Sendable {
        /// The activation that decides.
        public let activationID: String
        /// The operation that is decided.
        public let operationID: String
        /// The direction of the decision.
        public let verdict: DecisionIntent.Verdict
        /// The factors that signed, as the protocol names them; `nil` when this process did not make the signature.
        public let factors: String?
        /// The name of the policy that decided; `nil` for a call by hand, and when this process did not make the signature.
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

        init(_ intent: DecisionIntent, _ result: DecisionOutcome.Result) {
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

extension Observed {
    /// Something that was written into the receipts, or could not be.
    public struct Receipt: Sendable {
        /// The kind of entry. A struct, so that another kind breaks nobody's `switch`.
        public struct Kind: Sendable, Hashable, CustomStringConvertible {
            /// The name of the kind.
            public let description: String

            /// The intent to decide, written in the step that moves the counter.
            public static let intentWritten = Self(description: "intentWritten")
            /// The outcome of the decision.
            public static let outcomeRecorded = Self(description: "outcomeRecorded")
            /// The outcome of a decision whose answer was lost or whose process died, found out later.
            public static let openRowResolved = Self(description: "openRowResolved")
            /// The outcome could not be written: the row stays open, and is resolved later.
            public static let outcomeNotWritten = Self(description: "outcomeNotWritten")
        }

        /// The activation that decides.
        public let activationID: String
        /// The kind of entry.
        public let kind: Kind
        /// The outcome, unless it is an intent.
        public let result: DecisionOutcome.Result?
        /// The reason nothing was written, where that is so.
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
