public import PowerAuth

extension OperationsService {
    /// Authorizes an operation, and takes it off the list when the server agrees.
    ///
    /// When the call ends with `CancellationError`, or without an answer, the server may have carried it out all the same; the
    /// list tells.
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
        try self.checkMayAuthorize(operation, with: authentication)
        try await self.decide(
            .authorize,
            operation.id,
            path: "/api/auth/token/app/operation/authorize",
            body: RequestBody.authorize(operation, sent: self.currentServerDate),
            authentication: .signature(uriID: "/operation/authorize", authentication)
        )
    }

    /// Rejects an operation, and takes it off the list when the server agrees. Possession alone signs it.
    ///
    /// - Throws: `MobileTokenError`, such as `rejectExpired` or `operationAlreadyFinished`.
    public func reject(_ operation: some AuthorizableOperation, reason: RejectionReason = .unknown) async throws {
        try await self.decide(
            .reject,
            operation.id,
            path: "/api/auth/token/app/operation/cancel",
            body: RequestBody.reject(operation, reason: reason),
            authentication: .signature(uriID: "/operation/cancel", .possession)
        )
    }

    /// Asks the server for one operation as it is now.
    ///
    /// - Throws: `MobileTokenError`, such as `detailExpired`.
    public func detail(id: String) async throws -> UserOperation {
        try await UserOperation(
            answer: self.post(
                .detail,
                "/api/auth/token/app/operation/detail",
                body: RequestBody.id(id),
                authentication: .universalToken
            )
        )
    }

    /// Takes an operation that was meant for nobody in particular, and puts it on the list.
    ///
    /// - Throws: `MobileTokenError`, such as `claimExpired` or `operationAlreadyFinished`.
    @discardableResult
    public func claim(id: String) async throws -> UserOperation {
        let answer = try await self.post(
            .claim,
            "/api/auth/token/app/operation/detail/claim",
            body: RequestBody.id(id),
            authentication: .universalToken
        )
        let operation = try UserOperation(answer: answer)
        if operation.status == .pending { self.publish(self.list.claimed(operation)) }
        return operation
    }

    /// Asks for the operations of the past. Servers return the latest hundred or so.
    ///
    /// - Parameter authentication: Two factors.
    /// - Throws: `MobileTokenError`; `factorsNotAllowed` before anything is signed.
    public func history(with authentication: Authentication) async throws -> OperationList {
        guard AllowedSignatureType.Variant(authentication) != .possession else {
            throw MobileTokenError(.factorsNotAllowed, "The history asks for two factors")
        }
        return try await OperationList(
            parsing: self.post(
                .other,
                "/api/auth/token/app/operation/history",
                body: RequestBody.empty,
                authentication: .signature(uriID: "/operation/history", authentication)
            )
        )
    }

    // MARK: Rules

    private func checkMayAuthorize(_ operation: some AuthorizableOperation, with authentication: Authentication) throws
    {
        if let operation = operation as? UserOperation {
            guard operation.isAuthorizable else {
                throw MobileTokenError(.notAuthorizable, "The operation is not pending, or asks for unknown factors")
            }
            guard operation.expires > self.currentServerDate else {
                throw MobileTokenError(.authorizeExpired, "The operation's time is over")
            }
        }
        guard operation.allows(authentication) else {
            throw MobileTokenError(.factorsNotAllowed, "The server does not accept these factors for the operation")
        }
    }

    private func decide(
        _ call: ServerCall,
        _ id: String,
        path: String,
        body: [UInt8],
        authentication: RequestAuthentication
    ) async throws {
        self.list.decisionBegan(id)
        do {
            let answer = try await self.post(call, path, body: body, authentication: authentication)
            _ = try SuccessAnswer(parsing: answer)
        } catch {
            self.publish(self.list.decisionFailed(id, at: self.currentServerDate))
            // Too late, refused or unknown: the server's list knows.
            self.pollNow()
            throw error
        }
        switch call {
        case .reject: self.publish(self.list.decided(id, .rejected, source: .rejection))
        default: self.publish(self.list.decided(id, .authorized, source: .authorization))
        }
    }

    private func post(
        _ call: ServerCall,
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication
    ) async throws -> [UInt8] {
        try await call.naming {
            try await self.channel.post(
                path,
                body: body,
                authentication: authentication,
                acceptLanguage: self.acceptLanguage.description
            )
        }
    }
}
