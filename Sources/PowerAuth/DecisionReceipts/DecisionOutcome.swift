public import Foundation

/// The outcome of a ``DecisionIntent``, recorded after the response or when it is determined later.
public struct DecisionOutcome: Sendable, Hashable {
    /// The result of a decision.
    public enum Result: Sendable, Hashable {
        /// The server confirmed the decision.
        case accepted
        /// The server refused in its own envelope and its status does not contradict that, or the request was never sent. Nothing
        /// was decided.
        case refused(code: String, serverCode: String?)
        /// There was no conclusive response: none at all, or for example a proxy's page. The intent stays open until a later case
        /// replaces this one. With the code `stateRolledBack`, the store was restored since, and only the operation's end tells more.
        case unanswered(code: String)
        /// The server's counter shows that it accepted the signature, but the response was lost. The intent stays open.
        case followed
        /// The server refused in its own envelope, but may have carried out a duplicate of the request that a proxy sent before.
        /// The intent stays open.
        case doubtful(code: String, serverCode: String?)
        /// The server followed the counter and the operation ended as decided, in all likelihood by this decision. The same
        /// decision on the user's phone at that moment would look the same. Not used if another signature may have decided, or
        /// the server refused this one.
        case inferred
        /// The signature decided nothing: the operation was still pending when the signature expired, or it ended differently.
        case notFollowed
        /// The outcome can no longer be determined.
        case unknown
    }

    /// The result.
    public let result: Result
    /// When the result was known, by the local clock.
    public let localDate: Date
    /// When the result was known, by the server's clock; `nil` if only the local one is known.
    public let serverDate: Date?

    /// Creates an outcome.
    public init(_ result: Result, localDate: Date, serverDate: Date?) {
        self.result = result
        self.localDate = localDate
        self.serverDate = serverDate
    }

    /// Indicates that the outcome has yet to be determined.
    public var isOpen: Bool { self.result.isOpen }

    /// Indicates that no outcome can replace this one.
    package var isFinal: Bool { self.result.weight == Result.finalWeight }

    /// The outcome to write if a restored store has lost the intent.
    package var withRestoredIntent: Self {
        switch self.result {
        case .unanswered, .doubtful: Self(.evidenceLost, localDate: self.localDate, serverDate: self.serverDate)
        case .accepted, .refused, .followed, .inferred, .notFollowed, .unknown: self
        }
    }

    /// Returns whether this outcome may replace `other`. A definite outcome replaces an open one, never the reverse; an open one
    /// may replace an open one.
    public func replaces(_ other: Self?) -> Bool {
        guard let other else { return true }
        let (new, old) = (self.result.weight, other.result.weight)
        return new > old || new == old && self.isOpen
    }
}

extension DecisionOutcome.Result {
    package var isOpen: Bool { self.weight < Self.decidedWeight }

    /// Indicates that the decision was certainly not carried out.
    package var decidedNothing: Bool {
        switch self {
        case .refused, .notFollowed: true
        case .accepted, .unanswered, .doubtful, .followed, .inferred, .unknown: false
        }
    }

    /// The outcome of an open decision whose store was restored since: signatures were made that its journal does not know, and a
    /// status before them may have shown that this one was accepted.
    package static let evidenceLost = Self.unanswered(code: "stateRolledBack")

    /// The lowest weight of an outcome that is not open.
    package static let decidedWeight = 3
    package static let finalWeight = 5

    /// The weight of the result: a higher one replaces a lower one. Results below ``decidedWeight`` are open and also replace
    /// their equals.
    package var weight: Int {
        switch self {
        case .unanswered: self == .evidenceLost ? 2 : 1
        case .followed, .doubtful: 2
        case .unknown: Self.decidedWeight
        case .notFollowed, .inferred: 4
        case .accepted, .refused: Self.finalWeight
        }
    }
}

extension DecisionOutcome.Result: CustomStringConvertible {
    /// The name of the case, without its values: a receipt's `result`, and a label of few values for metrics.
    public var name: String {
        switch self {
        case .accepted: "accepted"
        case .refused: "refused"
        case .unanswered: "unanswered"
        case .followed: "followed"
        case .doubtful: "doubtful"
        case .inferred: "inferred"
        case .notFollowed: "notFollowed"
        case .unknown: "unknown"
        }
    }

    /// The name of the case, with the error code if there is one.
    public var description: String {
        switch self {
        case .refused(let code, let serverCode), .doubtful(let code, let serverCode):
            "\(self.name) (\(serverCode ?? code))"
        case .unanswered(let code): "\(self.name) (\(code))"
        case .notFollowed: "not followed"
        case .accepted, .followed, .inferred, .unknown: self.name
        }
    }
}
