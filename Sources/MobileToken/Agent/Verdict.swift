import Basics

extension ApprovalAgent {
    /// What a policy says of an operation.
    public enum Verdict: Sendable, Hashable {
        /// Authorize it.
        case approve
        /// Reject it, for a reason that the server is told.
        case reject(RejectionReason = .unknown)
        /// Leave it to people. The policy is asked again when the operation changes.
        case leave
        /// Ask again after this long, or when the operation changes.
        case later(Duration)
    }
}

extension ApprovalAgent.Verdict: CustomStringConvertible {
    /// The verdict in a word or two, such as `reject (UNEXPECTED_OPERATION)`.
    public var description: String {
        switch self {
        case .approve: "approve"
        case .reject(let reason): "reject (\(DisplayText.escaped(reason.rawValue, limit: 64)))"
        case .leave: "leave"
        case .later(let delay): "later (\(delay))"
        }
    }
}
