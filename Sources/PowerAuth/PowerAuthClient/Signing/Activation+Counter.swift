import Coordination
import Foundation
import MobileTokenObserving
import PowerAuthProtocol

/// Keeps the counter synchronized with the server's. ``CounterLedger`` and ``CounterKnowledge`` make the decisions. A counter
/// value is never used twice. So the client falls behind only after a restore or a server migration, and gets one step ahead for
/// each signed request that does not reach the server.
extension Activation {
    /// Fetches the status before a signature if an earlier one has an unknown outcome. Otherwise lost responses would let the
    /// client run ahead until no signature is accepted. If the server may still process a decision, this waits for it, then
    /// invalidates it with a possession signature, which counts no failure.
    func settle(in turn: SigningTurn, for caller: UncancellableTask.Caller) async throws {
        let (compared, open) = try await self.fetchStatusBeforeSigning()
        self.failedAttempts.learn(compared.status.failedAttempts)
        try self.check(compared.status, after: nil)
        try caller.checkIsWaiting()
        try LostSignatures.check(compared.status)
        if let wait = self.arrivals.wait(for: open, at: self.server.clocks.monotonic, timeLeft: self.timeLeft) {
            throw MayStillArrive(wait: wait)
        }
        try await self.apply(compared, in: turn, fencing: !open.isEmpty)
    }

    /// Determines why a signature was refused, and resynchronizes the counter. It uses the unsigned status, because another
    /// signature with a wrong password would burn an attempt.
    ///
    /// - Parameters:
    ///   - compared: The status after the refusal; `nil` if unavailable.
    ///   - isDoubtful: `true` if the server may have carried out the request nevertheless. The next signature then fetches the
    ///     status again.
    /// - Throws: The error of a state without signatures, or of counters that cannot be synchronized.
    func finding(
        on refusal: MobileTokenError,
        of type: SignatureType,
        _ compared: ComparedStatus?,
        isDoubtful: Bool = false,
        in turn: SigningTurn
    ) async throws -> RefusalFinding {
        let error = self.explained(refusal, by: compared)
        // The ledger is unsettled, so the next signature fetches the status again.
        guard let compared else { return RefusalFinding(isOfCounter: false, isFollowed: false, error: error) }
        let status = compared.status
        try self.check(status, after: refusal)
        let isOfCounter = self.counterKnowledge.explainsRefusal(
            status.counter,
            counter: compared.counter,
            clearsFailedAttempts: type != .possession,
            failedAttempts: status.failedAttempts
        )
        if isOfCounter {
            try await self.apply(compared, in: turn)
        } else {
            var knowledge = self.counterKnowledge
            _ = try knowledge.apply(status.counter, counter: compared.counter)
            if !isDoubtful, status.lostSignatures == 0 { self.counterKnowledge = knowledge }
        }
        let isFollowed = error.remainingAttempts == nil && status.counter.isFollowed
        return RefusalFinding(isOfCounter: isOfCounter, isFollowed: isFollowed, error: error)
    }

    /// Fetches the status after a refusal.
    ///
    /// - Returns: `nil` if the status is unavailable, and the refusal, which then waits as the answer asked.
    func status(explaining refusal: MobileTokenError) async -> (status: ComparedStatus?, refusal: MobileTokenError) {
        do {
            return (try await self.fetchStatus(), refusal)
        } catch {
            var refusal = refusal
            let wait = (error as? MobileTokenError)?.retryAfter
            refusal.retryAfter = [refusal.retryAfter, wait].compactMap { $0 }.max()
            return (nil, refusal)
        }
    }

    /// Explains a refused signature by the status after it. Only a counted failure proves that the factors are wrong.
    ///
    /// - Parameter compared: The status; `nil` if unavailable.
    func explained(_ refusal: MobileTokenError, by compared: ComparedStatus?) -> MobileTokenError {
        guard let status = compared?.status else { return refusal.unproven("and its status cannot be asked for") }
        guard self.failedAttempts.rise(to: status.failedAttempts) else {
            return refusal.unproven(
                status.counter.isFollowed
                    ? "but its counter has followed the signature, and no attempt failed"
                    : """
                    but its status shows neither a failed attempt nor a step of the counter. A server behind it may be in trouble, or \
                    something on the way removes the signature
                    """
            )
        }
        var refusal = refusal
        refusal.remainingAttempts = status.remainingAttempts
        return refusal
    }

    /// Applies a comparison before the next signature; may sign.
    ///
    /// - Parameter isFencing: `true` if a signature must be accepted in any case.
    func apply(_ compared: ComparedStatus, in turn: SigningTurn, fencing isFencing: Bool = false) async throws {
        let step = try self.counterKnowledge.apply(compared.status.counter, counter: compared.counter)
        guard isFencing || step == .letServerCatchUp, let refused = try await self.letServerCatchUp(in: turn) else {
            return
        }
        _ = try self.counterKnowledge.apply(refused.status.counter, counter: refused.counter)
        // The server is at this very signature if it accepted a copy of it.
        if case .movedForward = refused.status.counter.result { return }
        guard refused.status.counter.distance == 0 else { throw LostSignatures.notSeen(refused.status) }
    }

    /// Makes a signature that only moves the server's counter.
    ///
    /// - Returns: The status after a futile signature at the very edge of the window, which was the last chance; `nil` if the
    ///   server caught up.
    func letServerCatchUp(in turn: SigningTurn) async throws -> ComparedStatus? {
        let request = try SignedRequest(
            self.dialect.validation(for: .counterSynchronization),
            keys: SigningKeys(dialect: self.dialect, type: .possession, keys: [self.dialect.possessionKey]),
            // The store may not know yet that the confirmation is complete, as the status has shown.
            isConfirming: true
        )
        do {
            let response = try await self.attempt(request, try await request.body(), in: turn, settled: .compared)
            try Acknowledgement.check(response, of: request.path)
            return nil
        } catch is Unsettled {
            throw MobileTokenError.restoredSinceStatus
        } catch let error as MobileTokenError where error.code == .authenticationFailed {
            // Possession counts no failure and its key is right, so only the status is meaningful.
            return try await self.fetchStatus()
        }
    }

    /// Runs `body`, which encrypts. For a removed activation the server returns no key and no reason.
    ///
    /// - Throws: The error of the activation's state if that explains the missing key; otherwise the error of `body`.
    func encrypting(_ body: () async throws -> EncodedBody) async throws -> EncodedBody {
        do {
            return try await body()
        } catch let refusal as MobileTokenError where refusal.code == .temporaryKeyRefused {
            let (compared, refusal) = await self.status(explaining: refusal)
            if let compared { try self.check(compared.status, after: refusal) }
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
