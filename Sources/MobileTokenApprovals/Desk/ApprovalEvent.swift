public import Foundation

/// Something that happened to a question. Holds no values of parameters and no credentials.
public struct ApprovalEvent: Sendable, Hashable, CustomStringConvertible {
    /// The kind of event.
    public enum Kind: String, Sendable, Hashable {
        /// People can decide now.
        case asked
        /// The question came to another state.
        case changed
        /// An approval came after the end of the question. Nothing follows from it.
        case surplusApproval
        /// The server has an operation that was not the one that counts: the answer to its creation was lost. It is canceled.
        case strayCanceled
        /// The server did not answer, or with a status that is not known.
        case serverFailed
        /// The action is over, and the ledger could not be told: the question is `unknown` from now on.
        case outcomeNotRecorded
        /// A row of the ledger cannot be read: damaged, missing, or an earlier one that was put back. Nothing is done with it.
        case questionUnreadable
    }

    /// The kind of event.
    public let kind: Kind
    /// The question; empty when a row of the ledger does not tell it.
    public let questionID: String
    /// The fingerprint of the question.
    public let fingerprint: String
    /// The state of the question.
    public let state: ApprovalState
    /// A sentence for a person.
    public let message: String?
    /// The time when it happened, by the desk's clock.
    public let date: Date

    /// Kind, question and state on one line.
    public var description: String {
        "\(self.kind.rawValue) \(self.questionID) \(self.fingerprint) \(self.state.rawValue)"
            + (self.message.map { ": \($0)" } ?? "")
    }
}
