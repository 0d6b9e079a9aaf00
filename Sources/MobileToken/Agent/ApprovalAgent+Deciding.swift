import Basics
import PowerAuth

// MARK: - Sending a decision

extension ApprovalAgent {
    /// Signs and sends a decision.
    @concurrent
    nonisolated func send(
        _ decision: AgentDecision,
        _ review: OperationReview,
        attempt: Int
    ) async -> AgentSupervision.SendResult {
        do {
            try await self.fleet.withDecision(on: review.activationID) { service in
                let authentication = try await self.authentication(for: decision, review, service)
                let maker = DecisionMaker(
                    policy: self.configuration.policy,
                    attempt: attempt,
                    isComplete: review.isComplete
                )
                try await service.carryOut(decision, on: review.operation, with: authentication, by: maker)
            }
            return .accepted
        } catch {
            if (error as? MobileTokenError)?.code == .factorOutdated { await self.dropFactors(of: review.activationID) }
            return await self.result(of: error, review, attempt: attempt)
        }
    }

    /// Returns the result of an error by what it says of the latest signature. Of another kind of error, because the task was canceled
    /// or a type that wraps the activation threw one of its own, the receipts tell whether anything was signed.
    private nonisolated func result(
        of error: any Error,
        _ review: OperationReview,
        attempt: Int
    ) async -> AgentSupervision.SendResult {
        if let error = error as? MobileTokenError {
            guard let signed = error.decision else { return .failed(error) }
            switch signed.result {
            case .accepted: return .accepted
            case .refused: return .failed(error)
            default: return .unanswered(signed.decision, error)
            }
        }
        let error = MobileTokenError(.networkUnknown, "The decision was given up")
        let evidence = await self.fleet.openedService(of: review.activationID)?.channel.evidence?.source
        let open = (try? await evidence?.openDecisions())?.last {
            $0.intent.isAutomatic && $0.intent.attempt == attempt
                && $0.intent.operationID.isExactly(review.operation.id)
        }
        return open.map { .unanswered($0, error) } ?? .failed(error)
    }

    /// Possession alone where that is enough, so that no more is unlocked than is needed.
    private nonisolated func authentication(
        for decision: AgentDecision,
        _ review: OperationReview,
        _ service: OperationsService
    ) async throws -> Authentication {
        guard case .approve = decision, !review.operation.allows(.possession) else { return .possession }
        return try await self.authentication(with: service.channel)
    }
}

extension OperationsService {
    fileprivate func carryOut(
        _ decision: AgentDecision,
        on operation: UserOperation,
        with authentication: Authentication,
        by maker: DecisionMaker
    ) async throws {
        switch decision {
        case .approve: try await self.authorize(operation, with: authentication, by: maker)
        case .reject(let reason): try await self.reject(operation, reason: reason, by: maker)
        }
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
                if case .unknown = finding.resolution, self.configuration.asksHistory {
                    finding = try await trace.finding(
                        byHistoryWith: try await self.authentication(with: service.channel)
                    )
                }
                finding = try await trace.withoutContradiction(finding)
                await trace.record(finding, isOver: isOver)
                return finding.resolution
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
    fileprivate var endsQuestions: Bool { if case .ofActivation = DecisionTrouble(self) { true } else { false } }
}
