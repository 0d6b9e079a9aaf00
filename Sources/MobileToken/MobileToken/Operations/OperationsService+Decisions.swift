public import DecisionReceipts
import PowerAuth
public import PowerAuthClient
import Synchronization

extension OperationsService {
    /// Authorizes an operation, and removes it from the list when the server accepts.
    ///
    /// The signature covers
    /// ``UserOperation/data``, which may differ from what is shown. An ``OperationReview`` compares the two: show a person its ``OperationReview/signedData`` and ``OperationReview/doubts``
    /// before this call.
    ///
    /// If the response is lost, the service asks once for the status and once for the operation. After `CancellationError` or
    /// ``MobileTokenError/Code/outcomeUnknown``, the server may have carried it out nevertheless.
    ///
    /// The expiry is checked in the server's time, which is requested first if unknown. Without it the server makes the check. A
    /// ``LocalOperation`` is checked if it has an expiry.
    ///
    /// - Parameters:
    ///   - operation: An operation of the list.
    ///   - authentication: The factors to sign with.
    /// - Returns: `accepted`, or `inferred` if the response was lost and the operation ended as decided.
    /// - Throws: `MobileTokenError`. Before signing: `notAuthorizable`, `factorsNotAllowed`, `authorizeExpired`, `limitReached`.
    ///   From the server: `authenticationFailed`, `operationAlreadyFinished` and similar codes, `authorizeExpired`. `outcomeUnknown` if it may
    ///   have been carried out.
    @discardableResult
    public func authorize(
        _ operation: UserOperation,
        with authentication: Activation.Authentication
    ) async throws -> DecisionOutcome.Result {
        try await self.authorizeOperation(operation, with: authentication)
    }

    /// Authorizes an operation that was built by hand, as one of the list.
    @discardableResult
    public func authorize(
        _ operation: LocalOperation,
        with authentication: Activation.Authentication
    ) async throws -> DecisionOutcome.Result {
        try await self.authorizeOperation(operation, with: authentication)
    }

    @discardableResult
    package func authorizeOperation(
        _ operation: some AuthorizableOperation,
        with authentication: Activation.Authentication
    ) async throws -> DecisionOutcome.Result {
        let decision = DecisionIntent(.approve, on: operation, with: authentication, of: self.channel.activationID)
        return try await self.authorize(operation, with: authentication, as: decision)
    }

    /// Authorizes an operation, and records the given decision.
    @discardableResult
    func authorize(
        _ operation: some AuthorizableOperation,
        with authentication: Activation.Authentication,
        as decision: DecisionIntent
    ) async throws -> DecisionOutcome.Result {
        try await self.channel.withSpan("mobile_token.decision", of: decision) {
            try await self.authorizeUntraced(operation, with: authentication, as: decision)
        }
    }

    private func authorizeUntraced(
        _ operation: some AuthorizableOperation,
        with authentication: Activation.Authentication,
        as decision: DecisionIntent
    ) async throws -> DecisionOutcome.Result {
        guard operation.allows(authentication) else {
            throw (operation as? UserOperation)?.isAuthorizable == false
                ? MobileTokenError(.notAuthorizable, "The operation is not pending, or requires unknown factors")
                : MobileTokenError(.factorsNotAllowed, "The server does not accept these factors for the operation")
        }
        // The expiry, and the time sent with a proximity code, are in the server's time.
        try await self.channel.synchronizeTime()
        try self.checkHasNotExpired(operation)
        var decision = decision
        if let rules = self.limitRules.withLock({ $0 }) {
            let subject = LimitRules.Subject(operation, of: self.channel.activationID)
            decision.demands = try rules.demands(of: subject, isAutomatic: decision.isAutomatic)
        }
        if !decision.isAutomatic { await self.resolveOpenDecisions() }
        return try await self.decide(
            decision,
            path: "/api/auth/token/app/operation/authorize",
            body: try OperationRequest.authorize(operation, sent: self.channel.serverDate) { [channel] in
                channel.serverDate(ofLocalDate: $0)
            },
            uriID: "/operation/authorize",
            with: authentication
        )
    }

    /// Rejects an operation, signed with possession, and removes it from the list when the server accepts.
    ///
    /// - Returns: `accepted`, or `inferred` if the response was lost and the operation ended as decided.
    /// - Throws: `MobileTokenError`, such as `rejectExpired`, `operationAlreadyFinished`, or `outcomeUnknown` if it may have been
    ///   carried out.
    @discardableResult
    public func reject(
        _ operation: UserOperation,
        reason: UserOperation.RejectionReason = .unknown
    ) async throws -> DecisionOutcome.Result {
        try await self.rejectOperation(operation, reason: reason)
    }

    /// Rejects an operation that was built by hand, as one of the list.
    @discardableResult
    public func reject(
        _ operation: LocalOperation,
        reason: UserOperation.RejectionReason = .unknown
    ) async throws -> DecisionOutcome.Result {
        try await self.rejectOperation(operation, reason: reason)
    }

    @discardableResult
    package func rejectOperation(
        _ operation: some AuthorizableOperation,
        reason: UserOperation.RejectionReason
    ) async throws -> DecisionOutcome.Result {
        let id = self.channel.activationID
        let decision = DecisionIntent(.reject, on: operation, reason: reason, with: .possession, of: id)
        return try await self.reject(operation, reason: reason, as: decision)
    }

    /// Rejects an operation, and records the given decision.
    @discardableResult
    func reject(
        _ operation: some AuthorizableOperation,
        reason: UserOperation.RejectionReason,
        as decision: DecisionIntent
    ) async throws -> DecisionOutcome.Result {
        try await self.channel.withSpan("mobile_token.decision", of: decision) {
            try await self.channel.synchronizeTime()
            if !decision.isAutomatic { await self.resolveOpenDecisions() }
            return try await self.decide(
                decision,
                path: "/api/auth/token/app/operation/cancel",
                body: try OperationRequest.reject(operation, reason: reason),
                uriID: "/operation/cancel",
                with: .possession
            )
        }
    }

    /// Fetches the current state of one operation.
    ///
    /// - Throws: `MobileTokenError`, such as `detailExpired`.
    public func detail(id: String) async throws -> UserOperation {
        try await ServerCall.detail.post(
            "/api/auth/token/app/operation/detail",
            body: try OperationRequest.id(id),
            on: self.channel,
            language: self.acceptLanguage.description
        ).read { try UserOperation(response: $0) }
    }

    /// Claims an operation that was created for no particular activation, and adds it to the list.
    ///
    /// It is not added if it left the list, or was decided here, before the response arrived.
    ///
    /// - Throws: `MobileTokenError`, such as `claimExpired` or `operationAlreadyFinished`.
    @discardableResult
    public func claim(id: String) async throws -> UserOperation {
        self.change { $0.claimBegan(id) }
        let operation: UserOperation
        do {
            operation = try await ServerCall.claim.post(
                "/api/auth/token/app/operation/detail/claim",
                body: try OperationRequest.id(id),
                on: self.channel,
                language: self.acceptLanguage.description
            ).read { try UserOperation(response: $0) }
        } catch {
            self.change { $0.claimFailed(id) }
            throw error
        }
        if operation.status == .pending {
            self.publish(self.change { $0.applyClaim(operation, as: id) })
        } else {
            self.change { $0.claimFailed(id) }
        }
        return operation
    }

    /// Fetches past operations. Servers return about the latest hundred.
    ///
    /// - Parameter authentication: Two factors.
    /// - Throws: `MobileTokenError`; `factorsNotAllowed` before anything is signed.
    public func history(authenticatedBy authentication: Activation.Authentication) async throws -> OperationList {
        guard UserOperation.AllowedSignatureType.Variant(authentication) != .possession else {
            throw MobileTokenError(.factorsNotAllowed, "Fetching the history requires two factors")
        }
        return try await ServerCall.other.post(
            "/api/auth/token/app/operation/history",
            body: OperationRequest.empty,
            on: self.channel,
            authentication: .signature(uriID: "/operation/history", authentication),
            language: self.acceptLanguage.description
        ).read { try OperationList(response: $0) }
    }

    // MARK: Rules

    /// Throws if the operation has expired. If the server's time was never measured, the check is left to the server.
    private func checkHasNotExpired(_ operation: some AuthorizableOperation) throws {
        guard let now = self.channel.measuredServerDate else { return }
        guard operation.expires > now else {
            throw MobileTokenError(.authorizeExpired, "The operation has expired")
        }
    }

    private func decide(
        _ decision: DecisionIntent,
        path: String,
        body: [UInt8],
        uriID: String,
        with authentication: Activation.Authentication
    ) async throws -> DecisionOutcome.Result {
        let (id, isApproval) = (decision.operationID, decision.verdict == .approve)
        let source: OperationList.Change.Source = isApproval ? .authorization : .rejection
        self.change { $0.beginDecision(id) }
        var result = DecisionOutcome.Result.accepted
        do {
            do {
                let response = try await (isApproval ? ServerCall.authorize : .reject).post(
                    path,
                    body: body,
                    on: self.channel,
                    authentication: .signature(uriID: uriID, authentication),
                    language: self.acceptLanguage.description,
                    decision: decision
                )
                // The receipt's stricter check has already found it successful.
                if response.decision?.result != .accepted { _ = try response.read { try SuccessResponse(parsing: $0) } }
            } catch let error as MobileTokenError {
                // An agent investigates by itself, and repeatedly.
                guard !decision.isAutomatic, let open = error.undecided else { throw error }
                result = try await self.ending(of: open, after: error, with: authentication)
            }
        } catch {
            self.mayHaveOpenDecisions = true
            if let error = error as? MobileTokenError, error.code == .invalidOperation {
                // For the server there is nothing to decide. If it lists the operation after all, the next list restores it.
                self.publish(self.change { $0.applyDecision(id, .disappeared, source: source) })
            } else {
                self.publish(self.change { $0.failDecision(id, at: self.channel.serverDate) })
            }
            // Too late, refused or unknown: the server's list shows the state, as soon as the server will be asked.
            if let wait = (error as? MobileTokenError)?.retryAfter { self.poller.wait(wait) }
            self.pollNow()
            throw error
        }
        self.publish(self.change { $0.applyDecision(id, isApproval ? .authorized : .rejected, source: source) })
        return result
    }
}
