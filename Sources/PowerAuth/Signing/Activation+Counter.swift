internal import PowerAuthProtocol

/// Keeps this side's counter in step with the server's.
///
/// A counter value is never used twice, so this side can only fall behind when the server was moved or this store was
/// restored, and it runs ahead by one whenever a signed request does not reach the server.
extension Activation {
    /// Asks for the status before a signature, because the fate of an earlier one is not known.
    ///
    /// Answers that never came would otherwise let this side run ahead until no signature is accepted any more.
    func settle(for audience: Errand.Audience) async throws {
        let status = try await self.fetchStatus()
        try self.check(status, after: nil)
        try audience.checkIsWaiting()
        try await self.follow(status.counter)
    }

    /// Finds out why a signature was refused. Returns when the counter was the reason, which is then repaired.
    ///
    /// Asks through the status, which is not signed: repeating a wrong password would burn another attempt.
    func explain(_ refusal: MobileTokenError, of type: SignatureType) async throws {
        let status: ActivationStatus
        do {
            status = try await self.fetchStatus()
        } catch {
            throw refusal  // the better news of the two; the record is unsettled, so the next signature asks again
        }
        try self.check(status, after: refusal)
        let stored = try await self.storedRecord().counter
        try await self.follow(status.counter)
        // Within a turn nobody else takes a counter value. So when the stored one is not where the refused signature left
        // it, a status moved it forward: this one, or another that was asked for meanwhile.
        if stored != self.takenCounter { return }
        // Equal counters mean that the server stands one step after the refused value. Either it was one step ahead, or it
        // accepted the signature and then refused the request; that would have cleared the failed attempts of two factors.
        if status.counter.distance == 0, type == .possession || status.failedAttempts > 0 { return }
        throw refusal.with(remainingAttempts: status.remainingAttempts)
    }

    /// Does what a comparison asks for before the next signature.
    ///
    /// Within a turn only: it may sign.
    func follow(_ counter: CounterComparison) async throws {
        switch counter.result {
        case .inSync, .movedForward:
            // Known by the server's own word; whatever is sent next is within the window.
            let stored = try await self.storedRecord().counter
            self.settledCounter = stored
            if counter.distance == 0 { self.confirmedCounter = stored }
        case .signatureRecommended:
            if let status = try await self.letServerCatchUp() { try await self.follow(status.counter) }
        case .deadlock:
            throw MobileTokenError(.deadlock, "The counters of client and server are too far apart")
        case .rolledBack:
            throw MobileTokenError(.stateRolledBack, "The store was restored from a backup that is too old")
        }
    }

    /// Makes a signature that serves nothing else, when this side is more than half the window ahead.
    ///
    /// Within a turn only.
    ///
    /// - Returns: the status after a signature in vain: at the very edge of the window the server does not find it, and that
    ///   was the last chance. `nil` when the server has caught up.
    func letServerCatchUp() async throws -> ActivationStatus? {
        let request = SignedRequest(
            path: "/pa/v3/signature/validate",
            uriID: "/pa/signature/validate",
            keys: SigningKeys(type: .possession, keys: [self.identity.possessionKey]),
            body: { RequestBody(bytes: Array("{}".utf8)) }
        )
        do {
            _ = try await self.attempt(request, try await request.body(), evenUnsettled: true)
            return nil
        } catch let error as MobileTokenError where error.code == .authenticationFailed {
            let status = try await self.fetchStatus()
            guard !status.counter.canSign else { throw error }
            return status
        }
    }

    /// - Throws: what the activation's state says about any signature.
    private func check(_ status: ActivationStatus, after refusal: MobileTokenError?) throws(MobileTokenError) {
        let (code, message): (MobileTokenError.Code, String)
        switch status.state {
        case .active: return
        case .created, .pendingCommit:
            (code, message) = (.activationPending, "The server has not committed the activation")
        case .blocked: (code, message) = (.activationBlocked, "The activation is blocked")
        case .removed: (code, message) = (.activationRemoved, "The activation was removed from the server")
        }
        throw MobileTokenError(
            code,
            message,
            httpStatus: refusal?.httpStatus,
            serverCode: refusal?.serverCode,
            remainingAttempts: code == .activationBlocked ? 0 : nil
        )
    }
}

extension MobileTokenError {
    fileprivate func with(remainingAttempts: Int) -> Self {
        Self(
            self.code,
            self.message,
            httpStatus: self.httpStatus,
            serverCode: self.serverCode,
            remainingAttempts: remainingAttempts,
            retryAfter: self.retryAfter,
            underlying: self.underlying
        )
    }
}
