public import DecisionReceipts
package import Foundation
import Synchronization

extension ActivationStore {
    // MARK: Outcomes

    /// Appends the outcome of a move's intent if it `replaces(_:)` the latest one. Otherwise does nothing. A
    /// power failure may lose an outcome and leave its intent open; the death of the process may not. An outcome that cannot be
    /// written is kept in memory and written later.
    package func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) async throws {
        let tag = self.tag(ofMove: moves, of: activationID)
        try await self.record(.init(activationID: activationID, moves: moves, tag: tag, outcome: outcome))
    }

    /// Appends the outcome of an open decision. The tag tells its intent from one with the same number, made after a restore.
    package func record(_ outcome: DecisionOutcome, of decision: OpenDecision) async throws {
        let (id, moves) = (decision.intent.activationID, decision.moves)
        guard let tag = decision.tag else { return try await self.record(outcome, ofMove: moves, of: id) }
        try await self.record(.init(activationID: id, moves: moves, tag: tag, outcome: outcome))
    }

    /// Returns the tag of this process's write of a move; `nil` if it is not in memory.
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

    /// Writes the outcomes kept in memory. Those that still cannot be written stay there. Called before receipts are read and the
    /// counter moves, when a pause is read (agents do so every few seconds), before a bucket is released, and before an agent or
    /// the store ends. So no later signature overwrites this process's knowledge.
    package func writeKeptOutcomes() async {
        for outcome in self.memory.withLock({ $0.outcomes }) {
            do {
                try await self.append(outcome)
            } catch let error as MobileTokenError where error.isPassing {
                // The next write would wait as long in vain.
                return
            } catch {
                // Another outcome may have room, or a known key.
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
            let (keys, outcome) = (open.keys, known.outcome)
            let seal = { (outcome: DecisionOutcome) in
                try keys.currentSealing.seal(outcome, ofMove: known.moves, of: known.activationID)
            }
            let withIntent = intent == nil ? outcome : outcome.withRestoredIntent
            let sealed = SealedOutcome(
                sealed: try seal(outcome),
                weight: outcome.result.weight,
                key: keys.current,
                tag: known.tag,
                intent: intent?.lost(underKey: keys.current, at: Date()),
                releasesCharges: outcome.result.decidedNothing,
                withIntent: withIntent == outcome ? nil : (try seal(withIntent), withIntent.result.weight)
            )
            let answer = try await self.repeatingUntilKnown { try await self.driver.append(sealed) }
            guard answer == .otherKey else { break }
            open = try await self.reloadKeys()
            if isLast { throw MobileTokenError(.storeBusy, "The sealing key changes again and again") }
        }
        if intent != nil {
            self.memory.withLock { $0.noteWritten(known.outcome, ofMove: known.moves, of: known.activationID) }
        }
    }

    /// Records that an activation was restored to an earlier state: signatures and charges are missing, and so is what the statuses
    /// before those signatures had shown of open decisions. What cannot be written now is kept in memory.
    func noteRestore(of activationID: String) async throws {
        try await self.closeLimits()
        await self.noteLostEvidence(of: activationID)
    }

    func noteLostEvidence(of activationID: String) async {
        let open = (try? await self.openDecisions(of: activationID)) ?? []
        let outcome = DecisionOutcome(.evidenceLost, localDate: Date(), serverDate: nil)
        for decision in open where decision.result != .followed && decision.result != .evidenceLost {
            try? await self.record(outcome, of: decision)
        }
    }

    // MARK: Reading

    /// Returns the intents without an outcome or with an open one, oldest first.
    package func openDecisions(of activationID: String) async throws -> [OpenDecision] {
        try await self.open(of: activationID) { _ in true }
    }

    /// Returns the open decisions of the selected activations in one step, if the store may lose outcomes while this process
    /// runs; otherwise none.
    package func openDecisionsWithLostOutcomes(of isWanted: (String) -> Bool) async throws -> [OpenDecision] {
        try await self.opened().facts.mayLoseOutcomes ? self.open(of: nil, where: isWanted) : []
    }

    private func open(of activationID: String?, where isWanted: (String) -> Bool) async throws -> [OpenDecision] {
        try await self.read(.open(of: activationID)).rows.asyncMap { row in
            guard isWanted(row.sealed.activationID) else { return nil }
            if let kept = self.keptOutcome(of: row), !kept.isOpen { return nil }
            let receipt = try await self.receipt(row)
            return receipt.intent.decision.map { OpenDecision($0, receipt) }
        }.compactMap { $0 }
    }

    /// Reads a page of receipts, oldest first, each with its latest outcome.
    ///
    /// Tampered receipts are skipped; ``receiptEntries(after:limit:)`` reports them.
    ///
    /// - Parameters:
    ///   - activationID: The activation, which may have been removed; `nil` for all.
    ///   - number: The page begins after this `DecisionReceipt.number`; 0 is the beginning.
    ///   - limit: The maximum number of receipts to return.
    package func receipts(
        of activationID: String?,
        after number: UInt64,
        limit: Int
    ) async throws -> [DecisionReceipt] {
        var (receipts, last) = ([DecisionReceipt](), Optional(number))
        while receipts.count < limit, let start = last {
            let page = try await self.read(.receipts(of: activationID, after: start, limit: limit - receipts.count))
            for row in page.rows {
                // Tampered receipts are skipped here and listed among the entries.
                guard let receipt = try await self.ifReadable({ try await self.receipt(row) }) else { continue }
                receipts.append(receipt)
            }
            last = page.end
            try Task.checkCancellation()
            // Let signatures proceed meanwhile.
            await Task.yield()
        }
        return receipts
    }

    /// Reads a page of entries in the order of writing. A tampered entry is `unreadable`.
    ///
    /// - Parameters:
    ///   - number: The page begins after this number; 0 is the beginning.
    ///   - limit: The maximum number of entries to return.
    package func receiptEntries(after number: UInt64, limit: Int) async throws -> [DecisionReceipt.Entry] {
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

    /// Returns the intent's outcome that could not be written yet.
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

    /// Returns the value of `body`, or `nil` for tampered data.
    private func ifReadable<Value>(_ body: () async throws -> Value) async throws -> Value? {
        do {
            return try await body()
        } catch let error as MobileTokenError where error.code == .storeCorrupted { return nil }
    }

    // MARK: Erasing and deleting

    /// Erases the personal data of receipts, in separately committed steps. An interrupted call may be repeated. Open decisions
    /// get the outcome `unknown`, because they can no longer be traced.
    ///
    /// - Returns: The number of receipts that contained personal data.
    @discardableResult
    package func eraseReceipts(_ selection: ReceiptSelection) async throws -> Int {
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

    /// Deletes the deletable among the next entries, in one short commit. An intent and its outcomes are deleted if it is not
    /// open, was decided before `date`, and all its entries have numbers below `last`. Numbers are never reused.
    ///
    /// - Parameters:
    ///   - number: The number of the last entry examined; 0 is the beginning.
    ///   - last: The number of the last exported entry. It and all later ones stay.
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

    /// Records the end of an export. Only ``receiptFigures()`` uses it.
    package func noteExport(upTo number: UInt64, at date: Date) async throws {
        _ = try await self.opened()
        try await self.repeatingUntilKnown { try await self.driver.note(ExportNote(number: number, date: date)) }
    }

    /// Returns figures for operators.
    public func receiptFigures() async throws -> ReceiptFigures {
        _ = try await self.opened()
        return try await self.driver.receiptFigures()
    }

    // MARK: Pausing

    /// Returns the pause of automatic decisions; `nil` if there is none.
    package func decisionPause() async throws -> DecisionPause? {
        _ = try await self.opened()
        await self.writeKeptOutcomes()
        return try await self.driver.decisionPause()
    }

    /// Pauses automatic decisions for all activations of the store, in every process, or resumes them with `nil`.
    ///
    /// Durable when it returns. A pause replaces an earlier one. Manual decisions and everything else continue.
    package func setDecisionPause(_ pause: DecisionPause?) async throws {
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
