import Basics
import Foundation
import PowerAuthProtocol

extension Activation {
    /// Delivers a signature, and writes what became of the decision that it makes, before the turn ends.
    ///
    /// - Throws: ``JudgedRefusal`` when a proxy that sends requests twice may be the reason of the server's refusal.
    func recordingOutcome(
        of request: SignedRequest,
        deciding intent: DecisionIntent?,
        signedWith reservation: CounterLedger.Reservation,
        _ deliver: () async throws -> ChannelResponse
    ) async throws -> ChannelResponse {
        guard let ticket = request.decision, let intent else { return try await deliver() }
        let tag = self.server.store.tag(ofMove: reservation.moves, of: self.activationID)
        let decision = OpenDecision(intent, moves: reservation.moves, tag: tag)
        do {
            let response = try await deliver()
            let isSuccess = Acknowledgement.isOK(response)
            let result: DecisionOutcome.Result =
                isSuccess ? .accepted : .unanswered(code: MobileTokenError.Code.invalidResponse.description)
            ticket.ended(await self.end(decision, result))
            return response
        } catch let error as MobileTokenError where error.mayBeOfSecondCopy {
            let refusal = await self.judged(error, of: request, signedWith: reservation, decision)
            ticket.ended(await self.end(decision, refusal.result))
            throw refusal
        } catch {
            ticket.ended(await self.end(decision, DecisionOutcome.Result(error)))
            throw error
        }
    }

    /// Asks for the status, which tells whether the server has accepted the signature that it then refused.
    private func judged(
        _ error: MobileTokenError,
        of request: SignedRequest,
        signedWith reservation: CounterLedger.Reservation,
        _ decision: OpenDecision
    ) async -> JudgedRefusal {
        guard let compared = try? await self.fetchStatus() else {
            let result = DecisionOutcome.Result.unanswered(code: error.code.description)
            return JudgedRefusal(error: error, result: result, status: nil, decision: decision)
        }
        let result = DecisionOutcome.Result(
            error,
            ofMove: reservation.moves,
            factors: request.keys.type,
            moves: compared.moves,
            compared.status
        )
        return JudgedRefusal(error: error, result: result, status: compared, decision: decision)
    }

    nonisolated func end(_ decision: OpenDecision, _ result: DecisionOutcome.Result) async -> SignedDecision {
        await self.record(result, of: decision, .outcomeRecorded, Observed.Decision(decision.intent, result))
        return SignedDecision(decision, result)
    }

    /// Writes what became of a decision, and reports it.
    ///
    /// Does not throw: the decision is made. A row that lacks its outcome is open, and resolved like that of a process which
    /// was killed here.
    private nonisolated func record(
        _ result: DecisionOutcome.Result,
        of decision: OpenDecision,
        _ kind: Observed.Receipt.Kind,
        _ report: Observed.Decision
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
            Observed.Receipt(
                activationID: self.activationID,
                kind: failure == nil ? kind : .outcomeNotWritten,
                result: result,
                error: failure
            )
        )
    }
}

/// The server's refusal of a decision, and what its counter says of the signature.
struct JudgedRefusal: Error {
    let error: MobileTokenError
    /// The result that the receipt has.
    let result: DecisionOutcome.Result
    /// The status after it; `nil` when it could not be had.
    let status: Activation.ComparedStatus?
    /// The decision as it was signed.
    let decision: OpenDecision

    /// The decision, if the server may have carried it out.
    var doubtful: OpenDecision? { self.result.isOpen ? self.decision : nil }

    /// Returns whether another signature may be made at once, for the counter may have been the reason. An agent asks for the operation
    /// first, where there is a doubt: another signature would wipe out the trace. Whoever decides by hand may decide once more.
    func allowsAnother(_ maySynchronize: Bool) -> Bool {
        maySynchronize && self.error.code == .authenticationFailed
            && (self.doubtful == nil || !self.decision.intent.isAutomatic)
    }
}

extension MobileTokenError {
    /// Indicates that the server answers so to the second copy of a request of which it has carried out the first.
    fileprivate var mayBeOfSecondCopy: Bool {
        guard self.isServersRefusal else { return false }
        return self.code == .authenticationFailed
            || ["INVALID_OPERATION", "OPERATION_ALREADY_FINISHED", "OPERATION_ALREADY_REJECTED"].contains(
                self.serverCode
            )
    }
}

extension DecisionOutcome.Result {
    /// Reads what an error says of the decision that it ended.
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

    /// Judges a refusal by the status after it: what was refused may be the second copy of a request, whose first was carried out.
    ///
    /// - Parameters:
    ///   - move: The counter's move that was signed with.
    ///   - moves: The counter's moves when the status was compared.
    init(
        _ refusal: MobileTokenError,
        ofMove move: UInt64,
        factors: SignatureType,
        moves: UInt64,
        _ status: ActivationStatus
    ) {
        let isComparable = [.inSync, .signatureRecommended].contains(status.counter.result)
        switch CounterEvidence(ofMove: move, clientMoves: moves, status.counter) {
        // A right signature of two factors clears the failed attempts, and the copy that came after it is counted as one.
        case .followed where factors == .possession || status.failedAttempts > 0: self = .followed
        // Another process has signed since, as after this one was frozen: the server's counter is past the trace of the first copy.
        case .unknown where isComparable: self = .unanswered(code: refusal.code.description)
        default: self = .init(refusal)
        }
    }
}

// MARK: - Finding out what became of a signature

/// The evidence about one signature that the server's counter gives.
package enum CounterEvidence: Sendable, Hashable {
    /// The server's counter stands right behind it: it was accepted.
    case followed
    /// The server's counter has not come so far: it was never accepted, though it may still be on its way.
    case notFollowed
    /// The server's counter is past it, by later signatures or otherwise, and tells nothing any more.
    case unknown
}

extension Activation {
    /// Asks the server whether it accepted the signature of a decision. Signs nothing.
    ///
    /// - Throws: The error that keeps the status from being asked for, and `activationRemoved`: of an activation that
    ///   is removed, the server's counter tells nothing.
    package nonisolated func fate(of decision: OpenDecision) async throws -> CounterEvidence {
        let compared = try await self.fetchStatus()
        guard compared.status.state != .removed else {
            throw MobileTokenError(.activationRemoved, "The activation was removed from the server")
        }
        // Another signature may have moved the counter since: the distance is from where it was when the two were compared.
        let fate = CounterEvidence(ofMove: decision.moves, clientMoves: compared.moves, compared.status.counter)
        guard fate == .unknown, try await self.wasFollowed(decision) else { return fate }
        return .followed
    }
}

extension CounterEvidence {
    /// - Parameter clientMoves: The counter's moves when it was compared.
    init(ofMove moves: UInt64, clientMoves: UInt64, _ comparison: ActivationStatus.CounterComparison) {
        switch comparison.result {
        case .inSync, .signatureRecommended: break
        case .movedForward, .deadlock, .rolledBack:
            self = .unknown
            return
        }
        let serverMoves = Int64(clamping: clientMoves).subtractingSaturated(Int64(comparison.distance))
        if serverMoves < moves {
            self = .notFollowed
        } else {
            self = serverMoves == moves ? .followed : .unknown
        }
    }
}

// MARK: - Receipts

extension Activation {
    /// The store, which keeps the receipts.
    package nonisolated var store: ActivationStore? { self.server.store }

    /// Writes what became of a decision whose answer was lost, where the store keeps receipts.
    package nonisolated func resolve(_ decision: OpenDecision, as result: DecisionOutcome.Result) async {
        let report = Observed.Decision(
            activationID: self.activationID,
            operationID: decision.intent.operationID,
            verdict: decision.intent.verdict,
            result: result
        )
        await self.record(result, of: decision, .openRowResolved, report)
    }

    /// Returns the decisions whose fate is not known.
    package nonisolated func openDecisions() async throws -> [OpenDecision] {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.openDecisions(of: self.activationID) }
    }
}
