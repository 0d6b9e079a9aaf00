import PowerAuth

/// A verdict that is signed.
package enum AgentDecision: Sendable, Hashable {
    case approve
    case reject(RejectionReason)

    init(_ verdict: DecisionIntent.Verdict) {
        switch verdict {
        case .approve: self = .approve
        case .reject(let reason): self = .reject(RejectionReason(reason))
        }
    }

    /// The verdict that it came from.
    package var verdict: ApprovalAgent.Verdict {
        switch self {
        case .approve: .approve
        case .reject(let reason): .reject(reason)
        }
    }
}
