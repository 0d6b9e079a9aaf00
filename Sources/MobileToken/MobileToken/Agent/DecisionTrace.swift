import Basics
package import PowerAuth

/// A decision with a lost or doubtful response, and the requests that determine its outcome. ``DecisionFate`` concludes.
struct DecisionTrace: Sendable {
    let service: OperationsService
    private let evidence: any DecisionEvidenceSource
    private var decision: OpenDecision
    private(set) var fate: DecisionFate
    /// The operation's end, as the server reported it; `nil` while it is pending or not requested yet.
    private(set) var end: MobileTokenError?

    /// - Parameter cause: The error of the decision's own request.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` if the activation provides no evidence.
    init(
        _ decision: OpenDecision,
        _ service: OperationsService,
        after cause: MobileTokenError? = nil
    ) throws(MobileTokenError) {
        self.service = service
        self.evidence = try service.evidence
        self.decision = decision
        if decision.result == .unknown, let cause {
            let doubt = DecisionOutcome.Result.doubtful(code: cause.code.description, serverCode: cause.serverCode)
            self.fate = DecisionFate(decision.intent.verdict, doubt)
            // A status after the refusal has shown it: otherwise the fate would be open.
            self.fate.see(.reached)
        } else {
            self.fate = DecisionFate(decision)
        }
    }

    /// Requests the operation and then the status: once an operation is over, no signature accepted later decides it.
    mutating func ask() async throws {
        try await self.askForOperation()
        try await self.askForStatus()
        // An earlier status may have recorded a finding since.
        if let known = try await self.evidence.openDecisions().first(where: { $0.isSame(as: self.decision) }) {
            self.decision = known
            if known.result == .followed { self.fate.see(.followed) }
        }
        // It was pending before the status showed that it can no longer be decided.
        if self.end == nil, self.fate.isOpen, !self.fate.needsFence { try await self.askForOperation() }
    }

    /// Invalidates the signature with another one, and then requests the operation.
    mutating func fence() async throws {
        try await self.evidence.fence()
        try await self.askForStatus()
        try await self.askForOperation()
    }

    mutating func askForStatus() async throws { self.fate.see(try await self.evidence.counter(at: self.decision)) }

    mutating func askForOperation() async throws {
        do {
            let operation = try await self.service.detail(id: self.decision.intent.operationID)
            self.see(operation.status)
        } catch let error as MobileTokenError {
            let isMissing = error.code == .invalidOperation
            guard let code = error.serverCode,
                let operation = isMissing ? .missing : DecisionFate.Operation(serverCode: code, of: self.verdict)
            else { throw error }  // says nothing of the operation
            self.fate.see(operation)
            self.end = error
        }
    }

    /// Requests the history, once. It takes two factors.
    mutating func askHistory(with authentication: Activation.Authentication) async throws {
        guard authentication.hasTwoFactors else { return self.fate.see(.withheld) }
        let history = try await self.service.history(authenticatedBy: authentication)
        let status = history.operations.first { $0.id.isExactly(self.decision.intent.operationID) }?.status
        self.fate.see(history: status.flatMap { .init($0, of: self.verdict) })
        if let status { self.see(status) }
    }

    private mutating func see(_ status: UserOperation.Status) {
        guard let operation = DecisionFate.Operation(status, of: self.verdict) else { return }
        self.fate.see(operation)
        self.end = Self.code(of: status).map { MobileTokenError($0, "The operation is \(status.rawValue)") }
    }

    private var verdict: DecisionIntent.Verdict { self.decision.intent.verdict }

    private static func code(of status: UserOperation.Status) -> MobileTokenError.Code? {
        switch status {
        case .canceled: .operationAlreadyCanceled
        case .expired: .detailExpired
        case .failed: .operationAlreadyFailed
        case .rejected: .operationAlreadyRejected
        case .approved: .operationAlreadyFinished
        case .pending, .unknown: nil
        }
    }

    /// Records the findings in the receipts.
    mutating func record() async throws {
        if self.end != nil {
            for other in try await self.evidence.results(ofOthersThan: self.decision) { self.fate.see(another: other) }
        }
        guard let result = self.fate.result, result != self.decision.result else { return }
        await self.evidence.resolve(self.decision, as: result)
        self.decision.result = result
    }

    /// Records in the receipts that the outcome cannot be determined.
    func giveUp() async { await self.evidence.resolve(self.decision, as: .unknown) }
}

extension DecisionFate.Operation {
    /// Converts an operation's status; `nil` for one unknown to this version.
    package init?(_ status: UserOperation.Status, of verdict: DecisionIntent.Verdict) {
        switch (status, verdict) {
        case (.pending, _): self = .pending
        case (.approved, .approve), (.rejected, .reject): self = .asDecided
        case (.approved, .reject), (.rejected, .approve), (.canceled, _), (.expired, _), (.failed, _): self = .otherwise
        case (.unknown, _): return nil
        }
    }
}
