import Basics
import PowerAuth
import Synchronization

// MARK: - Sending a decision

extension ApprovalAgent {
    /// Signs and sends a decision.
    ///
    /// - Returns: The error of a failed decision; `nil` if the server carried it out. ``MobileTokenError/decision`` describes its
    ///   signature.
    @concurrent
    nonisolated func send(
        _ verdict: Verdict,
        _ review: OperationReview,
        attempt: Int
    ) async -> MobileTokenError? {
        do {
            try await self.fleet.withDecision(on: review.activationID, waits: { await self.waits($0, review) }) {
                service in
                try await self.checkIsPending(review, by: service)
                try await self.carryOut(verdict, review, attempt: attempt, by: service)
                if attempt > 1 { await self.closeEarlierAttempts(at: review, by: service) }
            }
            return nil
        } catch let error as MobileTokenError {
            return error.decision?.result == .accepted ? nil : error
        } catch {
            return await self.givenUp(review, attempt: attempt)
        }
    }

    /// Reports that a decision waits until an earlier one can no longer arrive.
    private func waits(_ limit: Duration, _ review: OperationReview) {
        self.report(Event(activationID: review.activationID, operation: review.operation, kind: .waiting(upTo: limit)))
    }

    /// Fetches an operation that was decided here before and is listed again: the list may be old.
    private nonisolated func checkIsPending(_ review: OperationReview, by service: OperationsService) async throws {
        let id = review.operation.id
        guard self.supervision.withLock({ $0.decided.contains(id, of: review.activationID) }) else { return }
        guard try await service.detail(id: id).status != .pending else { return }
        throw MobileTokenError(.operationAlreadyFinished, "The operation was decided here before")
    }

    /// Resolves earlier signatures for an operation that is now decided: the decision was not theirs.
    private nonisolated func closeEarlierAttempts(at review: OperationReview, by service: OperationsService) async {
        let open = try? await service.channel.evidence?.source.openDecisions()
        for decision in open ?? [] where decision.intent.operationID.isExactly(review.operation.id) {
            _ = try? await service.look(at: decision)
        }
    }

    private nonisolated func carryOut(
        _ verdict: Verdict,
        _ review: OperationReview,
        attempt: Int,
        by service: OperationsService
    ) async throws {
        let operation = review.operation
        func decision(
            _ verdict: DecisionIntent.Verdict,
            _ reason: UserOperation.RejectionReason? = nil,
            with authentication: Activation.Authentication
        ) -> DecisionIntent {
            DecisionIntent(
                verdict,
                on: operation,
                reason: reason,
                with: authentication,
                of: review.activationID,
                by: self.configuration.policy,
                attempt: attempt,
                isComplete: review.isComplete
            )
        }
        switch verdict {
        case .approve:
            // Possession only, if that suffices, so that no more is unlocked than needed.
            let isEnough = operation.allows(.possession)
            guard self.configuration.signsByDevice else {
                func approve(with factors: Activation.Authentication) async throws {
                    try await service.authorize(operation, with: factors, as: decision(.approve, with: factors))
                }
                if isEnough { return try await approve(with: .possession) }
                return try await self.withFactors(of: service.channel, approve)
            }
            try await self.withFactors(of: service.channel) { unlocked in
                let signed = try await service.signedByDevice(operation, with: unlocked)
                let factors = isEnough ? .possession : unlocked
                try await service.authorize(signed, with: factors, as: decision(.approve, with: factors))
            }
        case .reject(let reason):
            try await service.reject(operation, reason: reason, as: decision(.reject, reason, with: .possession))
        case .deferToPeople, .askAgain: throw MobileTokenError(.notAuthorizable, "The operation was not decided")
        }
    }

    /// Returns the error of a decision that ended with another kind of error, by cancellation or by a wrapper of the activation.
    /// The receipts show whether anything was signed.
    private nonisolated func givenUp(_ review: OperationReview, attempt: Int) async -> MobileTokenError {
        var error = MobileTokenError(.networkUnknown, "The decision was given up")
        let evidence = self.fleet.openedService(of: review.activationID)?.channel.evidence?.source
        let open = (try? await evidence?.openDecisions())?.last {
            $0.intent.isAutomatic && $0.intent.attempt == attempt
                && $0.intent.operationID.isExactly(review.operation.id)
        }
        error.decision = open.map { SignedDecision($0, .unanswered(code: error.code.description)) }
        return error
    }
}

// MARK: - Resolving a lost response

extension ApprovalAgent {
    /// Determines the outcome of a decision with a lost response, and records it once it is certain.
    ///
    /// It requests the operation, then the status, both unsigned, because a signature would destroy the evidence. Once the
    /// request can no longer arrive, a signature of possession invalidates it. Most servers show the verdict only in the history.
    @concurrent
    nonisolated func resolve(
        _ decision: OpenDecision,
        isOver: Bool,
        isLast: Bool
    ) async -> AgentSupervision.Resolution {
        do {
            return try await self.fleet.withDecision(on: decision.intent.activationID) { service in
                var trace = try DecisionTrace(decision, service)
                try await trace.ask()
                if isOver, trace.fate.needsFence { try await trace.fence() }
                try await trace.record()
                if trace.fate.needsVerdict {
                    trace = try await self.withFactors(of: service.channel) { [trace] in
                        var trace = trace
                        try await trace.askHistory(with: $0)
                        return trace
                    }
                    try await trace.record()
                }
                return AgentSupervision.Resolution(trace.fate, end: trace.end)
            }
        } catch {
            let error = error as? MobileTokenError ?? MobileTokenError(.networkUnknown, "The question was given up")
            // A proxy's page instead of the response is temporary, and so is a refusal unrelated to the operation. After the
            // operation's expiry, later responses would not help.
            guard error.endsQuestions || isLast && (error.isPageOfAnother || error.isServersRefusal) else {
                return .failed(error)
            }
            if let service = self.fleet.openedService(of: decision.intent.activationID) {
                await (try? DecisionTrace(decision, service))?.giveUp()
            }
            return .unknown
        }
    }
}

extension MobileTokenError {
    /// Indicates whether nothing more can be learned about the activation.
    fileprivate var endsQuestions: Bool {
        guard self.code != .signaturesAreLost, case .ofActivation = DecisionFailure(self) else { return false }
        return true
    }
}
