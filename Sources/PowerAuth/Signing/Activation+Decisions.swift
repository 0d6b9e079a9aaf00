import Basics
import Foundation
import PowerAuthProtocol

extension Activation {
    /// Delivers a signature, and writes what became of the decision that it makes, before the turn ends.
    nonisolated(nonsending) func recordingOutcome(
        of decision: DecisionTicket?,
        signedWith taken: CounterLedger.Taken,
        in turn: SigningTurn,
        _ deliver: () async throws -> ChannelResponse
    ) async throws -> ChannelResponse {
        guard let decision else { return try await deliver() }
        decision.signed(byMove: taken.moves)
        do {
            let response = try await deliver()
            let isSuccess = decision.isSuccess(response.bytes)
            let result: DecisionOutcome.Result =
                isSuccess ? .accepted : .unanswered(code: MobileTokenError.Code.invalidResponse.description)
            await self.ended(decision.intent, result, ofMove: taken.moves, in: turn)
            return response
        } catch {
            await self.ended(decision.intent, DecisionOutcome.Result(error), ofMove: taken.moves, in: turn)
            throw error
        }
    }

    private nonisolated func ended(
        _ intent: DecisionIntent,
        _ result: DecisionOutcome.Result,
        ofMove moves: UInt64,
        in turn: SigningTurn
    ) async {
        let error = await turn.record(self.outcome(result), ofMove: moves)
        self.observer?.decisionEnded(DecisionObservation(intent, result))
        self.observeOutcome(result, .outcomeRecorded, error)
    }

    private nonisolated func outcome(_ result: DecisionOutcome.Result) -> DecisionOutcome {
        DecisionOutcome(result, localDate: self.server.clocks.reading.wall, serverDate: self.measuredServerDate)
    }
}

extension DecisionOutcome.Result {
    /// Reads what an error says of the decision that it ended.
    init(_ error: any Error) {
        guard let error = error as? MobileTokenError else {
            self = .unanswered(code: MobileTokenError.Code.networkUnknown.description)
            return
        }
        switch error.fate {
        case .refused: self = .refused(code: error.code.description, serverCode: error.serverCode)
        case .unknown: self = .unanswered(code: error.code.description)
        }
    }
}

// MARK: - Finding out what became of a signature

/// What the server's counter says of one signature.
package enum SignatureFate: Sendable, Hashable {
    /// The server's counter stands right behind it: it was accepted.
    case followed
    /// The server's counter has not come so far: it was never accepted, though it may still be on its way.
    case notFollowed
    /// The server's counter is past it, by later signatures or otherwise, and tells nothing any more.
    case unknown
}

extension Activation {
    /// Asks the server whether it accepted the signature of one move of the counter. Signs nothing.
    ///
    /// - Parameter moves: The counter's moves as that signature left them.
    /// - Throws: What keeps the status from being asked for, and `activationRemoved`: of an activation that is removed, the
    ///   server's counter tells nothing.
    package nonisolated func fate(ofMove moves: UInt64) async throws -> SignatureFate {
        let before = try await self.storedRecord().history.moves
        let status = try await self.fetchStatus().status
        guard status.state != .removed else {
            throw MobileTokenError(.activationRemoved, "The activation was removed from the server")
        }
        let after = try await self.storedRecord().history.moves
        // Another signature, or a step that made up for a counter ahead of ours: the distance is not from where it was read.
        guard before == after else { return .unknown }
        return SignatureFate(ofMove: moves, clientMoves: after, status.counter)
    }
}

extension SignatureFate {
    /// - Parameter clientMoves: The counter's moves when it was compared.
    init(ofMove moves: UInt64, clientMoves: UInt64, _ comparison: CounterComparison) {
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
    /// The store, when it keeps receipts.
    package nonisolated var journal: (any DecisionJournal)? { self.server.store as? any DecisionJournal }

    /// Writes what became of a decision whose answer was lost, where the store keeps receipts.
    package nonisolated func resolve(
        _ verdict: RecordedIntent.Verdict,
        on operationID: String,
        as result: DecisionOutcome.Result,
        ofMove moves: UInt64
    ) async {
        let turn = SigningTurn(of: self.activationID, in: self.server.store)
        let error = await turn.record(self.outcome(result), ofMove: moves)
        self.observer?.decisionEnded(
            DecisionObservation(
                activationID: self.activationID,
                operationID: operationID,
                verdict: verdict,
                result: result
            )
        )
        self.observeOutcome(result, .openRowResolved, error)
    }

    /// Returns the decisions whose fate is not known, where the store keeps receipts.
    package nonisolated func openDecisions() async throws -> [OpenDecision] {
        guard let journal = self.journal else { return [] }
        return try await MobileTokenError.mapStoreErrors { try await journal.openDecisions(of: self.activationID) }
    }
}
