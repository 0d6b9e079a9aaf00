public import Foundation

/// The outcome of a ``DecisionIntent``, written after the response, or once its fate was found out.
public struct DecisionOutcome: Sendable, Hashable {
    /// The end of a decision.
    public enum Result: Sendable, Hashable {
        /// The server said that it carried the decision out.
        case accepted
        /// The server refused in its own words, or the request never left, or the operation has ended in a way that a decision does not
        /// bring about. Nothing was decided.
        case refused(code: String, serverCode: String?)
        /// No response, or none that tells, such as the page of a proxy. The intent stays open until one of the cases below is
        /// written over this one.
        case unanswered(code: String)
        /// The server accepted the signature, as its counter tells. Its response was lost, or it refused all the same: it may have
        /// received the request twice, and carried out the first copy. The intent stays open as after ``unanswered(code:)``.
        case followed
        /// The server followed the counter and the operation is finished: in all likelihood ours. Had the user decided the
        /// operation on another phone in that moment, it would look the same. Where the store knows another signature that may have
        /// decided it, nothing is inferred.
        case inferred
        /// The signature decided nothing: the server did not follow the counter, or the operation was found waiting all the same. It
        /// may be finished since, by another device or by the bank.
        case notFollowed
        /// It cannot be found out any more.
        case unknown
    }

    /// The end of the decision.
    public let result: Result
    /// The time when that was known, by the local clock.
    public let localDate: Date
    /// The time when that was known, by the server's clock; `nil` when only the local one is known.
    public let serverDate: Date?

    /// Creates an outcome.
    public init(_ result: Result, localDate: Date, serverDate: Date?) {
        self.result = result
        self.localDate = localDate
        self.serverDate = serverDate
    }

    /// Indicates that the fate of the decision has still to be found out.
    public var isOpen: Bool { self.result.isOpen }

    /// Indicates that nothing takes its place any more.
    package var isFinal: Bool { self.result.weight == Result.finalWeight }

    /// Returns whether this takes the place of what was known before: knowledge replaces ignorance, and never the reverse. While nothing
    /// is known for good, each attempt to find out is noted.
    ///
    /// A store asks it before it adds the entry.
    public func replaces(_ other: Self?) -> Bool {
        guard let other else { return true }
        let (new, old) = (self.result.weight, other.result.weight)
        return new > old || new == old && self.isOpen
    }
}

extension DecisionOutcome.Result {
    var isOpen: Bool { self.weight < Self.decidedWeight }

    /// Indicates that the decision is known not to have been carried out.
    var decidedNothing: Bool {
        switch self {
        case .refused, .notFollowed: true
        case .accepted, .unanswered, .followed, .inferred, .unknown: false
        }
    }

    /// The weight that an outcome is of which nothing more is to be found out.
    package static let decidedWeight = 3
    /// The weight of an outcome that nothing replaces.
    package static let finalWeight = 5

    /// The weight of the result: more replaces less. A result that weighs less than ``decidedWeight`` is open, and replaces as much.
    package var weight: Int {
        switch self {
        case .unanswered: 1
        case .followed: 2
        case .unknown: Self.decidedWeight
        case .notFollowed, .inferred: 4
        case .accepted, .refused: Self.finalWeight
        }
    }
}

extension DecisionOutcome.Result: CustomStringConvertible {
    /// The name of the case, and the code of the error if there is one.
    public var description: String {
        switch self {
        case .accepted: "accepted"
        case .refused(let code, let serverCode): "refused (\(serverCode ?? code))"
        case .unanswered(let code): "unanswered (\(code))"
        case .followed: "followed"
        case .inferred: "inferred"
        case .notFollowed: "not followed"
        case .unknown: "unknown"
        }
    }
}
