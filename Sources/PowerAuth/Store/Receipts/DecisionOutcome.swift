public import Foundation

/// What became of a ``DecisionIntent``, written after the response, or once its fate was found out.
public struct DecisionOutcome: Sendable, Hashable {
    /// How a decision ended.
    public enum Result: Sendable, Hashable {
        /// The server said that it carried the decision out.
        case accepted
        /// The server refused, or the request never left. Nothing was decided.
        case refused(code: String, serverCode: String?)
        /// No response, or none that tells. The intent stays open until one of the cases below is written over this one.
        case unanswered(code: String)
        /// The server followed the counter and the operation is finished: in all likelihood ours.
        case inferred
        /// The server did not follow the counter: the signature decided nothing. The operation may be finished all the same, by
        /// another device or by the bank.
        case notFollowed
        /// It cannot be found out any more.
        case unknown
    }

    /// How the decision ended.
    public let result: Result
    /// When that was known, by the local clock.
    public let localDate: Date
    /// When that was known, by the server's clock; `nil` when only the local one is known.
    public let serverDate: Date?

    /// Creates an outcome.
    public init(_ result: Result, localDate: Date, serverDate: Date?) {
        self.result = result
        self.localDate = localDate
        self.serverDate = serverDate
    }

    /// Whether the fate of the decision has still to be found out.
    public var isOpen: Bool { if case .unanswered = self.result { true } else { false } }
}

extension DecisionOutcome.Result: CustomStringConvertible {
    /// The name of the case, and the code of the error if there is one.
    public var description: String {
        switch self {
        case .accepted: "accepted"
        case .refused(let code, let serverCode): "refused (\(serverCode ?? code))"
        case .unanswered(let code): "unanswered (\(code))"
        case .inferred: "inferred"
        case .notFollowed: "not followed"
        case .unknown: "unknown"
        }
    }
}
