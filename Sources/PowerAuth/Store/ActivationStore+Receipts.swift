package import Foundation
import Synchronization

extension ActivationStore {
    // MARK: Outcomes

    /// Writes what became of the intent of a move: another entry, if it ``DecisionOutcome/replaces(_:)`` the latest one of that
    /// intent. Does nothing otherwise, or when there is no such intent.
    ///
    /// A power failure may take back an outcome, and so leave its intent open; the death of the process may not. An outcome that
    /// cannot be written is kept, and written as soon as it can be.
    package func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        let tag = self.tag(ofMove: moves, of: activationID)
        try await self.record(.init(activationID: activationID, moves: moves, tag: tag, outcome: outcome))
    }

    /// Writes what became of an open decision: of that very intent, where the store was put back since and another signature has the
    /// same number.
    package func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async throws {
        let (id, moves) = (decision.intent.activationID, decision.moves)
        guard let tag = decision.tag else { return try await self.record(outcome, ofMove: moves, of: id) }
        try await self.record(.init(activationID: id, moves: moves, tag: tag, outcome: outcome))
    }

    /// Returns the tag of the write by which this process made a move; `nil` when it is not remembered.
    func tag(ofMove moves: UInt64, of activationID: String) -> WriteTag? {
        self.memory.withLock { $0.intent(ofMove: moves, of: activationID)?.tag }
    }

    private func record(_ known: JournalMemory.KeptOutcome) async throws {
        await self.writeKeptOutcomes()
        do {
            try await self.append(known)
        } catch {
            self.memory.withLock { $0.keep(known) }
            throw error
        }
    }

    /// Writes the outcomes that could not be written when they were known. Those that still cannot stay.
    ///
    /// Called before receipts are read and the counter moves on, whenever somebody asks for a pause, as agents do every few seconds,
    /// before a bucket is given back, and before an agent's run and the store end: no later signature hides what this process knows,
    /// and nobody has to find it out again.
    package func writeKeptOutcomes() async {
        for outcome in self.memory.withLock({ $0.outcomes }) {
            do {
                try await self.append(outcome)
            } catch let error as MobileTokenError where error.isPassing {
                // The next one would wait as long for nothing.
                return
            } catch {
                // Another one may have room, or a key that is known.
                continue
            }
            self.memory.withLock { $0.removeOutcome(outcome) }
        }
    }

    private func append(_ known: JournalMemory.KeptOutcome) async throws {
        var open = try await self.opened()
        let intent = self.memory.withLock { $0.intent(ofMove: known.moves, of: known.activationID) }
            .flatMap { $0.tag == known.tag ? $0 : nil }
        for isLast in [false, true] {
            let keys = open.keys
            let outcome = SealedOutcome(
                sealed: try keys.currentSealing.seal(known.outcome, ofMove: known.moves, of: known.activationID),
                weight: known.outcome.result.weight,
                key: keys.current,
                tag: known.tag,
                intent: intent?.lost(underKey: keys.current, at: Date())
            )
            let answer = try await self.repeatingUntilKnown { try await self.driver.append(outcome) }
            guard answer == .otherKey else { break }
            open = try await self.reloadKeys()
            if isLast { throw MobileTokenError(.storeBusy, "The sealing key changes again and again") }
        }
        if intent != nil {
            self.memory.withLock { $0.noteWritten(known.outcome, ofMove: known.moves, of: known.activationID) }
        }
    }

    // MARK: Reading

    /// Returns the intents whose fate has still to be found out, oldest first: those without an outcome, or with an open one.
    package func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try await self.open(of: activationID) { _ in true }
    }

    /// Returns the open decisions of all activations that are wanted, in one step, where the store may lose outcomes while this process
    /// goes on; none where it may not.
    package func openDecisionsWithLostOutcomes(of isWanted: (String) -> Bool) async throws -> [OpenDecision] {
        try await self.opened().facts.mayLoseOutcomes ? self.open(of: nil, where: isWanted) : []
    }

    private func open(of activationID: String?, where isWanted: (String) -> Bool) async throws -> [OpenDecision] {
        try await self.read(.open(of: activationID)).rows.asyncMap { row in
            guard isWanted(row.sealed.activationID) else { return nil }
            if let kept = self.keptOutcome(of: row), !kept.isOpen { return nil }
            return try await self.intent(row).decision.map { OpenDecision($0, moves: row.sealed.moves, tag: row.tag) }
        }.compactMap { $0 }
    }

    /// Reads a page of receipts, oldest first, each with the latest outcome.
    ///
    /// A receipt that cannot be opened, because its bytes were changed, is passed over; ``receiptEntries(after:limit:)`` names
    /// it.
    ///
    /// - Parameters:
    ///   - activationID: The activation whose receipts are read, also one that was removed; `nil` is all.
    ///   - number: The ``DecisionReceipt/number`` that the page begins behind; 0 is the beginning.
    ///   - limit: The most entries to return.
    public func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        var (receipts, last) = ([DecisionReceipt](), Optional(number))
        while receipts.count < limit, let start = last {
            let page = try await self.read(.receipts(of: activationID, after: start, limit: limit - receipts.count))
            for row in page.rows {
                // One that was changed where it is kept is passed over: among the entries it has its place.
                guard let receipt = try await self.ifReadable({ try await self.receipt(row) }) else { continue }
                receipts.append(receipt)
            }
            last = page.end
            try Task.checkCancellation()
            // Whoever signs need not wait for all of them.
            await Task.yield()
        }
        return receipts
    }

    /// Reads a page of entries, in the order in which they were written. One that cannot be opened, because its bytes were
    /// changed, is ``DecisionReceipt/Entry/Content/unreadable``.
    ///
    /// - Parameters:
    ///   - number: The number that the page begins behind; 0 is the beginning.
    ///   - limit: The most entries to return.
    public func receiptEntries(after number: UInt64, limit: Int) async throws -> [DecisionReceipt.Entry] {
        try await self.read(.entries(after: number, limit: limit)).rows.asyncMap { row in
            let content: DecisionReceipt.Entry.Content? = try await self.ifReadable {
                guard let intent = row.intent else { return .intent(try await self.intent(row)) }
                return .outcome(try await self.sealing(row.key).openOutcome(row.sealed), ofIntent: intent)
            }
            return DecisionReceipt.Entry(number: row.number, content ?? .unreadable)
        }
    }

    private func read(_ query: ReceiptQuery) async throws -> ReceiptPage {
        _ = try await self.opened()
        await self.writeKeptOutcomes()
        return try await self.driver.receipts(query)
    }

    /// Returns the outcome of an intent that could not be written yet.
    private func keptOutcome(of row: ReceiptRow) -> DecisionOutcome? {
        self.memory.withLock { $0.outcome(ofMove: row.sealed.moves, of: row.sealed.activationID, tag: row.tag) }
    }

    private func intent(_ row: ReceiptRow) async throws -> DecisionReceipt.Intent {
        try await self.sealing(row.key).openIntent(row.sealed)
    }

    private func receipt(_ row: ReceiptRow) async throws -> DecisionReceipt {
        var outcome: DecisionOutcome?
        if let known = row.outcome { outcome = try await self.sealing(known.key).openOutcome(known.sealed) }
        if let kept = self.keptOutcome(of: row), kept.replaces(outcome) { outcome = kept }
        return DecisionReceipt(number: row.number, intent: try await self.intent(row), outcome: outcome, tag: row.tag)
    }

    /// Returns what `body` reads, or `nil` when that was changed where it is kept.
    private func ifReadable<Value>(_ body: () async throws -> Value) async throws -> Value? {
        do {
            return try await body()
        } catch let error as MobileTokenError where error.code == .storeCorrupted { return nil }
    }

    // MARK: Erasing and deleting

    /// Erases the personal data of receipts, in steps that are committed one by one; all else stays. What has still to be found
    /// out gets the outcome `unknown`, since nobody could look for it any more. Interrupted, it may be repeated.
    ///
    /// - Returns: The number of receipts that had personal data.
    @discardableResult
    public func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
        let unknown = DecisionOutcome(.unknown, localDate: Date(), serverDate: nil)
        var last: UInt64? = 0
        while let number = last {
            let page = try await self.read(.openSelected(selection, after: number))
            for row in page.rows {
                let (id, moves) = (row.sealed.activationID, row.sealed.moves)
                try await self.record(.init(activationID: id, moves: moves, tag: row.tag, outcome: unknown))
            }
            last = page.end
        }
        self.memory.withLock { $0.noteErasure() }
        var count = 0
        last = 0
        while let number = last {
            let step = try await self.driver.eraseReceipts(selection, after: number)
            count += step.count
            last = step.end
            await Task.yield()
        }
        try await self.driver.overwriteDeleted()
        return count
    }

    /// Looks at some entries in the order of their numbers, and deletes those that may go, in one short commit.
    ///
    /// An intent goes with its outcomes: when it is not open, was decided before `date`, and none of them has the number `last`
    /// or a greater one. Numbers that were given are never given again.
    ///
    /// - Parameters:
    ///   - number: The number of the last entry that was looked at before; 0 is the beginning.
    ///   - last: The number of the last entry that is kept elsewhere. It stays, and so does all behind it.
    ///   - date: By the local clock.
    package func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        _ = try await self.opened()
        self.memory.withLock { $0.noteErasure() }
        let step = try await self.driver.pruneReceipts(after: number, before: last, decidedBefore: date)
        if step.end == nil { try await self.driver.overwriteDeleted() }
        return step
    }

    /// Notes where an export ended, for ``receiptFigures()``. Nothing else depends on it.
    package func noteExport(upTo number: UInt64, at date: Date) async throws {
        _ = try await self.opened()
        try await self.repeatingUntilKnown { try await self.driver.note(ExportNote(number: number, date: date)) }
    }

    /// Returns what an operator watches.
    public func receiptFigures() async throws -> ActivationStore.ReceiptFigures {
        _ = try await self.opened()
        return try await self.driver.receiptFigures()
    }

    // MARK: Pausing

    /// Returns the pause of automatic decisions; `nil` while agents may decide.
    public func decisionPause() async throws -> DecisionPause? {
        _ = try await self.opened()
        await self.writeKeptOutcomes()
        return try await self.driver.decisionPause()
    }

    /// Stops automatic decisions with all activations of the store, in every process that shares it, or lets them go on with `nil`.
    /// Durable when it returns.
    ///
    /// A pause takes the place of an earlier one. Decisions by hand, and all else, go on beside it.
    public func setDecisionPause(_ pause: DecisionPause?) async throws {
        _ = try await self.opened()
        try await self.repeatingUntilKnown { try await self.driver.setDecisionPause(pause) }
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(self.count)
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
