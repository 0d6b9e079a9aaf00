import Basics
import DecisionReceipts
package import PowerAuthClient

extension AgentSupervision {
    package enum PolicyResult: Sendable {
        case verdict(ApprovalAgent.Verdict)
        case failed(any Error)
    }

    /// The conclusion about a decision with a lost response.
    package enum Resolution: Sendable {
        /// The server followed the counter, and the operation ended as decided.
        case ours
        /// The operation ended otherwise.
        case elsewhere(MobileTokenError)
        /// The operation is still pending: once the request cannot arrive any more, the signature decided nothing.
        case pending
        /// The operation is still pending, and only its end can tell more about the decision.
        case undetermined
        /// The outcome can no longer be determined.
        case unknown
        case failed(MobileTokenError)
    }

    /// Handles the policy's return, in time or late.
    package mutating func policyReturned(_ result: PolicyResult, from job: Job, at now: Duration) -> [Action] {
        self.policyIsGone(job, at: now)
        return self.finish(job, at: now) { $0.judged(result, at: now) }
    }

    /// Handles the late return of an abandoned policy: a changed operation may be reviewed again.
    private mutating func policyIsGone(_ job: Job, at now: Duration) {
        let (id, operationID) = (ExactString(job.activationID), ExactString(job.operationID))
        guard var entry = self.activations[id]?[operationID], entry.abandonedPolicy == job.number else { return }
        entry.policyIsGone()
        self.keep(entry, as: operationID, of: id, at: now)
    }

    /// Handles the result of sending a decision.
    ///
    /// - Parameters:
    ///   - error: The error of a failed decision; `nil` if the server carried it out.
    ///   - random: A number in 0..<1, which spreads the next attempt.
    package mutating func sent(
        _ error: MobileTokenError?,
        by job: Job,
        at now: Duration,
        random: Double
    ) -> [Action] {
        guard let error else { return self.finish(job, at: now) { $0.accepted(isInferred: false) } }
        if let decision = error.unansweredDecision {
            // A server that reports its own failure is done with the request. A page may come from a gateway before a server that
            // still works on it.
            let isOver = error.httpStatus == 500 && error.serverCode != nil
            let end = isOver ? now : now + self.limits.requestTimeout.bounded
            return self.finish(job, at: now) { $0.lost(decision, error, until: end) }
        }
        var actions: [Action] = []
        if case .ofActivation = DecisionFailure(error) { actions = self.stop(job.activationID, error, at: now) }
        return self.finish(job, at: now) { $0.failed(error, at: now, random: random) } + actions
    }

    /// Handles the result of resolving a decision.
    ///
    /// - Parameter random: A number in 0..<1, which spreads the next attempt.
    package mutating func resolved(_ result: Resolution, by job: Job, at now: Duration, random: Double) -> [Action] {
        if case .unknown = result { self.unknownCount += 1 }
        var actions: [Action] = []
        if case .failed(let error) = result, error.code == .signaturesAreLost {
            actions = self.stop(job.activationID, error, at: now)
        }
        let isReleased = self.activations[ExactString(job.activationID)]?.isReleased ?? false
        return self.finish(job, at: now) { $0.resolved(result, isReleased: isReleased, at: now, random: random) }
            + actions
    }

    private mutating func finish(
        _ job: Job,
        at now: Duration,
        _ change: (inout SupervisedOperation) -> ApprovalAgent.Event.Kind?
    ) -> [Action] {
        var event: ApprovalAgent.Event.Kind?
        guard let entry = self.end(job, at: now, { event = change(&$0) }), let event else { return self.begin(at: now) }
        return [.report(entry.event(of: job.activationID, event))] + self.begin(at: now)
    }
}

extension AgentSupervision.Resolution {
    /// Concludes the consequence for an agent.
    ///
    /// - Parameter end: The operation's end, as the server reported it; `nil` while it is pending.
    package init(_ fate: DecisionFate, end: MobileTokenError?) {
        switch fate.result {
        case .accepted?, .inferred?: self = .ours
        case .notFollowed?, .refused?: self = end.map { .elsewhere($0) } ?? .pending
        case .unknown?: self = .unknown
        // Over, with an unknown verdict.
        case .followed?, .doubtful?, .unanswered?, nil:
            self = end == nil ? .undetermined : fate.needsFence ? .pending : .unknown
        }
    }
}

extension MobileTokenError {
    /// The signed decision, if the server has not reported its outcome.
    var unansweredDecision: OpenDecision? {
        switch self.decision?.result {
        case .accepted, .refused, .unknown, nil: nil
        default: self.decision?.decision
        }
    }
}
