import Basics
public import PowerAuth

extension ApprovalAgent {
    /// One thing that an agent did or found out. Its description may be logged as it is.
    public struct Event: Sendable, CustomStringConvertible {
        /// The activation that it is about.
        public let activationID: String
        /// The operation that it is about, unless it is about the activation as a whole.
        public let operation: UserOperation?
        /// The kind of event, with its details.
        public let kind: Kind

        /// Creates an event, for tests of what reads it.
        public init(activationID: String, operation: UserOperation? = nil, kind: Kind) {
            self.activationID = activationID
            self.operation = operation
            self.kind = kind
        }

        /// The kinds of events.
        public enum Kind: Sendable {
            /// The policy was asked and said this. What it leaves is ``left(_:)``.
            case judged(Verdict)
            /// The operation is left to people until it changes, by the policy or without it.
            case left(LeaveReason)
            /// The server carried the decision out. When `isInferred`, no answer came, and its counter tells.
            case decided(Verdict, isInferred: Bool)
            /// The server refused the decision for good.
            case refused(MobileTokenError)
            /// The decision could not be made, and is tried again after this long.
            case retrying(after: Duration, MobileTokenError)
            /// A signed decision left, and no answer came. What became of it is found out next.
            case unanswered(MobileTokenError)
            /// The fate of a decision cannot be found out. It is not tried again.
            case unknown
            /// The operation is over without this agent: decided elsewhere, canceled or expired.
            case finishedElsewhere(MobileTokenError)
            /// The operation left the list before it was decided.
            case gone
            /// Nothing more is decided with the activation until it is looked at again: its factors are wrong, or it has ended. See
            /// ``ApprovalAgent/resumeDeciding(with:)``.
            case stopped(MobileTokenError)
            /// Deciding goes on with an activation that was stopped.
            case resumed
            /// The activation is doing otherwise than before.
            case stateChanged(OperationsFleet.ActivationState)
        }
    }

    /// The reason an operation is left to people.
    public enum LeaveReason: Sendable, CustomStringConvertible {
        /// The policy said so, for this reason, if it gave one.
        case policy(String?)
        /// It is not complete, and the policy was not asked.
        case incomplete([OperationReview.Doubt])
        /// The policy threw.
        case policyFailed(any Error)
        /// The policy did not return before its deadline.
        case policyTooSlow
        /// The server does not accept the factors that there are. Nothing was signed.
        case notAuthorizable(MobileTokenError)

        /// The reason on one line. Of an error of the policy only the type is named.
        public var description: String {
            switch self {
            case .policy(let reason): reason.map { DisplayText.escaped($0, limit: 200) } ?? "by the policy"
            case .incomplete(let doubts): "incomplete: \(doubts.map(\.description).joined(separator: ", "))"
            case .policyFailed(let error): "the policy threw \(type(of: error))"
            case .policyTooSlow: "the policy took too long"
            case .notAuthorizable(let error): error.description
            }
        }

        /// The reason in a few words, for metrics: the policy's own, or the name of the case.
        public var name: String {
            switch self {
            case .policy(let reason): reason ?? "policy"
            case .incomplete: "incomplete"
            case .policyFailed: "policyFailed"
            case .policyTooSlow: "policyTooSlow"
            case .notAuthorizable: "notAuthorizable"
            }
        }
    }
}

extension ApprovalAgent.Event {
    /// The activation, the operation and what happened, on one line.
    public var description: String {
        let names = [self.activationID] + (self.operation.map { [$0.name, $0.id] } ?? [])
        let subject = names.map { DisplayText.escaped($0, limit: 64) }.joined(separator: " ")
        return "\(subject): \(self.kind)"
    }
}

extension ApprovalAgent.Event.Kind: CustomStringConvertible {
    /// The event, on one line.
    public var description: String {
        switch self {
        case .judged(let verdict): "judged: \(verdict)"
        case .left(let reason): "left: \(reason)"
        case .decided(let verdict, let isInferred): "decided: \(verdict)\(isInferred ? ", inferred" : "")"
        case .refused(let error): "refused: \(error)"
        case .retrying(let delay, let error): "again after \(delay): \(error)"
        case .unanswered(let error): "unanswered: \(error)"
        case .unknown: "unknown"
        case .finishedElsewhere(let error): "finished elsewhere: \(error)"
        case .gone: "gone before it was decided"
        case .stopped(let error): "stopped: \(error)"
        case .resumed: "resumed"
        case .stateChanged(let state): "state: \(state)"
        }
    }
}
