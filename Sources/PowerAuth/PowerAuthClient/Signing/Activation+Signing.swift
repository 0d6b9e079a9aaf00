import Coordination
import DecisionReceipts
import Foundation
import HTTPClientTransport
import MobileTokenObserving
import PowerAuthProtocol
import Synchronization

extension Activation {
    /// Signs and sends a request in its turn, and passes the response to `receive` before the turn ends.
    ///
    /// - Parameters:
    ///   - dialect: The only dialect that the request is valid in, if any.
    ///   - makeRequest: Makes the request for the dialect of the keys.
    /// - Throws: `CancellationError` at once on cancellation. Before the signature the request is dropped; later it is finished
    ///   in the background, including `receive`.
    nonisolated func send<Value: Sendable>(
        with authentication: Authentication,
        in dialect: (any ActivationDialect)? = nil,
        _ makeRequest: @Sendable (SigningKeys) throws -> SignedRequest,
        receive: @escaping @Sendable (ServerResponse, SigningTurn) async throws -> Value
    ) async throws -> Value {
        try await self.withSigningKeys(for: authentication, in: dialect) { keys in
            let request = try makeRequest(keys)
            return try await self.withSigningTurn { turn, caller in
                try await receive(try await self.exchange(request, in: turn, for: caller), turn)
            }
        }
    }

    /// Runs `work` in this activation's signing turn; see ``ActivationStore/withSigningTurn(of:_:)``. Cancellation ends the wait,
    /// but not `work`: once begun, it runs to its end and keeps the turn. While an earlier decision may still reach the server,
    /// `work` is retried in new turns. It proceeds as soon as the server's counter has reached that decision.
    nonisolated func withSigningTurn<Value: Sendable>(
        _ work: @escaping @Sendable (SigningTurn, UncancellableTask.Caller) async throws -> Value
    ) async throws -> Value {
        var (pause, isTold) = (Duration.milliseconds(500), false)
        while true {
            do {
                return try await self.withOneSigningTurn(work)
            } catch let obstacle as MayStillArrive {
                self.observer?.signingWaits(
                    MobileTokenObservation.Wait(activationID: self.activationID, limit: obstacle.wait)
                )
                if !isTold { await DecisionRight.waits(obstacle.wait) }
                isTold = true
                pause = min(pause * 2, .seconds(8))
                let clock = ServiceClock(self.server.configuration.clock)
                try await clock.sleep(until: clock.now + min(pause, obstacle.wait))
            }
        }
    }

    private nonisolated func withOneSigningTurn<Value: Sendable>(
        _ work: @escaping @Sendable (SigningTurn, UncancellableTask.Caller) async throws -> Value
    ) async throws -> Value {
        try await UncancellableTask.runOnceBegun { caller in
            // A `Result`, so that only the store's own errors are translated.
            let result: Result<Value, any Error> = try await MobileTokenError.mapStoreErrors {
                try await self.server.store.withSigningTurn(of: self.activationID) { turn in
                    try caller.begin()
                    do {
                        return .success(try await work(turn, caller))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return try result.get()
        }
    }

    /// Makes one signed exchange within a turn, with as many repairs as ``ExchangeRepairs`` allows.
    func exchange(
        _ request: SignedRequest,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller
    ) async throws -> ServerResponse {
        var repairs = ExchangeRepairs()
        var doubtful: OpenDecision?
        while true {
            // The activation may have been removed during any wait.
            try self.checkNotRemoved()
            let body = try await self.encrypting { try await request.body() }
            // The last point at which a canceled request leaves no trace.
            try caller.checkIsWaiting()
            do {
                let response = try await self.attempt(
                    request,
                    body,
                    in: turn,
                    for: caller,
                    settled: .ifSettled(at: self.counterKnowledge.settled)
                )
                if request.keys.hasRival { await self.keepProven(request.keys, in: turn) }
                // A later signature of the same decision was accepted, so the earlier one decided nothing, though the server had
                // followed it.
                if let doubtful, request.decision?.signed?.result == .accepted {
                    _ = await self.end(doubtful, .notFollowed)
                }
                return response
            } catch let obstacle as AwaitingConfirmation {
                guard obstacle.step == .upgrade else { throw MobileTokenError.activationNotConfirmed }
                try repairs.confirm()
                try await self.completeUpgrade(in: turn, for: caller)
            } catch is Unsettled {
                // Repeats only if another call moves the counter between the status and the next attempt.
                try repairs.settle()
                try await self.settle(in: turn, for: caller)
            } catch let error as MobileTokenError
                where self.mayRenewKey(of: body, after: error) && repairs.mayRenewKey
            {
                repairs.renewKey()
                self.observeRetry(of: request.path, for: .temporaryKeyRenewed)
            } catch let refusal as JudgedRefusal {
                guard refusal.allowsAnother(repairs.maySynchronize) else {
                    let isOfFactors = refusal.error.code == .authenticationFailed
                    throw isOfFactors ? self.explained(refusal.error, by: refusal.status) : refusal.error
                }
                repairs.synchronize()
                doubtful = refusal.doubtful
                let finding = try await self.finding(
                    on: refusal.error,
                    of: request.keys.type,
                    refusal.status,
                    isDoubtful: doubtful != nil,
                    in: turn
                )
                guard finding.isOfCounter else { throw finding.error }
                self.observeRetry(of: request.path, for: .counterMoved)
            } catch let error as MobileTokenError where error.code == .authenticationFailed {
                let (status, refusal) = await self.status(explaining: error)
                let finding = try await self.finding(on: refusal, of: request.keys.type, status, in: turn)
                let call = body.temporaryKeyID.map { _ in EncryptedCall(signed: body) }
                guard let reason = repairs.choose(after: finding, of: call) else { throw finding.error }
                if finding.isFollowed, let id = body.temporaryKeyID { self.forgetEncryptionKey(id) }
                self.observeRetry(of: request.path, for: reason)
            }
        }
    }

    /// Drops the temporary key of a signed request if it may have caused the failure.
    ///
    /// - Returns: `true` if the request may be retried with another key.
    private func mayRenewKey(of body: EncodedBody, after error: MobileTokenError) -> Bool {
        guard let keyID = body.temporaryKeyID else { return false }
        let verdict = TemporaryKeyVerdict(EncryptedCall(signed: body), error)
        if verdict != .keep { self.forgetEncryptionKey(keyID) }
        return verdict == .renew
    }

    /// Waits for a permit, takes a counter value, signs and sends. The value is spent in any case. The permit comes first,
    /// because a value that waits for one may get too old. Callers waiting for a turn hold no permit, to avoid a deadlock.
    ///
    /// - Throws: ``Unsettled``, before anything happened; ``JudgedRefusal`` for a decision; `CancellationError` if the caller no
    ///   longer waits.
    func attempt(
        _ request: SignedRequest,
        _ body: EncodedBody,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller? = nil,
        settled requirement: CounterLedger.SettledRequirement
    ) async throws -> ServerResponse {
        let confirmed = self.counterKnowledge.confirmed
        if self.server.isLimited, self.counterKnowledge.mayBeUnsettled {
            try await self.checkTaking(for: request, in: turn, settled: requirement, confirmed: confirmed)
        }
        let permit = try await self.server.permit()
        // Without effect once the request has ended.
        defer { permit?.end(.unused) }
        try caller?.checkIsWaiting()
        if request.decision != nil { try DecisionRight.check() }
        try self.server.unfinished.begin()
        defer { self.server.unfinished.end() }
        // Read before the counter moves: a later renewal of the right does not make an older value younger.
        let (notAfter, now) = (turn.notAfter, ContinuousClock.now)
        if let notAfter, notAfter <= now { throw MobileTokenError.transport(HTTPTransportError(.tooLate)) }
        let window = ArrivalWindow(
            at: now,
            notAfter: notAfter,
            timeout: self.server.timeout,
            arrivalTimeout: self.server.arrivalTimeout
        )
        let date = self.server.clocks.reading.wall
        let intent = request.decision?.intent.dated(
            date,
            serverDate: self.measuredServerDate,
            arrivesBefore: date + window.length / .seconds(1)
        )
        let reservation = try await self.takeCounter(
            for: request.keys,
            isConfirming: request.isConfirming,
            in: turn,
            settled: requirement,
            confirmed: confirmed,
            recording: intent
        )
        guard let reservation else { throw Unsettled() }
        self.counterKnowledge.signed(with: reservation)
        if intent != nil {
            self.observer?.receiptWritten(
                MobileTokenObservation.Receipt(activationID: self.activationID, kind: .intentWritten)
            )
        }
        return try await self.recordingOutcome(of: request, deciding: intent, signedWith: reservation) {
            let limits = (intent == nil ? nil : window, notAfter: notAfter)
            return try await self.deliver(request, body, signedWith: reservation, within: limits, with: permit)
        }
    }

    /// Checks without writing whether a value may be taken, to avoid waiting for a permit in vain.
    private func checkTaking(
        for request: SignedRequest,
        in turn: SigningTurn,
        settled requirement: CounterLedger.SettledRequirement,
        confirmed: SigningCounter?
    ) async throws {
        let record = try await MobileTokenError.mapStoreErrors { try await turn.record }
        try request.keys.checkUse(of: record, isConfirming: request.isConfirming)
        var ledger = record.ledger
        guard try ledger.take(requirement, confirmed: confirmed) != nil else { throw Unsettled() }
    }

    /// Signs and sends, unless it is too late.
    private func deliver(
        _ request: SignedRequest,
        _ body: EncodedBody,
        signedWith reservation: CounterLedger.Reservation,
        within limits: (window: ArrivalWindow?, notAfter: ContinuousClock.Instant?),
        with permit: RequestPermit?
    ) async throws -> ServerResponse {
        var headers = request.headers
        let nonce = self.server.randomness.bytes(16)
        let data = SignatureData(method: "POST", uriID: request.uriID, nonce: nonce, body: body.signedBytes)
        let header = try MobileTokenError.mapCryptoErrors {
            try request.keys.dialect.signatureHeader(
                SignatureInput(data: data, keys: request.keys, counter: reservation.value),
                nonce: nonce
            )
        }
        headers[header.name] = header.value
        if request.sendsEncryptionHeader { headers.setEncryption(of: body) }
        let timeout = limits.window?.timeout(at: .now)
        if limits.window != nil, timeout == nil { throw MobileTokenError.transport(HTTPTransportError(.tooLate)) }
        self.observe(reservation, by: request.keys.type, to: request.path)
        let response = try await self.server.post(
            request.path,
            for: self.activationID,
            headers: headers,
            body: body.bytes,
            timeout: timeout,
            notAfter: limits.notAfter,
            with: permit
        )
        var opened = try response.map { bytes in
            try MobileTokenError.mapErrors(ofResponse: request.path) { try body.open(bytes) }
        }
        // A proxy's page proves nothing. Without a JSON response (for a decision, without a confirmation), the next signature
        // fetches the status first.
        let isJSON = response.bytes.first(where: { !Self.whitespace.contains($0) }) == UInt8(ascii: "{")
        if request.decision != nil { opened.isAcknowledged = Acknowledgement.isOK(opened) }
        if opened.isAcknowledged ?? true, isJSON {
            self.counterKnowledge.accepted(reservation)
            if request.keys.type != .possession { self.failedAttempts.learn(0) }
        }
        return opened
    }

    private static let whitespace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]

    /// An earlier signature has an unknown outcome: fetch the status before the next one.
    struct Unsettled: Error {}

    /// Durably moves the counter, and returns the value to sign with; see ``CounterLedger/take(_:confirmed:isSent:)``.
    nonisolated func takeCounter(
        for keys: SigningKeys,
        isConfirming: Bool = false,
        in turn: SigningTurn,
        settled requirement: CounterLedger.SettledRequirement,
        confirmed: SigningCounter? = nil,
        isSent: Bool = true,
        recording intent: DecisionIntent? = nil
    ) async throws -> CounterLedger.Reservation? {
        let reservation = try await MobileTokenError.mapStoreErrors {
            try await turn.update(recording: intent) { record in
                try keys.checkUse(of: record, isConfirming: isConfirming)
                return try record.ledger.take(requirement, confirmed: confirmed, isSent: isSent)
            }
        }
        if let reservation { self.seenMoves.store(reservation.moves, ordering: .relaxed) }
        return reservation
    }
}
