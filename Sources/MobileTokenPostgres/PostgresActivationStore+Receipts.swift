import Foundation
import PostgresDatabase
public import PowerAuth

extension PostgresActivationStore: DecisionJournal {
    /// Changes an activation and writes an intent in a single statement; see `DecisionJournal`.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.update(activationID, as: nil, recording: intent, change)
    }

    /// Writes what became of an intent. A crash of the server may take it back within a moment, and so leave the intent open.
    public func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        let open = try await self.opened()
        let sealed = try open.keys.sealing.seal(outcome, ofMove: moves, of: activationID)
        let key = open.keys.current
        let statement = StoredReceipts.insertion(outcome: sealed, isOpen: outcome.isOpen, key: key)
        _ = try await self.settlingOutcome {
            guard try await self.run(statement, .relaxed).isEmpty else { return true }
            // Seldom: something is known already. Whoever writes meanwhile is looked at again.
            while let known = try await self.known(ofMove: moves, of: activationID), outcome.replaces(known.outcome) {
                let statement = StoredReceipts.insertion(
                    outcome: sealed,
                    isOpen: outcome.isOpen,
                    key: key,
                    after: known.place
                )
                guard try await self.run(statement, .relaxed).isEmpty else { return true }
            }
            return true
        } wasWritten: {
            true  // what is known is not followed by the same again
        }
    }

    /// What is known of the intent of a move, and where; `nil` when there is no such intent.
    private func known(
        ofMove moves: UInt64,
        of activationID: String
    ) async throws -> (place: StoredReceipts.Place, outcome: DecisionOutcome?)? {
        let rows = try await self.withConnection {
            try $0.run([StoredReceipts.known(ofMove: moves, of: activationID)], .none)
        }
        guard let (place, stored) = try StoredReceipts.readKnown(rows) else { return nil }
        let outcome = try await stored.asyncMap { try await self.sealing($0.key).openOutcome($0.sealed) }
        return (place, outcome)
    }

    /// Returns the intents whose fate has still to be found out, oldest first.
    public func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        _ = try await self.opened()
        let rows = try await self.withConnection(isCancelable: true) { connection in
            try StoredReceipts.read(connection.run([StoredReceipts.open(of: activationID)], .none))
        }
        return try await self.opening(rows) { row, sealing in
            try sealing.openIntent(row.sealed).intent.map { OpenDecision($0, moves: row.sealed.moves) }
        }
    }

    /// Returns a page of receipts, oldest first. Numbers them, if need be: the role must be allowed to write.
    ///
    /// A receipt that cannot be opened, because its bytes were changed, is passed over; ``receiptEntries(after:limit:)`` names
    /// it.
    public func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        _ = try await self.opened()
        var last = number
        while true {
            let query = StoredReceipts.receipts(of: activationID, after: last, limit: limit)
            let rows = try await self.numbered(query, limit: limit)
            let receipts = try await self.opening(rows) { row, sealing in
                DecisionReceipt(
                    number: row.number,
                    intent: try sealing.openIntent(row.sealed),
                    outcome: try await row.outcome.asyncMap { outcome in
                        try await self.sealing(outcome.key).openOutcome(outcome.sealed)
                    }
                )
            } unreadable: { _ in
                nil
            }
            // An empty page would be taken for the end.
            guard receipts.isEmpty, let end = rows.last?.number else { return receipts }
            last = end
        }
    }

    /// Returns a page of entries, in the order in which they were written. One that cannot be opened, because its bytes were
    /// changed, is `ReceiptEntry/Content/unreadable`.
    public func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        _ = try await self.opened()
        let rows = try await self.numbered(StoredReceipts.entries(after: number, limit: limit), limit: limit)
        return try await self.opening(rows) { row, sealing in
            guard let intent = row.intent else {
                return ReceiptEntry(number: row.number, .intent(try sealing.openIntent(row.sealed)))
            }
            return ReceiptEntry(number: row.number, .outcome(try sealing.openOutcome(row.sealed), ofIntent: intent))
        } unreadable: { row in
            ReceiptEntry(number: row.number, .unreadable)
        }
    }

    /// Erases the personal data of receipts, in steps that are committed one by one; see `DecisionJournal`. Interrupted, it may be
    /// repeated.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        let open = try await self.opened()
        let sealing = try open.keys.sealing
        let key = open.keys.current
        var last: UInt64? = 0
        while let after = last {
            last = try await self.withConnection { connection in
                try connection.transaction { transaction in
                    let query = StoredReceipts.openIntents(in: selection, after: after)
                    let intents = try StoredReceipts.read(transaction.run([query]))
                    let unknown = DecisionOutcome(.unknown, localDate: Date(), serverDate: nil)
                    for intent in intents.map(\.sealed) {
                        let sealed = try sealing.seal(unknown, ofMove: intent.moves, of: intent.activationID)
                        try transaction.run([StoredReceipts.insertion(outcome: sealed, isOpen: false, key: key)])
                    }
                    return intents.last?.number
                }
            }
        }
        var (count, erased) = (0, 0)
        repeat {
            erased = try await self.withConnection { connection in
                guard let row = try connection.run([StoredReceipts.erasure(of: selection)]).first?.first else {
                    throw PostgresError(.unexpectedResult)
                }
                return Int(clamping: try row.integer(0))
            }
            count += erased
        } while erased > 0
        return count
    }

    /// Returns the pause of automatic decisions; `nil` while agents may decide.
    public func decisionPause() async throws -> DecisionPause? {
        _ = try await self.opened()
        return try await self.withConnection { try StoredPause.read($0.run([StoredPause.query], .none).first) }
    }

    /// Stops automatic decisions on every node, or lets them go on; see `DecisionJournal`.
    ///
    /// A pause waits until decisions have ended that were just being committed. What was committed before may still leave.
    ///
    /// - Throws: `storeBusy` when the pause stands, but not every such decision ended in time: pause again.
    public func setDecisionPause(_ pause: DecisionPause?) async throws {
        _ = try await self.opened()
        _ = try await self.settlingOutcome {
            try await self.withConnection { connection in
                try connection.run([StoredPause.change(to: pause)])
                return true
            }
        } wasWritten: {
            true
        }
        if pause != nil { try await self.withConnection { _ = try $0.run([StoredPause.drain], .none) } }
    }

    /// Reads a page, and numbers entries, some at a time, until the page is full or each has a number.
    private func numbered(_ query: PostgresStatement, limit: Int) async throws -> [StoredReceipts.Row] {
        while true {
            let rows = try await self.withConnection(isCancelable: true) { connection in
                try StoredReceipts.read(connection.run([query], .none))
            }
            guard rows.count < limit else { return rows }
            guard try await self.withConnection({ try StoredReceipts.numberSome($0) }) else { return rows }
            try Task.checkCancellation()
        }
    }

    /// Opens what was read.
    ///
    /// - Parameter unreadable: Stands in for what cannot be opened; without it that is thrown.
    private func opening<Element>(
        _ rows: [StoredReceipts.Row],
        _ open: (StoredReceipts.Row, Sealing) async throws -> Element?,
        unreadable: ((StoredReceipts.Row) -> Element?)? = nil
    ) async throws -> [Element] {
        var elements: [Element] = []
        for row in rows {
            do {
                if let element = try await open(row, self.sealing(row.key)) { elements.append(element) }
            } catch let error as MobileTokenError where error.code == .storeCorrupted {
                guard let unreadable else { throw error }
                if let element = unreadable(row) { elements.append(element) }
            }
        }
        return elements
    }
}

extension Optional {
    fileprivate func asyncMap<Value>(_ transform: (Wrapped) async throws -> Value) async rethrows -> Value? {
        if let self { try await transform(self) } else { nil }
    }
}
