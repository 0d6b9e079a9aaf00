import Basics

extension ApprovalAgent {
    /// A policy's verdict on an operation.
    public enum Verdict: Sendable, Hashable {
        /// Authorize the operation.
        case approve
        /// Reject the operation, with a reason for the server.
        case reject(UserOperation.RejectionReason = .unknown)
        /// Leave the operation to people, with a reason for events, logs and metrics, such as `over the limit`. The policy is
        /// asked again when the operation changes.
        ///
        /// Use a few fixed reasons without operation data. The reason is a metric label
        /// (`MobileTokenObservation.Agent.reason`): each new string creates a series, and exposes any amounts or accounts in it.
        case deferToPeople(reason: String?)
        /// Ask again after this delay, or when the operation changes.
        case askAgain(after: Duration)

        /// Leave the operation to people without a reason.
        public static var deferToPeople: Self { .deferToPeople(reason: nil) }
    }
}

extension ApprovalAgent.Verdict: CustomStringConvertible {
    /// The verdict in a word or two, such as `reject (UNEXPECTED_OPERATION)`.
    public var description: String {
        switch self {
        case .approve: "approve"
        case .reject(let reason): "reject (\(DisplayText.escaped(reason.rawValue, limit: 64)))"
        case .deferToPeople(let reason): reason.map { "leave (\(DisplayText.escaped($0, limit: 200)))" } ?? "leave"
        case .askAgain(let delay): "later (\(delay))"
        }
    }
}
