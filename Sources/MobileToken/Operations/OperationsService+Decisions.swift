public import PowerAuth

extension OperationsService {
    /// Authorizes an operation, and takes it off the list when the server agrees.
    ///
    /// The signature covers ``UserOperation/data``, which may say something else than what is shown. An ``OperationReview``
    /// compares the two: show a person its ``OperationReview/signedData`` and ``OperationReview/doubts`` before this call.
    ///
    /// When the call ends with `CancellationError`, or without a response, the server may have carried it out all the
    /// same; the list tells.
    ///
    /// The expiry is judged in the server's time, which is asked for when it is not known yet. When it
    /// cannot be had, that is left to the server. A ``LocalOperation`` is judged by the expiry that it was given, if it was.
    ///
    /// - Parameters:
    ///   - operation: An operation of the list, or one built by hand.
    ///   - authentication: The factors to sign with.
    /// - Throws: `MobileTokenError`. Before anything is signed: `notAuthorizable`, `factorsNotAllowed`, `authorizeExpired`. By
    ///   the server: `authenticationFailed`, `operationAlreadyFinished` and its like, `authorizeExpired`.
    public func authorize(
        _ operation: some AuthorizableOperation,
        with authentication: Authentication
    ) async throws {
        let decision = DecisionIntent(.approve, on: operation, with: authentication, of: self.channel.activationID)
        try await self.authorize(operation, with: authentication, as: decision)
    }

    /// Authorizes an operation, and records the given decision.
    func authorize(
        _ operation: some AuthorizableOperation,
        with authentication: Authentication,
        as decision: DecisionIntent
    ) async throws {
        guard operation.allows(authentication) else {
            throw (operation as? UserOperation)?.isAuthorizable == false
                ? MobileTokenError(.notAuthorizable, "The operation is not pending, or requires unknown factors")
                : MobileTokenError(.factorsNotAllowed, "The server does not accept these factors for the operation")
        }
        // The expiry, and the time that goes out with a proximity code, are in the server's time.
        try await self.channel.synchronizeTime()
        try self.checkHasNotExpired(operation)
        if !decision.isAutomatic { await self.resolveOpenDecisions() }
        try await self.decide(
            decision,
            path: "/api/auth/token/app/operation/authorize",
            body: RequestBody.authorize(operation, sent: self.channel.serverDate) { [channel] in
                channel.serverDate(ofLocalDate: $0)
            },
            authentication: .signature(uriID: "/operation/authorize", authentication)
        )
    }

    /// Rejects an operation, and takes it off the list when the server agrees. Possession alone signs it.
    ///
    /// - Throws: `MobileTokenError`, such as `rejectExpired` or `operationAlreadyFinished`.
    public func reject(_ operation: some AuthorizableOperation, reason: UserOperation.RejectionReason = .unknown)
        async throws
    {
        let id = self.channel.activationID
        let decision = DecisionIntent(.reject, on: operation, reason: reason, with: .possession, of: id)
        try await self.reject(operation, reason: reason, as: decision)
    }

    /// Rejects an operation, and records the given decision.
    func reject(
        _ operation: some AuthorizableOperation,
        reason: UserOperation.RejectionReason,
        as decision: DecisionIntent
    ) async throws {
        try await self.channel.synchronizeTime()
        if !decision.isAutomatic { await self.resolveOpenDecisions() }
        try await self.decide(
            decision,
            path: "/api/auth/token/app/operation/cancel",
            body: RequestBody.reject(operation, reason: reason),
            authentication: .signature(uriID: "/operation/cancel", .possession)
        )
    }

    /// Asks the server for one operation as it is now.
    ///
    /// - Throws: `MobileTokenError`, such as `detailExpired`.
    public func detail(id: String) async throws -> UserOperation {
        try await ServerCall.detail.post(
            "/api/auth/token/app/operation/detail",
            body: RequestBody.id(id),
            on: self.channel,
            language: self.acceptLanguage.description
        ).read { try UserOperation(response: $0) }
    }

    /// Takes an operation that was meant for no activation in particular, and puts it on the list.
    ///
    /// It is not put back when it left the list, or was decided here, before the response came.
    ///
    /// - Throws: `MobileTokenError`, such as `claimExpired` or `operationAlreadyFinished`.
    @discardableResult
    public func claim(id: String) async throws -> UserOperation {
        self.state.claimBegan(id)
        let operation: UserOperation
        do {
            operation = try await ServerCall.claim.post(
                "/api/auth/token/app/operation/detail/claim",
                body: RequestBody.id(id),
                on: self.channel,
                language: self.acceptLanguage.description
            ).read { try UserOperation(response: $0) }
        } catch {
            self.state.claimFailed(id)
            throw error
        }
        if operation.status == .pending {
            self.publish(self.state.applyClaim(operation, as: id))
        } else {
            self.state.claimFailed(id)
        }
        return operation
    }

    /// Asks for the operations of the past. Servers return the latest hundred or so.
    ///
    /// - Parameter authentication: Two factors.
    /// - Throws: `MobileTokenError`; `factorsNotAllowed` before anything is signed.
    public func history(with authentication: Authentication) async throws -> OperationList {
        guard UserOperation.AllowedSignatureType.Variant(authentication) != .possession else {
            throw MobileTokenError(.factorsNotAllowed, "Fetching the history requires two factors")
        }
        return try await ServerCall.other.post(
            "/api/auth/token/app/operation/history",
            body: RequestBody.empty,
            on: self.channel,
            authentication: .signature(uriID: "/operation/history", authentication),
            language: self.acceptLanguage.description
        ).read { try OperationList(response: $0) }
    }

    // MARK: Rules

    /// Throws when the operation has expired. By a clock that was never compared with the server's nothing is judged:
    /// the server does it anyway.
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
        authentication: RequestAuthentication
    ) async throws {
        let (id, isApproval) = (decision.operationID, decision.verdict == .approve)
        let source: OperationList.Change.Source = isApproval ? .authorization : .rejection
        self.state.beginDecision(id)
        do {
            let response = try await (isApproval ? ServerCall.authorize : .reject).post(
                path,
                body: body,
                on: self.channel,
                authentication: authentication,
                language: self.acceptLanguage.description,
                decision: decision
            )
            // A success by the stricter reading of the receipt is not judged again.
            if response.decision?.result != .accepted { _ = try response.read { try SuccessResponse(parsing: $0) } }
        } catch {
            self.mayHaveOpenDecisions = true
            if let error = error as? MobileTokenError, error.code == .invalidOperation {
                // To the server there is nothing to decide. Should it list the operation all the same, it comes back.
                self.publish(self.state.applyDecision(id, .disappeared, source: source))
            } else {
                self.publish(self.state.failDecision(id, at: self.channel.serverDate))
            }
            // Too late, refused or unknown: the server's list knows.
            self.pollNow()
            throw error
        }
        self.publish(self.state.applyDecision(id, isApproval ? .authorized : .rejected, source: source))
    }
}
