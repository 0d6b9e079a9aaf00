import Basics

extension ApprovalAgent {
    /// A policy's verdict on an operation.
    public enum Verdict: Sendable, Hashable {
        /// Authorize it.
        case approve
        /// Reject it, for a reason that the server is told.
        case reject(UserOperation.RejectionReason = .unknown)
        /// Leave it to people, for a reason that events, logs and metrics show, such as `over the limit`. The policy is asked again
        /// when the operation changes.
        ///
        /// Take the reason from a fixed few that tell nothing of the operation: it is a label of a metric
        /// (``Observed/Agent/reason``), where each new text is a series of its own, and amounts or accounts would be in view.
        case leave(String?)
        /// Ask again after this long, or when the operation changes.
        case later(Duration)

        /// Leave it to people, for a reason that needs no words.
        public static var leave: Self { .leave(nil) }
    }
}

extension ApprovalAgent.Verdict: CustomStringConvertible {
    /// The verdict in a word or two, such as `reject (UNEXPECTED_OPERATION)`.
    public var description: String {
        switch self {
        case .approve: "approve"
        case .reject(let reason): "reject (\(DisplayText.escaped(reason.rawValue, limit: 64)))"
        case .leave(let reason): reason.map { "leave (\(DisplayText.escaped($0, limit: 200)))" } ?? "leave"
        case .later(let delay): "later (\(delay))"
        }
    }
}
