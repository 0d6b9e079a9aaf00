/// The right to sign with one activation, for the length of ``ActivationStore/withSigningTurn(of:_:)``.
package struct SigningTurn: Sendable {
    /// The activation whose turn it is.
    package let activationID: String
    let store: ActivationStore
    /// The right as the store's driver gave it.
    let turn: Turn

    /// The time when the right ends unless it is renewed, as it is known at this moment; `nil` for one that only its holder ends.
    package var notAfter: ContinuousClock.Instant? { self.turn.notAfter() }

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
}
