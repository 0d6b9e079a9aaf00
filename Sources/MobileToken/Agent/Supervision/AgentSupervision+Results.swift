import Basics
package import PowerAuth

extension AgentSupervision {
    /// The outcome of a policy.
    package enum PolicyResult: Sendable {
        case verdict(ApprovalAgent.Verdict)
        case failed(any Error)
    }

    /// The conclusion about a decision whose answer was lost.
    package enum Resolution: Sendable {
        /// The server followed the counter, and the operation ended so as it was decided.
        case ours
        /// The operation ended otherwise. What did not follow the counter was not even judged.
        case elsewhere(MobileTokenError, isFollowed: Bool)
        /// The operation still waits for a decision: the signature decided nothing, once it cannot arrive any more.
        case pending
        /// Neither can be told any more.
        case unknown
        /// It could not be asked.
        case failed(MobileTokenError)
    }

    /// The policy returned, in time or too late.
    package mutating func policyReturned(_ result: PolicyResult, from job: Job, at now: Duration) -> [Action] {
        self.policyIsGone(job)
        return self.finish(job, at: now) { $0.judged(result, at: now) }
    }

    /// A policy that was given up has returned after all: the operation may be reviewed again when it has changed.
    private mutating func policyIsGone(_ job: Job) {
        let (id, operationID) = (ExactString(job.activationID), ExactString(job.operationID))
        guard var entry = self.activations[id]?[operationID], entry.abandonedPolicy == job.number else { return }
        entry.policyIsGone()
        self.activations[id]?[operationID] = entry.isForgettable ? nil : entry
        if self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
    }

    /// A decision was sent, or not.
    ///
    /// - Parameters:
    ///   - error: The error of a decision that failed; `nil` when the server has carried it out.
    ///   - random: A number in 0..<1, which spreads the next attempt.
    package mutating func sent(
        _ error: MobileTokenError?,
        by job: Job,
        at now: Duration,
        random: Double
    ) -> [Action] {
        guard let error else { return self.finish(job, at: now) { $0.accepted(isInferred: false) } }
        if let decision = error.unansweredDecision {
            // A server that says in its own words that it failed has the request behind it. A page may be that of a gateway, before a
            // server that works on it.
            let isOver = error.httpStatus == 500 && error.serverCode != nil
            let end = isOver ? now : now + self.limits.requestTimeout.bounded
            return self.finish(job, at: now) { $0.lost(decision, error, until: end) }
        }
        var actions: [Action] = []
        if case .ofActivation = DecisionFailure(error) { actions = self.stop(job.activationID, error, at: now) }
        return self.finish(job, at: now) { $0.failed(error, at: now, random: random) } + actions
    }

    /// The fate of a decision was asked for.
    ///
    /// - Parameter random: A number in 0..<1, which spreads the next attempt.
    package mutating func resolved(_ result: Resolution, by job: Job, at now: Duration, random: Double) -> [Action] {
        if case .unknown = result { self.unknownCount += 1 }
        let isReleased = self.activations[ExactString(job.activationID)]?.isReleased ?? false
        return self.finish(job, at: now) { $0.resolved(result, isReleased: isReleased, at: now, random: random) }
    }

    private mutating func finish(
        _ job: Job,
        at now: Duration,
        _ change: (inout SupervisedOperation) -> ApprovalAgent.Event.Kind?
    ) -> [Action] {
        var event: ApprovalAgent.Event.Kind?
        guard let entry = self.end(job, { event = change(&$0) }), let event else { return self.begin(at: now) }
        return [.report(entry.event(of: job.activationID, event))] + self.begin(at: now)
    }
}

extension AgentSupervision.Resolution {
    /// The statement of the receipt about the decision; `nil` while nothing is known.
    var result: DecisionOutcome.Result? {
        switch self {
        case .ours: .inferred
        case .elsewhere(let end, isFollowed: true): .refused(code: end.code.description, serverCode: end.serverCode)
        case .elsewhere(_, isFollowed: false), .pending: .notFollowed
        case .unknown: .unknown
        case .failed: nil
        }
    }
}

extension MobileTokenError {
    /// The decision that was signed, and of which the server has not said how it ended.
    var unansweredDecision: OpenDecision? {
        switch self.decision?.result {
        case .accepted, .refused, nil: nil
        default: self.decision?.decision
        }
    }
}
