import PowerAuth
import Synchronization

// MARK: - Sending a decision

extension ApprovalAgent {
    /// Signs and sends a decision.
    @concurrent
    nonisolated func send(
        _ decision: AgentDecision,
        _ review: OperationReview,
        attempt: Int
    ) async -> AgentSupervision.SendResult {
        let sent = SentDecision()
        do {
            try await self.fleet.withDecision(on: review.activationID) { service in
                let authentication = try await self.authentication(for: decision, review, service)
                let ticket = DecisionTicket(
                    decision.recorded,
                    on: review.operation,
                    with: authentication,
                    of: review.activationID,
                    by: DecisionMaker(
                        policy: self.configuration.policy,
                        attempt: attempt,
                        isComplete: review.isComplete
                    )
                )
                sent.ticket = ticket
                try await service.carryOut(decision, on: review.operation, with: authentication.signing(ticket))
            }
            return .accepted
        } catch {
            if (error as? MobileTokenError)?.code == .factorOutdated { await self.dropFactors(of: review.activationID) }
            return .init(error, sent.ticket)
        }
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

extension AgentDecision {
    fileprivate var recorded: DecisionIntent.Verdict {
        switch self {
        case .approve: .approve
        case .reject(let reason): .reject(reason: reason.rawValue)
        }
    }
}

extension OperationsService {
    fileprivate func carryOut(
        _ decision: AgentDecision,
        on operation: UserOperation,
        with authentication: Authentication
    ) async throws {
        switch decision {
        case .approve: try await self.authorize(operation, with: authentication)
        case .reject(let reason): try await self.reject(operation, reason: reason, with: authentication)
        }
    }
}

extension AgentSupervision.SendResult {
    /// Creates the result of an error by what the receipt says of the latest signature, if anything was signed: the error may be
    /// of something else.
    fileprivate init(_ error: any Error, _ ticket: DecisionTicket?) {
        let error = error as? MobileTokenError ?? MobileTokenError(.networkUnknown, "The decision was given up")
        guard let ticket, let move = ticket.lastMove else {
            self = .failed(error)
            return
        }
        switch ticket.result {
        case .accepted: self = .accepted
        case .refused: self = .failed(error)
        default: self = .unanswered(move: move, error)
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
        _ decision: AgentDecision,
        _ review: OperationReview,
        move: UInt64,
        isOver: Bool,
        isLast: Bool
    ) async -> AgentSupervision.Resolution {
        do {
            return try await self.fleet.withDecision(on: review.activationID) { service in
                let trace = self.trace(decision, review, move, service)
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
            if let service = await self.fleet.openedService(of: review.activationID) {
                await self.trace(decision, review, move, service).record(.unknown, isOver: isOver)
            }
            return .unknown
        }
    }

    private nonisolated func trace(
        _ decision: AgentDecision,
        _ review: OperationReview,
        _ move: UInt64,
        _ service: OperationsService
    ) -> DecisionTrace {
        DecisionTrace(service: service, operationID: review.operation.id, decision: decision, move: move)
    }
}

extension MobileTokenError {
    /// Indicates whether nothing can be found out about the activation any more.
    fileprivate var endsQuestions: Bool { if case .ofActivation = DecisionTrouble(self) { true } else { false } }
}

/// Lets the ticket out of the closure that made it.
private final class SentDecision: Sendable {
    private let value = Mutex<DecisionTicket?>(nil)

    var ticket: DecisionTicket? {
        get { self.value.withLock { $0 } }
        set { self.value.withLock { $0 = newValue } }
    }
}
