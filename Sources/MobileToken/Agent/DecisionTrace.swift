import Basics
import PowerAuth

/// A decision that was sent, and whose answer was lost. No call tells who decided an operation, but the server's counter tells
/// whether it accepted the signature.
struct DecisionTrace: Sendable {
    let decision: OpenDecision
    let service: OperationsService

    /// Asks for the status, and then for the operation.
    ///
    /// - Throws: `MobileTokenError` when it could not be asked.
    func finding() async throws -> AgentSupervision.Resolution {
        let fate = try await self.fate()
        guard let end = try await self.end() else { return .pending }
        switch fate {
        case .followed: return try await self.finding(ofFollowed: end)
        case .unknown:
            // Whoever signed, what was canceled or has expired was decided by nobody.
            let finding = try await self.finding(ofFollowed: end)
            return if case .elsewhere = finding { finding } else { .unknown }
        case .notFollowed:
            // The request may have arrived between the two questions.
            switch try await self.fate() {
            case .followed: return try await self.finding(ofFollowed: end)
            case .notFollowed: return .elsewhere(end, isFollowed: false)
            case .unknown: return .unknown
            }
        }
    }

    /// Asks the history, which tells how an operation ended, though not by whom: the same end is taken for ours.
    func finding(byHistoryWith authentication: Authentication) async throws -> AgentSupervision.Resolution {
        guard authentication.knowledge != nil || authentication.biometryKey != nil else { return .unknown }
        let history = try await self.service.history(with: authentication)
        guard let operation = history.operations.first(where: { $0.id.isExactly(self.decision.intent.operationID) })
        else {
            return .unknown
        }
        switch (operation.status, self.decision.intent.verdict) {
        case (.approved, .approve), (.rejected, .reject): return .ours
        case (.pending, _): return .pending
        case (.unknown, _): return .unknown
        default:
            let end = MobileTokenError(.operationAlreadyFinished, "The operation ended otherwise")
            return .elsewhere(end, isFollowed: true)
        }
    }

    /// Two receipts do not claim one operation: where another receipt says that it decided the operation, a conclusion is
    /// none.
    func withoutContradiction(_ finding: AgentSupervision.Resolution) async throws -> AgentSupervision.Resolution {
        guard case .ours = finding, let evidence = self.service.channel.evidence?.source,
            try await evidence.isClaimed(otherThanBy: self.decision)
        else { return finding }
        return .unknown
    }

    private func fate() async throws -> CounterEvidence {
        guard let evidence = self.service.channel.evidence?.source else { return .unknown }
        return try await evidence.fate(of: self.decision)
    }

    /// Returns the end of the operation; `nil` while it is pending.
    private func end() async throws -> MobileTokenError? {
        do {
            let operation = try await self.service.detail(id: self.decision.intent.operationID)
            guard operation.status != .pending else { return nil }
            return MobileTokenError(Self.code(of: operation.status), "The operation is \(operation.status.rawValue)")
        } catch let error as MobileTokenError {
            switch error.code {
            case .operationAlreadyFinished, .operationAlreadyCanceled, .operationAlreadyFailed,
                .operationAlreadyRejected, .detailExpired, .invalidOperation:
                return error
            default: throw error  // says nothing of the operation
            }
        }
    }

    /// Most servers refuse to show what is not pending; some show it.
    private static func code(of status: UserOperation.Status) -> MobileTokenError.Code {
        switch status {
        case .canceled: .operationAlreadyCanceled
        case .expired: .detailExpired
        case .failed: .operationAlreadyFailed
        case .rejected: .operationAlreadyRejected
        case .approved, .pending, .unknown: .operationAlreadyFinished
        }
    }

    /// Returns the fate of a decision whose signature was accepted, from how the operation ended.
    private func finding(ofFollowed end: MobileTokenError) async throws -> AgentSupervision.Resolution {
        switch (end.code, self.decision.intent.verdict) {
        // Said of an approval and of a rejection alike.
        case (.operationAlreadyFinished, _):
            return try await self.service.channel.evidence?.source.isContested(self.decision) == true ? .unknown : .ours
        case (.operationAlreadyRejected, .reject): return .ours
        case (.operationAlreadyRejected, .approve), (.operationAlreadyCanceled, _), (.operationAlreadyFailed, _),
            (.detailExpired, _):
            return .elsewhere(end, isFollowed: true)
        default: return .unknown  // the server does not know the operation any more
        }
    }

    /// Writes what was found out into the receipts. A decision that may still arrive stays open.
    func record(_ finding: AgentSupervision.Resolution, isOver: Bool) async {
        guard let result = finding.result, let evidence = self.service.channel.evidence?.source else { return }
        if case .pending = finding, !isOver { return }
        await evidence.resolve(self.decision, as: result)
    }
}
