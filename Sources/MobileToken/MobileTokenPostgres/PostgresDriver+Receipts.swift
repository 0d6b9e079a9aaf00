import DecisionReceipts
import Foundation
import PostgresDatabase
import PowerAuthClient

extension PostgresDriver {
    // MARK: Receipts

    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        do {
            return try await self.write(outcome)
        } catch let error as MobileTokenError where SealingKeyTable.lacksKey(error) {
            return .otherKey
        }
    }

    private func write(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        if !outcome.releasesCharges, try await self.add(outcome, changesCharges: false) { return .written }
        if try await self.add(outcome, changesCharges: true) { return .written }
        // Rare: an outcome is known already, or the intent is missing.
        guard let intent = outcome.intent, let tag = outcome.tag else { return .notBetter }
        let restoration = StoredReceipts.insertion(intent: intent, tag: tag, key: outcome.key)
        let isRestored = try await self.run([restoration], in: self.relaxed).first?.isEmpty == false
        return try await self.add(isRestored ? outcome.withRestoredIntent : outcome, changesCharges: true)
            ? .written : .notBetter
    }

    private func add(_ outcome: SealedOutcome, changesCharges: Bool) async throws -> Bool {
        let statement = StoredReceipts.insertion(outcome, changesCharges: changesCharges)
        let opening = changesCharges ? [StoredLimits.lock] : []
        return try await self.run([statement], in: self.relaxed, opening: opening).first?.isEmpty == false
    }

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        let rows: [ReceiptRow]
        let limit: Int
        switch query {
        case .open(let activationID):
            return ReceiptPage(rows: try await self.read(StoredReceipts.open(of: activationID)))
        case .openSelected(let selection, let number):
            limit = StoredReceipts.pageSize
            rows = try await self.read(StoredReceipts.openIntents(in: selection, after: number))
        case .entries(let number, let count):
            limit = count
            rows = try await self.numbered(StoredReceipts.entries(after: number, limit: count), limit: count)
        case .receipts(let activationID, let number, let count):
            limit = min(count, StoredReceipts.largestPage)
            let statement = StoredReceipts.receipts(of: activationID, after: number, limit: limit)
            rows = try await self.numbered(statement, limit: limit)
        }
        return ReceiptPage(rows: rows, end: rows.count < limit ? nil : rows.last?.number)
    }

    private func read(_ statement: PostgresStatement) async throws -> [ReceiptRow] {
        try await self.withConnection(isCancelable: true) { try StoredReceipts.read($0.run([statement], .none)) }
    }

    /// Reads a page, numbering entries in batches until the page is full or all are numbered.
    private func numbered(_ statement: PostgresStatement, limit: Int) async throws -> [ReceiptRow] {
        while true {
            let rows = try await self.read(statement)
            guard rows.count < limit else { return rows }
            // Another node may have numbered the rest since.
            guard try await self.withConnection({ try StoredReceipts.numberSome($0) }) else {
                return try await self.read(statement)
            }
            try Task.checkCancellation()
        }
    }

    func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts {
        let count = try await self.withConnection { connection in
            guard let row = try connection.run([StoredReceipts.erasure(of: selection)]).first?.first else {
                throw PostgresError(.unexpectedResult)
            }
            return Int(clamping: try row.integer(0))
        }
        return PrunedReceipts(count: count, end: count > 0 ? number : nil)
    }

    func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        let deletion = try await self.withConnection { connection in
            try StoredReceipts.delete(after: number, before: last, decidedBefore: date.milliseconds, connection)
        }
        return PrunedReceipts(count: deletion.count, end: deletion.isRecent ? nil : deletion.end)
    }

    /// The next vacuum does this.
    func overwriteDeleted() async throws {}

    func note(_ export: ExportNote) async throws {
        try await self.withConnection { _ = try $0.run([StoredReceipts.noting(export)]) }
    }

    func receiptFigures() async throws -> ReceiptFigures {
        try await self.withConnection(isCancelable: true) { connection in
            guard let row = try connection.run([StoredReceipts.figures], .none).first?.first else {
                throw PostgresError(.unexpectedResult)
            }
            return try StoredReceipts.readFigures(row)
        }
    }

    // MARK: Limits

    func limitUse(_ checks: [LimitCharges.Check]) async throws -> [Int64] {
        try await self.withConnection { connection in
            try connection.run([StoredLimits.query(checks)], .none).first?.map { try $0.integer(0) } ?? []
        }
    }

    func limitClosure() async throws -> Int64? {
        try await self.withConnection { connection in
            let row = try connection.run([StoredLimits.closure], .none).first?.first
            return try row.flatMap { $0.isNull(0) ? nil : try $0.integer(0) }
        }
    }

    func setLimitClosure(_ minute: Int64?) async throws {
        try await self.withConnection { _ = try $0.run(StoredLimits.change(to: minute)) }
    }

    // MARK: Pausing

    func decisionPause() async throws -> DecisionPause? {
        try await self.withConnection {
            try $0.run([StoredPause.query], .none).first?.first.map { StoredPause.read(try $0.bytes(0)) }
        }
    }

    /// Waits for decisions that were being committed. Earlier ones may still be sent.
    func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.withConnection { _ = try $0.run([StoredPause.change(to: pause)]) }
        if pause != nil { try await self.withConnection { _ = try $0.run([StoredPause.drain], .none) } }
    }
}
