public import MobileTokenErrors

extension MobileTokenObservation {
    /// A state change of an activation in a fleet or an agent.
    public struct ActivationState: Sendable {
        /// The activation.
        public let activationID: String
        /// The phase, such as `active` or `blocked`.
        public let phase: String
        /// Indicates whether polling has ended.
        public let isEnded: Bool
        /// The reason for the end or the wait, if any.
        public let reason: MobileTokenError?

        package init(activationID: String, phase: String, isEnded: Bool, reason: MobileTokenError? = nil) {
            self.activationID = activationID
            self.phase = phase
            self.isEnded = isEnded
            self.reason = reason
        }
    }
}

extension MobileTokenObservation {
    /// An event of an agent.
    public struct Agent: Sendable {
        /// The activation concerned.
        public let activationID: String
        /// The operation concerned; `nil` if the event concerns the whole activation.
        public let operationID: String?
        /// The operation's name, such as `authorize_payment`.
        public let operationName: String?
        /// The kind of event, as a metrics label: `judged`, `left`, `decided`, `refused`, `retrying`, `waiting`, `unanswered`,
        /// `unknown`, `finishedElsewhere`, `gone`, `stopped`, `resumed` or `unreadable`.
        public let kind: String
        /// The reason why the operation was left to people, as a metrics label: the policy's own, `incomplete`, `policyFailed`,
        /// `policyTooSlow` or `notAuthorizable`. `nil` for other kinds.
        public let reason: String?
        /// The verdict, reason or error, on one line for people; may be empty.
        public let detail: String
        /// The error, if the event is one.
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
