package import DecisionReceipts

/// The right to sign with one activation, during ``ActivationStore/withSigningTurn(of:_:)``.
package struct SigningTurn: Sendable {
    package let activationID: String
    let store: ActivationStore
    /// The right from the store's driver.
    let turn: Turn

    /// The current end of the right unless it is renewed; `nil` if only its holder ends it.
    package var notAfter: ContinuousClock.Instant? { self.turn.notAfter() }

    /// The current record.
    ///
    /// - Throws: `activationNotStored` if it was removed meanwhile.
    package var record: ActivationRecord {
        get async throws {
            guard let record = try await self.store.record(of: self.activationID) else {
                throw MobileTokenError.notStored()
            }
            return record
        }
    }

    /// Durably changes the activation, and writes the intent in the same transaction. A signature takes its counter value here
    /// before it is sent.
    @discardableResult
    package func update<Result: Sendable>(
        recording intent: DecisionIntent? = nil,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.store.update(self.activationID, recording: intent, in: self.turn, change)
    }
}
