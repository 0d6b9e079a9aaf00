import Basics
package import PowerAuth

extension AgentSupervision {
    /// The outcome of a policy.
    package enum PolicyResult: Sendable {
        case verdict(ApprovalAgent.Verdict)
        case failed(any Error)
    }

    /// The outcome of sending a decision.
    package enum SendResult: Sendable {
        case accepted
        /// No response came to the latest signature.
        case unanswered(OpenDecision, MobileTokenError)
        /// Nothing was decided.
        case failed(MobileTokenError)
    }

    /// The conclusion about a decision whose answer was lost.
    package enum Resolution: Sendable {
        /// The server followed the counter, and the operation is finished.
        case ours
        /// The operation is finished, not by this decision.
        case elsewhere(MobileTokenError)
        /// The operation still waits for a decision.
        case pending
        /// Neither can be told any more.
        case unknown
        /// It could not be asked.
        case failed(MobileTokenError)
    }

    /// The policy returned, in time or too late.
    package mutating func policyReturned(_ result: PolicyResult, from job: Job, at now: Duration) -> [Action] {
        self.policyIsGone(job)
        var event: ApprovalAgent.Event.Kind?
        let entry = self.end(job) { entry in event = entry.judged(result, at: now) }
        let reports = zip([event].compactMap { $0 }, [entry].compactMap { $0 }).map { event, entry in
            Action.report(entry.event(of: job.activationID, event))
        }
        return reports + self.begin(at: now)
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
    /// - Parameter random: A number in 0..<1, which spreads the next attempt.
    package mutating func sent(_ result: SendResult, by job: Job, at now: Duration, random: Double) -> [Action] {
        var actions: [Action] = []
        if case .failed(let error) = result, case .ofActivation = DecisionTrouble(error) {
            actions = self.stop(job.activationID, error, at: now)
        }
        let timeout = self.limits.requestTimeout
        return self.finish(job, at: now) { entry in
            switch result {
            case .accepted: entry.accepted(isInferred: false)
            // Whoever responds with 500 has the request behind it. Others may stand before a server that works on it.
            case .unanswered(let decision, let error) where error.httpStatus == 500:
                entry.lost(decision, error, until: now)
            case .unanswered(let decision, let error): entry.lost(decision, error, until: now + timeout.bounded)
            case .failed(let error): entry.failed(error, at: now, random: random)
            }
        } + actions
    }

    /// The fate of a decision was asked for.
    ///
    /// - Parameter random: A number in 0..<1, which spreads the next attempt.
    package mutating func resolved(_ result: Resolution, by job: Job, at now: Duration, random: Double) -> [Action] {
        if case .unknown = result { self.unknownCount += 1 }
        return self.finish(job, at: now) { $0.resolved(result, at: now, random: random) }
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
