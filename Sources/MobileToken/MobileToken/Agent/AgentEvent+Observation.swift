import MobileTokenObserving
import PowerAuthClient

extension MobileTokenObservation.Agent {
    /// Creates an observer's event; `nil` for a change of state, which the observer receives separately.
    init?(_ event: ApprovalAgent.Event) {
        guard let (kind, detail, error) = event.kind.observed else { return nil }
        self.init(
            activationID: event.activationID,
            operationID: event.operation?.id ?? event.kind.unreadableID,
            operationName: event.operation?.name,
            kind: kind,
            reason: event.kind.leaveReason?.name,
            detail: detail,
            error: error
        )
    }
}

extension ApprovalAgent.Event.Kind {
    fileprivate var leaveReason: ApprovalAgent.LeaveReason? { if case .left(let reason) = self { reason } else { nil } }

    fileprivate var unreadableID: String? { if case .unreadable(let operation) = self { operation.id } else { nil } }

    /// The kind in one word, its detail, and the error if it is one.
    fileprivate var observed: (kind: String, detail: String, error: MobileTokenError?)? {
        switch self {
        case .judged(let verdict): ("judged", verdict.description, nil)
        case .left(.notAuthorizable(let error)): ("left", error.description, error)
        case .left(let reason): ("left", reason.description, nil)
        case .decided(let verdict, let isInferred):
            ("decided", isInferred ? "\(verdict), inferred" : verdict.description, nil)
        case .refused(let error): ("refused", error.description, error)
        case .retrying(let delay, let error): ("retrying", "again after \(delay): \(error)", error)
        case .waiting(let limit): ("waiting", "for an earlier decision, \(limit) at most", nil)
        case .unanswered(let error): ("unanswered", error.description, error)
        case .unknown: ("unknown", "", nil)
        case .finishedElsewhere(let error): ("finishedElsewhere", error.description, error)
        case .gone: ("gone", "", nil)
        case .stopped(let error): ("stopped", error.description, error)
        case .resumed: ("resumed", "", nil)
        case .unreadable(let operation): ("unreadable", operation.description, nil)
        case .stateChanged: nil
        }
    }
}
