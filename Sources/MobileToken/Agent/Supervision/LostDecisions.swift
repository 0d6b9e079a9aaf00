import Basics
import Foundation
import PowerAuth

/// The decisions on one operation whose answers were lost: the one that is asked about, and those that come after it.
///
/// Usually there is one. There are more when a database went back, or when people and agents decided the same operation: then the one that
/// was signed last comes first, and what says most of the operation counts.
struct LostDecisions: Sendable {
    private struct Question {
        let decision: OpenDecision
        /// The time from which on the decision cannot reach the server any more.
        let end: Duration
        /// The end of the operation's time, at the latest.
        let patience: Duration
        let error: MobileTokenError
        /// Indicates whether the store told of it, so that another process or a person may have made it.
        let isAdopted: Bool
    }

    private var question: Question
    /// The decision that is asked about in the place of that one, as soon as the question under way has its answer.
    private var newer: Question?
    /// Decisions that were signed earlier and are open all the same: each is asked about when there is nothing more to learn of the one
    /// before.
    private var others: [Question] = []
    /// The finding that says most, and the decision that it is of.
    private var learned: (result: AgentSupervision.Resolution, decision: OpenDecision)?

    /// The decision that is asked about; once there is a conclusion, the one that it is of.
    private(set) var decision: OpenDecision
    /// Indicates whether its fate was asked for, and the operation was pending.
    private(set) var isTraced = false
    /// Indicates whether it could not arrive any more when its fate was asked for last.
    private(set) var isOver = false

    /// Begins with a decision of this process.
    ///
    /// - Parameters:
    ///   - error: The error that took the place of the answer.
    ///   - end: The time from which on the decision cannot reach the server any more.
    ///   - lifetime: The time for which the operation's decision is waited for.
    init(_ decision: OpenDecision, _ error: MobileTokenError, until end: Duration, lifetime: Duration) {
        self.init(
            Question(decision: decision, end: end, patience: end + lifetime, error: error, isAdopted: false)
        )
    }

    /// Begins with a decision of which the store told.
    init(adopting decision: OpenDecision, until end: Duration, lifetime: Duration) {
        let error = MobileTokenError(.connectionLost, "An earlier process ended before the response came")
        self.init(Question(decision: decision, end: end, patience: end + lifetime, error: error, isAdopted: true))
    }

    private init(_ question: Question) {
        self.question = question
        self.decision = question.decision
    }

    /// The time from which on the decision cannot reach the server any more.
    var end: Duration { self.question.end }
    /// The error that took the place of the answer.
    var error: MobileTokenError { self.question.error }
    /// Indicates whether the store told of the decision, so that another process or a person may have made it.
    var isAdopted: Bool { self.question.isAdopted }

    /// Takes another one in. Of two, the one that was signed earlier is asked about after the other.
    ///
    /// When the store tells of a newer decision alone, the process that signed it has found out about the earlier ones.
    ///
    /// - Parameter isAsking: `true` while a question is under way.
    /// - Returns: `true` when the other one is to be asked about now.
    mutating func add(_ other: Self, isAsking: Bool) -> Bool {
        let latest = self.newer ?? self.question
        guard !([latest] + self.others).contains(where: { $0.decision.isSame(as: other.decision) }) else {
            return false
        }
        guard latest.decision.moves < other.decision.moves else {
            self.others.append(other.question)
            return false
        }
        guard isAsking else {
            self.turn(to: other.question)
            return true
        }
        if let newer { self.others.append(newer) }
        self.newer = other.question
        return false
    }

    /// Begins a question.
    ///
    /// - Returns: `isOver` is `true` if the decision cannot arrive any more, `isLast` if it is not asked about again.
    mutating func ask(at now: Duration) -> (isOver: Bool, isLast: Bool) {
        self.isOver = self.question.end <= now
        return (self.isOver, self.isOver && self.question.patience <= now)
    }

    /// The operation was pending, and the decision may still arrive.
    mutating func trace() { self.isTraced = true }

    /// Returns what is known of all of them; `nil` when another one is to be asked about now.
    mutating func conclusion(from result: AgentSupervision.Resolution) -> AgentSupervision.Resolution? {
        if let newer = self.newer.take() {
            self.turn(to: newer)
            return nil
        }
        guard result.isLast(isOver: self.isOver) else { return result }
        if result.weight > self.learned?.result.weight ?? 0 { self.learned = (result, self.decision) }
        if let next = self.others.popLast() {
            self.turn(to: next)
            return nil
        }
        guard let learned = self.learned.take() else { return result }
        self.decision = learned.decision
        return learned.result
    }

    private mutating func turn(to question: Question) {
        (self.question, self.decision) = (question, question.decision)
        (self.isTraced, self.isOver) = (false, false)
    }
}

extension AgentSupervision.Resolution {
    /// Indicates how much it says of the operation.
    fileprivate var weight: Int {
        switch self {
        case .failed: 0
        case .pending: 1
        case .unknown: 2
        case .elsewhere: 3
        case .ours: 4
        }
    }

    /// Returns whether there is nothing more to learn of the decision.
    ///
    /// - Parameter isOver: `true` if the decision could not arrive any more when its fate was asked for.
    fileprivate func isLast(isOver: Bool) -> Bool {
        switch self {
        case .failed: false
        case .pending: isOver
        case .unknown, .elsewhere, .ours: true
        }
    }
}

extension OpenDecision {
    fileprivate func isSame(as other: Self) -> Bool { self.moves == other.moves && self.tag == other.tag }
}
