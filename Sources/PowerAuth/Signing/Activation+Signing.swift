import Coordination
import Foundation
import HTTPClientTransport
import PowerAuthProtocol
import Synchronization

extension Activation {
    /// Signs and sends a request when its turn comes, and hands the response to `receive` before the turn ends.
    ///
    /// - Parameters:
    ///   - dialect: The only one that the request makes sense in, if there is one.
    ///   - makeRequest: Makes the request for the dialect that the keys are of.
    /// - Throws: `CancellationError` at once when the task is canceled. Before anything was signed the request is then
    ///   dropped; later it is finished in the background, `receive` included.
    nonisolated func send<Value: Sendable>(
        with authentication: Authentication,
        in dialect: (any ActivationDialect)? = nil,
        _ makeRequest: @Sendable (SigningKeys) throws -> SignedRequest,
        receive: @escaping @Sendable (ChannelResponse, SigningTurn) async throws -> Value
    ) async throws -> Value {
        try await self.withSigningKeys(for: authentication, in: dialect) { keys in
            let request = try makeRequest(keys)
            return try await self.withSigningTurn { turn, caller in
                try await receive(try await self.exchange(request, in: turn, for: caller), turn)
            }
        }
    }

    /// Runs `work` when this activation's signing turn is the caller's; see ``ActivationStore/withSigningTurn(of:_:)``.
    ///
    /// Waiting ends when the caller is canceled. Once begun, `work` goes on to its end whether or not the caller is still
    /// there, and keeps the turn until then.
    nonisolated func withSigningTurn<Value: Sendable>(
        _ work: @escaping @Sendable (SigningTurn, UncancellableTask.Caller) async throws -> Value
    ) async throws -> Value {
        try await UncancellableTask.runOnceBegun { caller in
            // A result within the turn, so that only the store's own errors are translated.
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

    /// Makes one signed exchange, within a turn. Puts right what can be put right, each thing once.
    func exchange(
        _ request: SignedRequest,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller
    ) async throws -> ChannelResponse {
        var maySynchronize = true
        var mayRenewKey = true
        var doubtful: OpenDecision?
        while true {
            // The activation may have been removed while this request waited, here or at one of the awaits below.
            try self.checkNotRemoved()
            let body = try await self.encrypting { try await request.body() }
            // Nothing has happened yet: the last moment at which a canceled request leaves no trace.
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
                // A later signature of the same decision was accepted: the earlier one, which the server had followed, decided nothing.
                if let doubtful, request.decision?.signed?.result == .accepted {
                    _ = await self.end(doubtful, .notFollowed)
                }
                return response
            } catch let obstacle as AwaitingConfirmation {
                guard obstacle.step == .upgrade else { throw MobileTokenError.activationNotConfirmed }
                try await self.completeUpgrade(in: turn, for: caller)
            } catch is Unsettled {
                // Happens again only when another call moves the counter between the status and the next attempt.
                try await self.settle(in: turn, for: caller)
            } catch let error as MobileTokenError where self.mayRenewKey(of: body, after: error) && mayRenewKey {
                mayRenewKey = false
                self.observeRetry(of: request.path, for: .temporaryKeyRenewed)
            } catch let refusal as JudgedRefusal {
                guard refusal.allowsAnother(maySynchronize) else { throw refusal.error }
                maySynchronize = false
                doubtful = refusal.doubtful
                try await self.recover(from: refusal.error, of: request.keys.type, refusal.status, in: turn)
                self.observeRetry(of: request.path, for: .counterMoved)
            } catch let error as MobileTokenError where error.code == .authenticationFailed && maySynchronize {
                maySynchronize = false
                try await self.recover(from: error, of: request.keys.type, try? self.fetchStatus(), in: turn)
                // The code was checked over what the server saw. If that was not what is in the envelope, another try is another
                // failure, so it is left to the caller.
                guard body.temporaryKeyID == nil || EncryptedCall(signed: body) != .signedContent else {
                    throw error
                }
                self.observeRetry(of: request.path, for: .counterMoved)
            }
        }
    }

    /// Forgets the temporary key of a signed request that it may have failed for.
    ///
    /// - Returns: `true` when the request may be made once more with another key.
    private func mayRenewKey(of body: RequestBody, after error: MobileTokenError) -> Bool {
        guard let keyID = body.temporaryKeyID else { return false }
        let verdict = TemporaryKeyVerdict(EncryptedCall(signed: body), error)
        if verdict != .keep { self.forgetEncryptionKey(keyID) }
        return verdict == .renew
    }

    /// Waits for a permit, takes a counter value, signs and sends. Whatever happens afterwards, that value is spent.
    ///
    /// The permit comes first: a value that waited for one may be too old to be sent. Those who wait for a turn have none, or
    /// all would wait for the one whose turn it is.
    ///
    /// - Throws: ``Unsettled``, before anything happened, when the ledger is unsettled against the requirement; ``JudgedRefusal``
    ///   for a request that decides. `CancellationError`, likewise, when the caller waits no longer.
    func attempt(
        _ request: SignedRequest,
        _ body: RequestBody,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller? = nil,
        settled requirement: CounterLedger.SettledRequirement
    ) async throws -> ChannelResponse {
        let confirmed = self.counterKnowledge.confirmed
        if self.server.isLimited, self.counterKnowledge.mayBeUnsettled {
            try await self.checkTaking(for: request, in: turn, settled: requirement, confirmed: confirmed)
        }
        let permit = try await self.server.permit()
        // Of no effect once the request has ended.
        defer { permit?.end(.unused) }
        try caller?.checkIsWaiting()
        if request.decision != nil { try DecisionRight.check() }
        try self.server.unfinished.begin()
        defer { self.server.unfinished.end() }
        // Before the counter moves: a right that is renewed meanwhile does not make an older value younger.
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
            self.observer?.receiptWritten(Observed.Receipt(activationID: self.activationID, kind: .intentWritten))
        }
        return try await self.recordingOutcome(of: request, deciding: intent, signedWith: reservation) {
            let limits = (intent == nil ? nil : window, notAfter: notAfter)
            return try await self.deliver(request, body, signedWith: reservation, within: limits, with: permit)
        }
    }

    /// Finds out without writing whether a value may be taken: what asks for a status first need not wait for a permit in vain.
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

    /// Signs and sends, unless it is too late for that.
    private func deliver(
        _ request: SignedRequest,
        _ body: RequestBody,
        signedWith reservation: CounterLedger.Reservation,
        within limits: (window: ArrivalWindow?, notAfter: ContinuousClock.Instant?),
        with permit: RequestPermit?
    ) async throws -> ChannelResponse {
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
        let opened = try response.map { bytes in
            try MobileTokenError.mapErrors(ofResponse: request.path) { try body.open(bytes) }
        }
        // A page of some proxy proves nothing. Until a JSON response came, the next signature asks for the status first.
        if response.bytes.first(where: { !Self.whitespace.contains($0) }) == UInt8(ascii: "{") {
            self.counterKnowledge.accepted(reservation)
            if request.keys.type != .possession { self.failedAttempts.learn(0) }
        }
        return opened
    }

    private static let whitespace: Set<UInt8> = [0x20, 0x09, 0x0A, 0x0D]

    /// The fate of an earlier signature is not known: ask for the status before the next one.
    private struct Unsettled: Error {}

    /// Moves the counter in the store, durably, and returns the value to sign with; see ``CounterLedger/take(_:confirmed:)``.
    nonisolated func takeCounter(
        for keys: SigningKeys,
        isConfirming: Bool = false,
        in turn: SigningTurn,
        settled requirement: CounterLedger.SettledRequirement,
        confirmed: SigningCounter? = nil,
        recording intent: DecisionIntent? = nil
    ) async throws -> CounterLedger.Reservation? {
        let reservation = try await MobileTokenError.mapStoreErrors {
            try await turn.update(recording: intent) { record in
                try keys.checkUse(of: record, isConfirming: isConfirming)
                return try record.ledger.take(requirement, confirmed: confirmed)
            }
        }
        if let reservation { self.seenMoves.store(reservation.moves, ordering: .relaxed) }
        return reservation
    }
}
