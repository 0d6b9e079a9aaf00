import Basics
import DecisionReceipts
import Foundation
import PowerAuthClient

/// The decisions on one operation with lost responses: the one being resolved, and the next ones.
///
/// Usually there is one. There are more after a database rollback, or if people and agents decided the same operation. Then the
/// last signature is resolved first, and one finding counts for all.
struct LostDecisions: Sendable {
    private struct Question {
        let decision: OpenDecision
        let end: Duration
        /// The latest end of the operation's time.
        let patience: Duration
        let error: MobileTokenError
        let isAdopted: Bool
    }

    private var question: Question
    /// The decision that replaces the current one when its request has finished.
    private var newer: Question?
    /// Earlier open decisions, each resolved after the one before.
    private var others: [Question] = []
    /// The finding that counts, and its decision.
    private var learned: (result: AgentSupervision.Resolution, decision: OpenDecision)?

    /// The decision being resolved; after a conclusion, the one concluded about.
    private(set) var decision: OpenDecision
    /// Indicates whether a request found the operation pending.
    private(set) var isTraced = false
    /// Indicates whether the decision could no longer arrive at the last request.
    private(set) var isOver = false

    /// Creates the state for a decision of this process.
    ///
    /// - Parameters:
    ///   - error: The error instead of a response.
    ///   - end: The time after which the decision cannot reach the server any more.
    ///   - lifetime: The time to wait for the operation's decision.
    init(_ decision: OpenDecision, _ error: MobileTokenError, until end: Duration, lifetime: Duration) {
        self.init(
            Question(decision: decision, end: end, patience: end + lifetime, error: error, isAdopted: false)
        )
    }

    /// Creates the state for a decision from the store.
    init(adopting decision: OpenDecision, until end: Duration, lifetime: Duration) {
        let error = MobileTokenError(.connectionLost, "An earlier process ended before the response came")
        self.init(Question(decision: decision, end: end, patience: end + lifetime, error: error, isAdopted: true))
    }

    private init(_ question: Question) {
        self.question = question
        self.decision = question.decision
    }

    /// The time after which the decision cannot reach the server any more.
    var end: Duration { self.question.end }
    /// The error instead of a response.
    var error: MobileTokenError { self.question.error }
    /// Indicates whether the decision came from the store, so that another process or a person may have made it.
    var isAdopted: Bool { self.question.isAdopted }

    /// Adds another one. The earlier of two signatures is resolved after the later one.
    ///
    /// If the store has only a newer decision, its process has resolved the earlier ones.
    ///
    /// - Parameter isAsking: `true` during a request.
    /// - Returns: `true` if the other one must be resolved now.
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

    /// Begins a request.
    ///
    /// - Returns: `isOver` is `true` if the decision can no longer arrive, `isLast` if there is no further request.
    mutating func ask(at now: Duration) -> (isOver: Bool, isLast: Bool) {
        self.isOver = self.question.end <= now
        return (self.isOver, self.isOver && self.question.patience <= now)
    }

    /// Notes that the operation was pending, and the decision may still arrive.
    mutating func trace() { self.isTraced = true }

    /// Returns the conclusion about all of them; `nil` if another one must be resolved now.
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
    /// The rank of the finding among those about several decisions. That one decided nothing does not tell whether another one did.
    fileprivate var weight: Int {
        switch self {
        case .failed: 0
        case .pending, .undetermined: 1
        case .elsewhere: 2
        case .unknown: 3
        case .ours: 4
        }
    }

    /// Returns whether nothing more can be learned about the decision.
    ///
    /// - Parameter isOver: `true` if the decision could no longer arrive at the time of the request.
    fileprivate func isLast(isOver: Bool) -> Bool {
        switch self {
        case .failed: false
        case .pending, .undetermined: isOver
        case .unknown, .elsewhere, .ours: true
        }
    }
}

extension UserOperation {
    /// The time to wait for a decision, from its creation, limited to one minute through one day.
    var lifetime: Duration {
        min(max(Duration(boundedSeconds: self.expires.timeIntervalSince(self.created)), .seconds(60)), .seconds(86_400))
    }
}

extension ApprovalAgent.Verdict {
    /// Converts the recorded verdict of a policy.
    init(_ intent: DecisionIntent) {
        switch intent.verdict {
        case .approve: self = .approve
        case .reject: self = .reject(intent.reason.map { UserOperation.RejectionReason(rawValue: $0) } ?? .unknown)
        }
    }
}
