import Basics
import PowerAuth

/// A decision that was sent, and whose answer was lost. No call tells who decided an operation, but the server's counter tells
/// whether it accepted the signature.
struct DecisionTrace: Sendable {
    let service: OperationsService
    let operationID: String
    let decision: AgentDecision
    let move: UInt64

    /// Asks for the status, and then for the operation.
    ///
    /// - Throws: `MobileTokenError` when it could not be asked.
    func resolution() async throws -> AgentSupervision.Resolution {
        let fate = try await self.fate()
        guard let end = try await self.end() else { return .pending }
        switch fate {
        case .followed: return self.resolution(ofFollowed: end)
        case .unknown: return .unknown
        case .notFollowed:
            // The request may have arrived between the two questions.
            guard case .followed = try await self.fate() else { return .elsewhere(end) }
            return self.resolution(ofFollowed: end)
        }
    }

    /// Asks the history, which tells how an operation ended, though not by whom: the same end is taken for ours.
    func resolution(byHistoryWith authentication: Authentication) async throws -> AgentSupervision.Resolution {
        guard authentication.knowledge != nil || authentication.biometryKey != nil else { return .unknown }
        let history = try await self.service.history(with: authentication)
        guard let operation = history.operations.first(where: { $0.id.isExactly(self.operationID) }) else {
            return .unknown
        }
        switch (operation.status, self.decision) {
        case (.approved, .approve), (.rejected, .reject): return .ours
        case (.pending, _): return .pending
        case (.unknown, _): return .unknown
        default: return .elsewhere(MobileTokenError(.operationAlreadyFinished, "The operation ended otherwise"))
        }
    }

    private func fate() async throws -> SignatureFate {
        guard let activation = self.service.channel as? Activation else { return .unknown }
        return try await activation.fate(ofMove: self.move)
    }

    /// How the operation ended; `nil` while it is pending.
    private func end() async throws -> MobileTokenError? {
        do {
            let operation = try await self.service.detail(id: self.operationID)
            guard operation.status != .pending else { return nil }
            return MobileTokenError(Self.code(of: operation.status), "The operation is \(operation.status.rawValue)")
        } catch let error as MobileTokenError {
            switch error.code {
            case .operationAlreadyFinished, .operationAlreadyCanceled, .operationAlreadyFailed,
                .operationAlreadyRejected, .detailExpired, .invalidOperation:
                return error
            default:
                guard case .final = DecisionTrouble(error) else { throw error }
                return error
            }
        }
    }

    /// Most servers refuse to show what is not pending; some show it.
    private static func code(of status: OperationStatus) -> MobileTokenError.Code {
        switch status {
        case .canceled: .operationAlreadyCanceled
        case .expired: .detailExpired
        case .failed: .operationAlreadyFailed
        case .rejected: .operationAlreadyRejected
        case .approved, .pending, .unknown: .operationAlreadyFinished
        }
    }

    /// What became of a decision whose signature was accepted, from how the operation ended.
    private func resolution(ofFollowed end: MobileTokenError) -> AgentSupervision.Resolution {
        switch (end.code, self.decision) {
        case (.operationAlreadyFinished, _), (.operationAlreadyRejected, .reject): .ours
        case (.operationAlreadyRejected, .approve), (.operationAlreadyCanceled, _), (.operationAlreadyFailed, _),
            (.detailExpired, _):
            .elsewhere(end)
        default: .unknown  // the server does not know the operation any more
        }
    }

    /// Writes what was found out into the receipts. A decision that may still arrive stays open.
    func record(_ resolution: AgentSupervision.Resolution, isOver: Bool) async {
        guard let activation = self.service.channel as? Activation else { return }
        switch resolution {
        case .ours: await self.note(.inferred, activation)
        case .elsewhere(let error):
            let result = DecisionOutcome.Result.refused(code: error.code.description, serverCode: error.serverCode)
            await self.note(result, activation)
        case .pending: if isOver { await self.note(.notFollowed, activation) }
        case .unknown: await self.note(.unknown, activation)
        case .failed: break
        }
    }

    private func note(_ result: DecisionOutcome.Result, _ activation: Activation) async {
        let verdict: RecordedIntent.Verdict = self.decision == .approve ? .approve : .reject
        await activation.resolve(verdict, on: self.operationID, as: result, ofMove: self.move)
    }
}
