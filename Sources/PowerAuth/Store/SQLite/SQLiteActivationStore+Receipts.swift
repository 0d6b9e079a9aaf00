import Foundation

extension SQLiteActivationStore: DecisionJournal {
    /// Changes an activation and writes an intent in a single transaction; see ``DecisionJournal/update(_:recording:_:)``.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.update(activationID, recordingIfAny: intent, change)
    }

    /// Writes what became of an intent, in a commit that is shared as those of changes are.
    public func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        _ = try await self.opened()
        let pending = PendingDecisionOutcome(outcome, ofMove: moves, of: activationID)
        await self.commit(pending)
        try pending.outcome?.get()
    }

    /// Returns the intents whose fate has still to be found out, oldest first.
    public func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try await self.readingReceipts { open in
            try open.database.openIntents(of: activationID).compactMap { sealed in
                try open.sealing.openIntent(sealed).intent.map { OpenDecision($0, moves: sealed.moves) }
            }
        }
    }

    /// Returns a page of receipts, oldest first.
    ///
    /// A receipt that cannot be opened, because its bytes were changed, is passed over; ``receiptEntries(after:limit:)`` names
    /// it.
    public func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        var (receipts, last) = ([DecisionReceipt](), number)
        while receipts.count < limit {
            let rest = limit - receipts.count
            let end = try await self.readingReceipts { open in
                let part = try open.database.receipts(of: activationID, after: last, limit: rest)
                for stored in part.receipts {
                    let receipt = try MobileTokenError.ifReadable {
                        DecisionReceipt(
                            number: stored.number,
                            intent: try open.sealing.openIntent(stored.intent),
                            outcome: try stored.outcome.map { try open.sealing.openOutcome($0) }
                        )
                    }
                    if let receipt { receipts.append(receipt) }
                }
                return part.end
            }
            guard let end else { break }
            last = end
            // Whoever signs need not wait for all of them.
            await Task.yield()
        }
        return receipts
    }

    /// Returns a page of entries, in the order in which they were written. One that cannot be opened, because its bytes were
    /// changed, is `ReceiptEntry/Content/unreadable`.
    public func receiptEntries(after number: UInt64, limit: Int) async throws -> [ReceiptEntry] {
        try await self.readingReceipts { open in
            try open.database.entries(after: number, limit: limit).map { stored in
                let content: ReceiptEntry.Content? = try MobileTokenError.ifReadable {
                    guard let intent = stored.intent else { return .intent(try open.sealing.openIntent(stored.sealed)) }
                    return .outcome(try open.sealing.openOutcome(stored.sealed), ofIntent: intent)
                }
                return ReceiptEntry(number: stored.number, content ?? .unreadable)
            }
        }
    }

    /// Erases the personal data of receipts, and overwrites their bytes in the file, in steps that are committed one by one; see
    /// ``DecisionJournal/eraseReceipts(_:)``. Interrupted, it may be repeated.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        var (count, last) = (0, UInt64(0))
        while let end = try await self.readingReceipts({ try $0.database.end(ofPartAfter: last) }) {
            count += try await self.changingReceipts { open in
                let unknown = DecisionOutcome(.unknown, localDate: Date(), serverDate: nil)
                for intent in try open.database.openIntents(in: selection, last...end) {
                    let sealed = try open.sealing.seal(unknown, ofMove: intent.moves, of: intent.activationID)
                    try open.database.insert(outcome: sealed, isOpen: false)
                }
                return try open.database.erase(selection, last...end)
            }
            last = end
            await Task.yield()
        }
        try await self.opened().database.emptyLog()
        return count
    }

    /// Returns the pause of automatic decisions; `nil` while agents may decide.
    public func decisionPause() async throws -> DecisionPause? {
        let open = try await self.opened()
        return try self.mapErrors { try open.database.decisionPause() }
    }

    /// Stops automatic decisions in every process that shares the file, or lets them go on; see
    /// ``DecisionJournal/setDecisionPause(_:)``.
    public func setDecisionPause(_ pause: DecisionPause?) async throws {
        let open = try await self.opened()
        try self.mapErrors { try open.database.write { try open.database.setDecisionPause(pause) } }
    }

    func readingReceipts<Result>(_ body: (Open) throws -> Result) async throws -> Result {
        let open = try await self.opened()
        return try self.mapErrors {
            try self.checkKey(of: open)
            return try body(open)
        }
    }

    func changingReceipts<Result>(_ body: (Open) throws -> Result) async throws -> Result {
        let open = try await self.opened()
        return try self.mapErrors {
            try open.database.write {
                try self.checkKey(of: open)
                return try body(open)
            }
        }
    }
}

extension MobileTokenError {
    /// Returns what `body` reads, or `nil` when that was changed where it is kept.
    static func ifReadable<Value>(_ body: () throws -> Value) throws -> Value? {
        do { return try body() } catch let error as MobileTokenError where error.code == .storeCorrupted { return nil }
    }
}
