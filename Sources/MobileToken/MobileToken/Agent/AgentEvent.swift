import Basics
public import PowerAuthClient

extension ApprovalAgent {
    /// An agent's action or finding. Its description is safe to log.
    public struct Event: Sendable, CustomStringConvertible {
        /// The activation concerned.
        public let activationID: String
        /// The operation concerned, unless the event concerns the whole activation.
        public let operation: UserOperation?
        /// The kind of event, with its details.
        public let kind: Kind

        /// Creates an event, for tests.
        package init(activationID: String, operation: UserOperation? = nil, kind: Kind) {
            self.activationID = activationID
            self.operation = operation
            self.kind = kind
        }

        /// The kinds of events.
        public enum Kind: Sendable {
            /// The policy returned a verdict. Operations that it leaves follow as ``left(_:)``.
            case judged(Verdict)
            /// The operation is left to people until it changes, with or without asking the policy.
            case left(LeaveReason)
            /// The server carried out the decision. If `isInferred`, no response came and its counter shows it.
            case decided(Verdict, isInferred: Bool)
            /// The server refused the decision permanently.
            case refused(MobileTokenError)
            /// The decision failed, and is retried after this delay.
            case retrying(after: Duration, MobileTokenError)
            /// The decision waits, at most this long, until an earlier one of the activation can no longer arrive at the server.
            /// Nothing is signed meanwhile.
            case waiting(upTo: Duration)
            /// A signed decision was sent, and no response came. The agent determines its outcome next.
            case unanswered(MobileTokenError)
            /// The outcome of a decision cannot be determined. It is not retried.
            case unknown
            /// The operation ended without this agent: decided elsewhere, canceled or expired.
            case finishedElsewhere(MobileTokenError)
            /// The operation left the list undecided.
            case gone
            /// The agent stops deciding with the activation until it checks it again: the factors are wrong, or the activation
            /// has ended. See ``ApprovalAgent/resumeDeciding(with:)``.
            case stopped(MobileTokenError)
            /// The agent resumes deciding with a stopped activation.
            case resumed
            /// A listed operation is unreadable: it is not decided here, and the policy is not asked.
            case unreadable(OperationList.Unreadable)
            /// The activation's state changed.
            case stateChanged(OperationsFleet.ActivationState)
        }
    }

    /// The reason an operation is left to people.
    public enum LeaveReason: Sendable, CustomStringConvertible {
        /// The policy left it, with an optional reason.
        case policy(String?)
        /// It is not complete, so the policy was not asked.
        case incomplete([OperationReview.Doubt])
        /// The policy threw an error.
        case policyFailed(any Error)
        /// The policy did not return before its deadline.
        case policyTooSlow
        /// The server does not accept the available factors. Nothing was signed.
        case notAuthorizable(MobileTokenError)
        /// The approval would pass the limit with this name. Nothing was signed.
        case limitReached(String)

        /// The reason on one line. For a policy's error, only its type.
        public var description: String {
            switch self {
            case .policy(let reason): reason.map { DisplayText.escaped($0, limit: 200) } ?? "by the policy"
            case .incomplete(let doubts): "incomplete: \(doubts.map(\.description).joined(separator: ", "))"
            case .policyFailed(let error): "the policy threw \(type(of: error))"
            case .policyTooSlow: "the policy took too long"
            case .notAuthorizable(let error): error.description
            case .limitReached(let name): "the limit '\(DisplayText.escaped(name, limit: 64))' is reached"
            }
        }

        /// The reason in a few words, for metrics: the policy's own, or the case's name.
        public var name: String {
            switch self {
            case .policy(let reason): reason ?? "policy"
            case .incomplete: "incomplete"
            case .policyFailed: "policyFailed"
            case .policyTooSlow: "policyTooSlow"
            case .notAuthorizable: "notAuthorizable"
            case .limitReached: "limitReached"
            }
        }
    }
}

extension ApprovalAgent.Event {
    /// The activation, the operation and the event, on one line.
    public var description: String {
        let names = [self.activationID] + (self.operation.map { [$0.name, $0.id] } ?? [])
        let subject = names.map { DisplayText.escaped($0, limit: 64) }.joined(separator: " ")
        return "\(subject): \(self.kind)"
    }
}

extension ApprovalAgent.Event.Kind: CustomStringConvertible {
    /// The event on one line.
    public var description: String {
        switch self {
        case .judged(let verdict): "judged: \(verdict)"
        case .left(let reason): "left: \(reason)"
        case .decided(let verdict, let isInferred): "decided: \(verdict)\(isInferred ? ", inferred" : "")"
        case .refused(let error): "refused: \(error)"
        case .retrying(let delay, let error): "again after \(delay): \(error)"
        case .waiting(let limit): "waiting for an earlier decision, \(limit) at most"
        case .unanswered(let error): "unanswered: \(error)"
        case .unknown: "unknown"
        case .finishedElsewhere(let error): "finished elsewhere: \(error)"
        case .gone: "gone before it was decided"
        case .stopped(let error): "stopped: \(error)"
        case .resumed: "resumed"
        case .unreadable(let operation): "unreadable: \(operation)"
        case .stateChanged(let state): "state: \(state)"
        }
    }
}
