import Basics
import PowerAuth

// MARK: - Sending a decision

extension ApprovalAgent {
    /// Signs and sends a decision.
    ///
    /// - Returns: The error of a decision that failed; `nil` when the server has carried it out.
    ///   ``MobileTokenError/decision`` tells what is known of its signature.
    @concurrent
    nonisolated func send(
        _ verdict: Verdict,
        _ review: OperationReview,
        attempt: Int
    ) async -> MobileTokenError? {
        do {
            try await self.fleet.withDecision(on: review.activationID) { service in
                try await self.carryOut(verdict, review, attempt: attempt, by: service)
            }
            return nil
        } catch let error as MobileTokenError {
            return error.decision?.result == .accepted ? nil : error
        } catch {
            return await self.givenUp(review, attempt: attempt)
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
            with authentication: Authentication
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
            // Possession alone where that is enough, so that no more is unlocked than is needed.
            let isEnough = operation.allows(.possession)
            guard self.configuration.signsByDevice else {
                func approve(with factors: Authentication) async throws {
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
        case .leave, .later: throw MobileTokenError(.notAuthorizable, "The operation was not decided")
        }
    }

    /// Returns the error of a decision that ended with another kind of error, because the task was canceled or a type that wraps the
    /// activation threw one of its own: the receipts tell whether anything was signed.
    private nonisolated func givenUp(_ review: OperationReview, attempt: Int) async -> MobileTokenError {
        var error = MobileTokenError(.networkUnknown, "The decision was given up")
        let evidence = await self.fleet.openedService(of: review.activationID)?.channel.evidence?.source
        let open = (try? await evidence?.openDecisions())?.last {
            $0.intent.isAutomatic && $0.intent.attempt == attempt
                && $0.intent.operationID.isExactly(review.operation.id)
        }
        error.decision = open.map { SignedDecision($0, .unanswered(code: error.code.description)) }
        return error
    }
}

// MARK: - Finding out about a lost answer

extension ApprovalAgent {
    /// Finds out what became of a decision whose answer was lost, and writes it into the receipts once it is certain.
    ///
    /// The status is asked for first and then the operation, both unsigned: a signature would wipe out the trace.
    @concurrent
    nonisolated func resolve(
        _ decision: OpenDecision,
        isOver: Bool,
        isLast: Bool
    ) async -> AgentSupervision.Resolution {
        do {
            return try await self.fleet.withDecision(on: decision.intent.activationID) { service in
                let trace = DecisionTrace(decision: decision, service: service)
                var finding = try await trace.finding()
                if case .unknown = finding, self.configuration.asksHistory {
                    finding = try await self.withFactors(of: service.channel) {
                        try await trace.finding(byHistoryWith: $0)
                    }
                }
                finding = try await trace.withoutContradiction(finding)
                await trace.record(finding, isOver: isOver)
                return finding
            }
        } catch {
            let error = error as? MobileTokenError ?? MobileTokenError(.networkUnknown, "The question was given up")
            // A proxy's page in place of the answer passes, and so does a refusal that is not about the operation. Once the
            // operation's time is over, no answer would tell any more.
            guard error.endsQuestions || isLast && (error.isPageOfAnother || error.isServersRefusal) else {
                return .failed(error)
            }
            if let service = await self.fleet.openedService(of: decision.intent.activationID) {
                await DecisionTrace(decision: decision, service: service).record(.unknown, isOver: isOver)
            }
            return .unknown
        }
    }
}

extension MobileTokenError {
    /// Indicates whether nothing can be found out about the activation any more.
    fileprivate var endsQuestions: Bool { if case .ofActivation = DecisionFailure(self) { true } else { false } }
}
