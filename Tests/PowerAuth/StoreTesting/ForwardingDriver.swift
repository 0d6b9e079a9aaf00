package import DecisionReceipts
package import Foundation
package import PowerAuthClient

/// A driver that wraps another one and intercepts each call, for example to count, suspend or fail it.
///
/// ```swift
/// let store = ActivationStore.inMemory { CountingDriver(base: $0) }
/// ```
package protocol ForwardingDriver: JournalDriver {
    var base: any JournalDriver { get }

    func passing<Result>(_ call: () async throws -> Result) async throws -> Result
}

extension ForwardingDriver {
    package func passing<Result>(_ call: () async throws -> Result) async throws -> Result { try await call() }

    /// Opening reads keys, and changes nothing.
    package func open() async throws -> StoreFacts { try await self.base.open() }

    package func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key] {
        try await self.base.addKey(check, to: known)
    }

    package func close() async { await self.base.close() }

    package func load(_ activationID: String) async throws -> LoadedRow? {
        try await self.passing { try await self.base.load(activationID) }
    }

    package func swap(_ change: RowChange) async throws -> SwapAnswer {
        try await self.passing { try await self.base.swap(change) }
    }

    package func insert(_ row: NewRow) async throws -> InsertAnswer {
        try await self.passing { try await self.base.insert(row) }
    }

    package func rehearse(_ row: NewRow) async throws -> Bool {
        try await self.passing { try await self.base.rehearse(row) }
    }

    package func remove(_ activationID: String) async throws -> Int64? {
        try await self.passing { try await self.base.remove(activationID) }
    }

    package func activationIDs(_ filter: RowFilter) async throws -> [String] {
        try await self.passing { try await self.base.activationIDs(filter) }
    }

    package func checkReaders(of format: RecordFormat) async throws {
        try await self.passing { try await self.base.checkReaders(of: format) }
    }

    package func beginEpoch(after epoch: Int64) async throws -> Bool {
        try await self.passing { try await self.base.beginEpoch(after: epoch) }
    }

    package func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        try await self.passing {
            try await self.base.withTurn(of: activationID, slot: slot) { turn in
                try await self.passing { try await body(turn) }
            }
        }
    }

    package func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        try await self.passing { try await self.base.append(outcome) }
    }

    package func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        try await self.passing { try await self.base.receipts(query) }
    }

    package func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts {
        try await self.passing { try await self.base.eraseReceipts(selection, after: number) }
    }

    package func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        try await self.passing {
            try await self.base.pruneReceipts(after: number, before: last, decidedBefore: date)
        }
    }

    package func overwriteDeleted() async throws { try await self.base.overwriteDeleted() }

    package func note(_ export: ExportNote) async throws {
        try await self.passing { try await self.base.note(export) }
    }

    package func receiptFigures() async throws -> ReceiptFigures {
        try await self.passing { try await self.base.receiptFigures() }
    }

    package func limitUse(_ checks: [LimitCharges.Check]) async throws -> [Int64] {
        try await self.passing { try await self.base.limitUse(checks) }
    }

    package func limitClosure() async throws -> Int64? {
        try await self.passing { try await self.base.limitClosure() }
    }

    package func setLimitClosure(_ minute: Int64?) async throws {
        try await self.passing { try await self.base.setLimitClosure(minute) }
    }

    package func decisionPause() async throws -> DecisionPause? {
        try await self.passing { try await self.base.decisionPause() }
    }

    package func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.passing { try await self.base.setDecisionPause(pause) }
    }
}
