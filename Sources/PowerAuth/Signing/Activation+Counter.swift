import Coordination
import Foundation
import PowerAuthProtocol

/// Keeps this side's counter in step with the server's. What to do is decided by ``CounterLedger`` and ``CounterKnowledge``.
///
/// A counter value is never used twice, so this side can only fall behind when the server was moved or this store was
/// restored, and it runs ahead by one whenever a signed request does not reach the server.
extension Activation {
    /// Asks for the status before a signature, because the fate of an earlier one is not known.
    ///
    /// Responses that never came would otherwise let this side run ahead until no signature is accepted any more.
    func settle(in turn: SigningTurn, for caller: UncancellableTask.Caller) async throws {
        let compared = try await self.fetchStatusBeforeSigning()
        self.failedAttempts.learn(compared.status.failedAttempts)
        try self.check(compared.status, after: nil)
        try caller.checkIsWaiting()
        try await self.apply(compared, in: turn)
    }

    /// Finds out why a signature was refused. Returns when the counter was the reason, which is then repaired.
    ///
    /// Asks through the status, which is not signed: repeating a wrong password would burn another attempt.
    ///
    /// - Parameter compared: The status after the refusal; `nil` when it could not be had.
    func recover(
        from refusal: MobileTokenError,
        of type: SignatureType,
        _ compared: ComparedStatus?,
        in turn: SigningTurn
    ) async throws {
        // The better news of the two; the ledger is unsettled, so the next signature asks again.
        guard let compared else { throw refusal }
        let status = compared.status
        let isCounted = self.failedAttempts.rise(to: status.failedAttempts)
        try self.check(status, after: refusal)
        try await self.apply(compared, in: turn)
        let wasCounter = self.counterKnowledge.explainsRefusal(
            status.counter,
            counter: compared.counter,
            clearsFailedAttempts: type != .possession,
            failedAttempts: status.failedAttempts
        )
        guard !wasCounter else { return }
        var refusal = refusal
        // Only a failure that was counted says that the factors are wrong.
        if isCounted { refusal.remainingAttempts = status.remainingAttempts }
        throw refusal
    }

    /// Does what a comparison asks for before the next signature; it may sign.
    func apply(_ compared: ComparedStatus, in turn: SigningTurn) async throws {
        switch try self.counterKnowledge.apply(compared.status.counter, counter: compared.counter) {
        case .sign: return
        case .letServerCatchUp:
            if let refused = try await self.letServerCatchUp(in: turn) { try await self.apply(refused, in: turn) }
        }
    }

    /// Makes a signature that serves nothing else, when this side is more than half the window ahead.
    ///
    /// - Returns: The status after a signature in vain: at the very edge of the window the server does not find it, and that
    ///   was the last chance. `nil` when the server has caught up.
    func letServerCatchUp(in turn: SigningTurn) async throws -> ComparedStatus? {
        let request = try SignedRequest(
            self.dialect.validation(for: .counterSynchronization),
            keys: SigningKeys(dialect: self.dialect, type: .possession, keys: [self.dialect.possessionKey]),
            // The store may not know yet that the server has a confirmation: the status has said that it waits for none.
            isConfirming: true
        )
        do {
            let response = try await self.attempt(request, try await request.body(), in: turn, settled: .notRequired)
            try Acknowledgement.check(response, of: request.path)
            return nil
        } catch let error as MobileTokenError where error.code == .authenticationFailed {
            let compared = try await self.fetchStatus()
            guard !compared.status.counter.canSign else { throw error }
            return compared
        }
    }

    /// Encrypts for the server, which hands out no key for an activation that is gone, and says no more than that.
    ///
    /// - Throws: The error of the activation's state, when that is why there is no key; else the error of `body`.
    func encrypting(_ body: () async throws -> RequestBody) async throws -> RequestBody {
        do {
            return try await body()
        } catch let refusal as MobileTokenError where refusal.code == .temporaryKeyRefused {
            if let compared = try? await self.fetchStatus() { try self.check(compared.status, after: refusal) }
            throw refusal
        }
    }

    /// - Throws: The error of a state in which the server accepts no signature.
    private func check(_ status: ActivationStatus, after refusal: MobileTokenError?) throws(MobileTokenError) {
        let (code, message): (MobileTokenError.Code, String)
        switch status.state {
        case .active: return
        case .created, .pendingCommit:
            (code, message) = (.activationPending, "The server has not committed the activation")
        case .blocked:
            let end = status.blockedUntil.map { " until \($0.formatted(.iso8601))" } ?? ""
            (code, message) = (.activationBlocked, "The activation is blocked\(end)")
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
