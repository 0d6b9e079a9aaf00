import Basics
package import DecisionReceipts
import MobileTokenObserving
import PowerAuthProtocol

/// The evidence about one signed decision, and the conclusions from it. A request may wait at the server for a lock, a thread or
/// a database for any time, so no timeout ends a doubt. Nor is an accepted signature a decision: the server decides the operation
/// in a second step, which may wait too. Report observations in the order in which they were made.
///
/// | observed | conclusion |
/// |---|---|
/// | the server's success response | `accepted` |
/// | the server's counter right behind the signature, no failure counted | `followed` |
/// | the server's counter past it, never seen right behind it; **then** the operation pending | `notFollowed` |
/// | the operation over; **then** the server's counter still before it | `notFollowed` |
/// | the operation over in a way that contradicts the decision, or by another signature of ours | `notFollowed` |
/// | `followed`, the operation over as decided, no refusal, no other signature of ours that may have done it | `inferred` |
/// | the operation over as decided, or in a way that no response tells, the counter as far, otherwise | `unknown` |
/// | a refusal, and the signature counted as a failure or the operation over otherwise | `refused` |
/// | a refusal otherwise | `doubtful`, or the lines above |
/// | the store restored since | as if the server's counter had been seen right behind the signature, with a doubt |
package struct DecisionFate: Sendable, Hashable {
    /// The server's counter relative to the decision's value.
    package enum Counter: Sendable, Hashable {
        /// The counter has not reached it. The request may still be processed at any time.
        case behind
        /// The counter is right behind it and no failed attempt contradicts: the signature was accepted.
        case followed
        /// The counter is right behind it, or was, but a failed attempt or a restored store leaves a doubt about the signature.
        case reached
        /// The value can no longer be accepted. It is unknown whether it was.
        case past
        /// The counter is inconclusive.
        case untold
    }

    /// The state of the operation, relative to the decision.
    package enum Operation: Sendable, Hashable {
        case pending
        /// It ended as decided.
        case asDecided
        /// It ended in a way that contradicts the decision.
        case otherwise
        /// It ended by an unknown verdict, which the history lacks, too, or shows only to two factors, if it is withheld.
        case finished, withheld
        /// The server does not know it.
        case missing
    }

    private let verdict: DecisionIntent.Verdict
    /// The response to the request, or the latest conclusion.
    private var known: DecisionOutcome.Result?
    private var isFollowed: Bool
    /// Indicates that the server may have accepted the signature and is about to decide the operation.
    private var isReached: Bool
    private var cannotBeAccepted = false
    private var end: Operation?
    private var hasDecidedNothing = false
    private var isContested = false
    private var isCountedAsFailure = false

    package init(_ verdict: DecisionIntent.Verdict, _ known: DecisionOutcome.Result?) {
        self.verdict = verdict
        self.known = known
        (self.isFollowed, self.isReached, self.cannotBeAccepted) =
            (known == .followed, known == .followed, known == .followed)
        if known == .evidenceLost { self.isReached = true }
        if case .refused(_, let code?)? = known { self.see(code) }
        if case .doubtful(_, let code?)? = known { self.see(code) }
    }

    /// Starts with the receipt of a decision.
    package init(_ decision: OpenDecision) { self.init(decision.intent.verdict, decision.result) }

    // MARK: What is seen

    package mutating func see(_ counter: Counter) {
        switch counter {
        case .behind: if let end = self.end, end != .missing { self.hasDecidedNothing = true }
        case .followed: (self.isFollowed, self.isReached, self.cannotBeAccepted) = (true, true, true)
        case .reached: (self.isReached, self.cannotBeAccepted) = (true, true)
        case .past: self.cannotBeAccepted = true
        case .untold: break
        }
    }

    package mutating func see(_ operation: Operation) {
        switch operation {
        case .pending: if self.cannotBeAccepted, !self.isReached { self.hasDecidedNothing = true }
        case .otherwise: (self.end, self.hasDecidedNothing) = (.otherwise, true)
        case .asDecided: self.end = .asDecided
        case .finished, .missing: self.end = self.end ?? operation
        case .withheld: if self.end == .finished { self.end = .withheld }
        }
    }

    /// Observes a history, signed by a later value, with the operation in this state; `nil` if it lacks the operation, and always
    /// will, because it lists the latest ones.
    package mutating func see(history operation: Operation?) {
        self.see(.past)
        if let operation { self.see(operation) }
        self.see(.withheld)
    }

    /// Observes the operation by the server's error code, if that reveals its state.
    package mutating func see(_ serverCode: String) {
        if let operation = Operation(serverCode: serverCode, of: self.verdict) { self.see(operation) }
    }

    /// Observes the receipt of another signature for the same operation.
    package mutating func see(another result: DecisionOutcome.Result?) {
        if result == .accepted { self.hasDecidedNothing = true }
        if result?.decidedNothing != true { self.isContested = true }
    }

    /// Observes that the server counted this signature as a failed attempt, or blocked or removed the activation.
    package mutating func seeFailure() { self.isCountedAsFailure = true }

    // MARK: What may be said

    /// The conclusion; `nil` while nothing is known.
    package var result: DecisionOutcome.Result? {
        if self.known == .accepted { return .accepted }
        let refusal = self.refusal
        if let refusal, self.isCountedAsFailure && !self.cannotBeAccepted || self.hasDecidedNothing {
            return .refused(code: refusal.code, serverCode: refusal.serverCode)
        }
        if self.hasDecidedNothing { return .notFollowed }
        guard self.cannotBeAccepted, let end = self.end else { return self.open }
        // A given-up decision may have been refused.
        if self.isFollowed, refusal == nil, self.known != .unknown, !self.isContested {
            if end == .asDecided { return .inferred }
            // The history reveals the verdict.
            if end == .finished { return .followed }
        }
        return .unknown
    }

    /// Indicates that further observations may be conclusive.
    package var isOpen: Bool { self.result?.isOpen ?? true }

    /// Indicates that only the verdict that ended the operation is missing.
    package var needsVerdict: Bool { self.end == .finished && !self.hasDecidedNothing }

    /// Indicates that the operation ended as decided, by any signature.
    package var hasEndedAsDecided: Bool { self.end == .asDecided }

    /// Indicates that a signature that is accepted now would tell more.
    package var needsFence: Bool { self.isOpen && !self.cannotBeAccepted }

    private var refusal: (code: String, serverCode: String?)? {
        switch self.known {
        case .refused(let code, let serverCode)?, .doubtful(let code, let serverCode)?: (code, serverCode)
        default: nil
        }
    }

    private var open: DecisionOutcome.Result? {
        if let refusal { return .doubtful(code: refusal.code, serverCode: refusal.serverCode) }
        return self.isFollowed ? .followed : self.known
    }
}

extension DecisionFate.Counter {
    /// Compares a status's counter with the decision's value. A valid two-factor signature clears the failed attempts. Possession
    /// counts none, so they prove nothing about it.
    ///
    /// - Parameter moves: The client's moves at the comparison.
    package init(_ status: ActivationStatus, moves: UInt64, of decision: OpenDecision) {
        switch status.counter.result {
        case .movedForward: self = .past
        case .deadlock, .rolledBack: self = .untold
        case .inSync, .signatureRecommended:
            let server = Int64(clamping: moves).subtractingSaturated(Int64(status.counter.distance))
            if server < decision.moves {
                self = .behind
            } else if server > decision.moves {
                self = .past
            } else {
                self = !decision.hasTwoFactors || status.failedAttempts == 0 ? .followed : .reached
            }
        }
    }
}

extension DecisionFate.Operation {
    /// Maps a server's error code; `nil` if it reveals nothing about the operation.
    package init?(serverCode: String, of verdict: DecisionIntent.Verdict) {
        switch serverCode {
        case "OPERATION_ALREADY_FINISHED": self = .finished
        case "OPERATION_ALREADY_REJECTED": self = verdict == .reject ? .asDecided : .otherwise
        case "OPERATION_ALREADY_CANCELED", "OPERATION_ALREADY_FAILED", "OPERATION_EXPIRED": self = .otherwise
        default: return nil
        }
    }
}

extension OpenDecision {
    /// Indicates that the server counts a wrong signature as a failed attempt.
    var hasTwoFactors: Bool { self.intent.factors != SignatureType.possession.rawValue }
}
