extension Observed {
    /// A change in the state of one activation of a fleet or an agent.
    public struct ActivationState: Sendable {
        /// The activation.
        public let activationID: String
        /// The phase that it is in, such as `active` or `blocked`.
        public let phase: String
        /// Indicates whether it is not polled any more.
        public let isEnded: Bool
        /// The reason it ended or waits, where that is so.
        public let reason: MobileTokenError?

        package init(activationID: String, phase: String, isEnded: Bool, reason: MobileTokenError? = nil) {
            self.activationID = activationID
            self.phase = phase
            self.isEnded = isEnded
            self.reason = reason
        }
    }
}

extension Observed {
    /// One thing that an agent did or found out.
    public struct Agent: Sendable {
        /// The activation that it is about.
        public let activationID: String
        /// The operation that it is about; `nil` when it is about the activation as a whole.
        public let operationID: String?
        /// The operation's name, such as `authorize_payment`.
        public let operationName: String?
        /// The kind of event, in one word that metrics can count: `judged`, `left`, `decided`, `refused`, `retrying`, `unanswered`,
        /// `unknown`, `finishedElsewhere`, `gone`, `stopped` or `resumed`.
        public let kind: String
        /// The reason the operation was left, in a few words that metrics can count: the policy's own, `incomplete`, `policyFailed`,
        /// `policyTooSlow` or `notAuthorizable`. `nil` for other kinds.
        public let reason: String?
        /// The verdict, the reason or the error, on one line for people. Empty where there is nothing to add.
        public let detail: String
        /// The error, where that is what happened.
        public let error: MobileTokenError?

        package init(
            activationID: String,
            operationID: String?,
            operationName: String?,
            kind: String,
            reason: String? = nil,
            detail: String,
            error: MobileTokenError? = nil
        ) {
            self.activationID = activationID
            self.operationID = operationID
            self.operationName = operationName
            self.kind = kind
            self.reason = reason
            self.detail = detail
            self.error = error
        }
    }
}
