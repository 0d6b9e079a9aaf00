/// The right to sign with one activation, for the length of ``ActivationStore/withSigningTurn(of:_:)``.
package struct SigningTurn: Sendable {
    /// The activation whose turn it is.
    package let activationID: String
    let store: ActivationStore
    /// The right as the store's driver gave it; `nil` for outcomes, which need none.
    let turn: Turn?

    init(of activationID: String, in store: ActivationStore, _ turn: Turn? = nil) {
        self.activationID = activationID
        self.store = store
        self.turn = turn
    }

    /// When the right ends unless it is renewed, as it is known at this moment; `nil` for one that only its holder ends.
    package var notAfter: ContinuousClock.Instant? { self.turn?.notAfter() }

    /// The activation as it stands now.
    ///
    /// - Throws: `activationNotStored` when it was removed meanwhile.
    package var record: ActivationRecord {
        get async throws {
            guard let record = try await self.store.record(of: self.activationID) else {
                throw MobileTokenError.notStored()
            }
            return record
        }
    }

    /// Changes the activation, durably, and writes the intent in the same step.
    ///
    /// What signs takes its counter value here, and is sent afterwards.
    @discardableResult
    package func update<Result: Sendable>(
        recording intent: DecisionIntent? = nil,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.store.update(self.activationID, recording: intent, in: self.turn, change)
    }

    /// Returns a decision that was written with a move of the counter, by the name that its store has for it.
    package func written(_ intent: DecisionIntent, moves: UInt64) -> OpenDecision {
        OpenDecision(intent, moves: moves, tag: self.store.tag(ofMove: moves, of: self.activationID))
    }

    /// Writes what became of a decision.
    ///
    /// Does not throw: the decision is made. A row that lacks its outcome is open, and resolved like that of a process which
    /// was killed here.
    ///
    /// - Returns: Why it could not be written.
    package func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async -> MobileTokenError? {
        do {
            try await MobileTokenError.mapStoreErrors { try await self.store.record(outcome, of: decision) }
            return nil
        } catch {
            return error as? MobileTokenError ?? MobileTokenError(.storeFailed, "The outcome was not written")
        }
    }
}
