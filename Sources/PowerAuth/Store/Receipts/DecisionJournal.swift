/// A store that keeps receipts of decisions beside the counters that signed them.
///
/// A row is known by its activation and by the number of the counter's move that its signature used up
/// (``CounterHistory/moves`` as the move left it).
package protocol DecisionJournal: ActivationStore {
    /// Changes an activation as ``ActivationStore/update(_:_:)`` does, and writes an intent in the same durable step.
    ///
    /// The row's number is that of the counter's moves after `change`. When `change` did not move the counter, throws, or
    /// when there is no room for the row, neither is written.
    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result

    /// Writes what became of an intent. A later outcome replaces one that ``DecisionOutcome/isOpen``, and no other.
    func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws

    /// The intents whose fate has still to be found out, oldest first: those without an outcome, or with an open one.
    func openDecisions(of activationID: String) async throws -> [OpenDecision]
}

/// An intent whose fate is not known.
package struct OpenDecision: Sendable, Hashable {
    /// What was to be decided.
    package let intent: DecisionIntent
    /// The number of the counter's move that its signature used up.
    package let moves: UInt64

    package init(_ intent: DecisionIntent, moves: UInt64) {
        self.intent = intent
        self.moves = moves
    }
}

extension SigningTurn {
    /// Changes the activation, durably, and writes the intent in the same step where the store keeps receipts.
    package func update<Result: Sendable>(
        recording intent: DecisionIntent?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        guard let intent, let journal = self.store as? any DecisionJournal else { return try await self.update(change) }
        return try await journal.update(self.activationID, recording: intent, change)
    }

    /// Writes what became of the intent whose signature made this move of the counter.
    ///
    /// Does not fail: the decision is made. A row that lacks its outcome is open, and resolved like that of a process which
    /// was killed here.
    package func record(_ outcome: DecisionOutcome, ofMove moves: UInt64) async {
        try? await (self.store as? any DecisionJournal)?.record(outcome, ofMove: moves, of: self.activationID)
    }
}
