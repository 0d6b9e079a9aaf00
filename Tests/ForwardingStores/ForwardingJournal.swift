package import PowerAuth

/// A ``ForwardingStore`` that keeps receipts as well.
package protocol ForwardingJournal: ForwardingStore, DecisionJournal {
    var journal: any DecisionJournal { get }
}

extension ForwardingJournal {
    package var base: any ActivationStore { self.journal }

    @discardableResult
    package func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.passing { try await self.journal.update(activationID, recording: intent, change) }
    }

    package func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        try await self.passing { try await self.journal.record(outcome, ofMove: moves, of: activationID) }
    }

    package func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try await self.passing { try await self.journal.openDecisions(of: activationID) }
    }

    package func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        try await self.passing { try await self.journal.receipts(of: activationID, after: number, limit: limit) }
    }

    package func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        try await self.passing { try await self.journal.receiptEntries(after: number, limit: limit) }
    }

    package func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        try await self.passing { try await self.journal.eraseReceipts(selection) }
    }

    package func decisionPause() async throws -> DecisionPause? {
        try await self.passing { try await self.journal.decisionPause() }
    }

    package func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.passing { try await self.journal.setDecisionPause(pause) }
    }
}
