public import Foundation

/// An event of a question. It contains no parameter values and no credentials.
public struct ApprovalEvent: Sendable, Hashable, CustomStringConvertible {
    /// The kind of event.
    public enum Kind: String, Sendable, Hashable {
        /// People can now decide.
        case asked
        /// The question's state changed.
        case changed
        /// An approval arrived after the question's end. It has no effect.
        case surplusApproval
        /// A lost creation left an extra operation at the server. It is canceled.
        case strayCanceled
        /// The server did not respond, or reported an unknown status.
        case serverFailed
        /// The action ended, but the ledger could not record it: the question is now `unknown`.
        case outcomeNotRecorded
        /// A row of the ledger is unreadable: damaged, missing, or replaced by an earlier version. It is ignored.
        case questionUnreadable
    }

    /// The kind of event.
    public let kind: Kind
    /// The question; empty if the ledger's row does not name it.
    public let questionID: String
    /// The fingerprint of the question.
    public let fingerprint: String
    /// The state of the question.
    public let state: ApprovalState
    /// A message for a person.
    public let message: String?
    /// The time of the event, by the desk's clock.
    public let date: Date

    /// The kind, question and state on one line.
    public var description: String {
        "\(self.kind.rawValue) \(self.questionID) \(self.fingerprint) \(self.state.rawValue)"
            + (self.message.map { ": \($0)" } ?? "")
    }
}
