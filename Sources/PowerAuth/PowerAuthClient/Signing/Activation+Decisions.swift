import Coordination
package import DecisionReceipts
import MobileTokenObserving
import PowerAuthProtocol

extension Activation {
    /// Delivers a signature and records the outcome of its decision, before the turn ends.
    ///
    /// - Throws: ``JudgedRefusal`` if the refusal may be due to a proxy that duplicates requests.
    func recordingOutcome(
        of request: SignedRequest,
        deciding intent: DecisionIntent?,
        signedWith reservation: CounterLedger.Reservation,
        _ deliver: () async throws -> ServerResponse
    ) async throws -> ServerResponse {
        guard let ticket = request.decision, let intent else { return try await deliver() }
        let tag = self.server.store.tag(ofMove: reservation.moves, of: self.activationID)
        let decision = OpenDecision(intent, moves: reservation.moves, tag: tag)
        do {
            let response = try await deliver()
            let isSuccess = response.isAcknowledged ?? Acknowledgement.isOK(response)
            let result: DecisionOutcome.Result =
                isSuccess ? .accepted : .unanswered(code: MobileTokenError.Code.invalidResponse.description)
            ticket.ended(await self.end(decision, result))
            return response
        } catch let error as MobileTokenError where error.mayBeDuplicate {
            let refusal = await self.judged(error, decision)
            ticket.ended(await self.end(decision, refusal.result))
            throw refusal
        } catch {
            ticket.ended(await self.end(decision, DecisionOutcome.Result(error)))
            throw error
        }
    }

    /// Fetches the status, which shows whether the server accepted the signature before refusing.
    private func judged(_ error: MobileTokenError, _ decision: OpenDecision) async -> JudgedRefusal {
        let doubt = DecisionOutcome.Result.doubtful(code: error.code.description, serverCode: error.serverCode)
        var fate = DecisionFate(decision.intent.verdict, doubt)
        let (compared, refusal) = await self.status(explaining: error)
        var counter = DecisionFate.Counter.untold
        if let compared {
            let (status, known) = (compared.status, self.failedAttempts)
            // A 401 also stands for an outage behind the server, without a counted failure: the request may be processed again.
            if error.code != .authenticationFailed || status.state != .active || known.isBelow(status.failedAttempts) {
                fate.seeFailure()
            }
            counter = DecisionFate.Counter(status, moves: compared.moves, of: decision)
            fate.see(counter)
        }
        return JudgedRefusal(
            // The server's last word on an operation stays the last, whatever another server behind it asks.
            error: error.code == .authenticationFailed ? refusal : error,
            result: fate.result ?? doubt,
            status: compared,
            wasAccepted: counter == .followed,
            decision: decision
        )
    }

    nonisolated func end(_ decision: OpenDecision, _ result: DecisionOutcome.Result) async -> SignedDecision {
        await self.record(
            result,
            of: decision,
            .outcomeRecorded,
            MobileTokenObservation.Decision(decision.intent, result)
        )
        var decision = decision
        decision.result = result
        return SignedDecision(decision, result)
    }

    /// Records and reports the outcome of a decision. Never throws, because the decision is made. A receipt without an outcome
    /// stays open and is resolved later, as after a crash.
    private nonisolated func record(
        _ result: DecisionOutcome.Result,
        of decision: OpenDecision,
        _ kind: MobileTokenObservation.Receipt.Kind,
        _ report: MobileTokenObservation.Decision
    ) async {
        let date = self.server.clocks.reading.wall
        let outcome = DecisionOutcome(result, localDate: date, serverDate: self.measuredServerDate)
        var failure: MobileTokenError?
        do {
            try await MobileTokenError.mapStoreErrors { try await self.server.store.record(outcome, of: decision) }
        } catch {
            failure = error as? MobileTokenError ?? MobileTokenError(.storeFailed, "The outcome was not written")
        }
        self.observer?.decisionEnded(report)
        self.observer?.receiptWritten(
            MobileTokenObservation.Receipt(
                activationID: self.activationID,
                kind: failure == nil ? kind : .outcomeNotWritten,
                result: result,
                error: failure
            )
        )
    }
}

/// A refused decision, with the server's counter.
struct JudgedRefusal: Error {
    let error: MobileTokenError
    let result: DecisionOutcome.Result
    /// The status afterwards; `nil` if unavailable.
    let status: Activation.ComparedStatus?
    /// Indicates that the server accepted the signature nevertheless: for a copy, or before a failure behind it.
    let wasAccepted: Bool
    let decision: OpenDecision

    /// The decision, if the server may have carried it out.
    var doubtful: OpenDecision? { self.result.isOpen ? self.decision : nil }

    /// Returns whether another signature may follow at once, because the counter may be the reason. In case of doubt an agent
    /// checks the operation first, because another signature destroys the evidence. A manual decision is repeated unless the
    /// server accepted the first signature.
    func allowsAnother(_ maySynchronize: Bool) -> Bool {
        maySynchronize && self.error.code == .authenticationFailed
            && (self.doubtful == nil || !self.decision.intent.isAutomatic && !self.wasAccepted)
    }
}

extension MobileTokenError {
    /// Indicates a response that the server also gives to the second copy of a request after carrying out the first.
    fileprivate var mayBeDuplicate: Bool {
        guard self.isServersRefusal else { return false }
        return self.code == .authenticationFailed
            || ["INVALID_OPERATION", "OPERATION_ALREADY_FINISHED", "OPERATION_ALREADY_REJECTED"].contains(
                self.serverCode
            )
    }
}

extension DecisionOutcome.Result {
    /// Derives the result of a decision from its error.
    init(_ error: any Error) {
        guard let error = error as? MobileTokenError else {
            self = .unanswered(code: MobileTokenError.Code.networkUnknown.description)
            return
        }
        switch error.failureKind {
        case .refused: self = .refused(code: error.code.description, serverCode: error.serverCode)
        case .unknown: self = .unanswered(code: error.code.description)
        }
    }
}

// MARK: - The outcome of a signature

extension Activation {
    /// Fetches the status and compares its counter with the decision's. Signs nothing.
    ///
    /// - Throws: The error of the status, and `activationRemoved`, because the counter of a removed activation proves nothing.
    package nonisolated func counter(at decision: OpenDecision) async throws -> DecisionFate.Counter {
        let compared = try await self.fetchStatus()
        guard compared.status.state != .removed else {
            throw MobileTokenError(.activationRemoved, "The activation was removed from the server")
        }
        // Another signature may have moved the counter since, so the distance counts from the comparison.
        let counter = DecisionFate.Counter(compared.status, moves: compared.moves, of: decision)
        guard counter == .past else { return counter }
        // A journal that had lost the decision did not look at it before the signatures that followed.
        guard let known = try await self.openDecisions().first(where: { $0.isSame(as: decision) }) else {
            return try await self.hasReceipt(of: decision) ? .past : .reached
        }
        return known.result == .evidenceLost ? .reached : .past
    }

    /// Makes a possession signature, which counts no failure, to invalidate earlier signatures that may still be accepted.
    package nonisolated func fence() async throws {
        try await self.withSigningTurn { turn, caller in
            try self.checkNotRemoved()
            try caller.checkIsWaiting()
            try await self.settle(in: turn, for: caller)
        }
    }
}

// MARK: - Receipts

extension Activation {
    package nonisolated var store: ActivationStore? { self.server.store }

    /// Records the outcome of a decision with a lost response, if the store keeps receipts.
    package nonisolated func resolve(_ decision: OpenDecision, as result: DecisionOutcome.Result) async {
        let report = MobileTokenObservation.Decision(
            activationID: self.activationID,
            operationID: decision.intent.operationID,
            verdict: decision.intent.verdict,
            result: result
        )
        await self.record(result, of: decision, .openRowResolved, report)
    }

    package nonisolated func openDecisions() async throws -> [OpenDecision] {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.openDecisions(of: self.activationID) }
    }
}
