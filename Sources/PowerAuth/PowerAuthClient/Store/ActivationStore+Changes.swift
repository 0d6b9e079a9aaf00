import Coordination
package import DecisionReceipts
import Foundation
import Synchronization

// Changes of one activation.
extension ActivationStore {
    /// The number of lost races after which a change takes the signing turn, to keep others away.
    private static let attemptLimit = 10
    /// The number of attempts within the turn, against changes without one.
    private static let attemptLimitInTurn = 100

    /// Changes an activation: load, compare with the mark, change in memory, seal, swap. `change` is repeated with the newer
    /// state if another task or process was faster, so it must only change the record. If it throws, nothing is written. A row in
    /// memory is only used for a swap. Any other end, such as an error, is decided again with a loaded row.
    ///
    /// - Parameters:
    ///   - intent: Written in the same transaction, if `change` moves the counter. Identified by the activation, the number of
    ///     the move (``ActivationRecord/counterMoves`` after `change`), and the transaction's tag.
    ///   - turn: The signing turn of the change; `nil` if it needs none.
    /// - Throws: The error of `change`, and ``MobileTokenError/Code/decidingPaused``, before `change` is called, if the intent
    ///   ``DecisionIntent/Facts/isAutomatic`` and decisions are paused. The pause is read in the transaction that moves the
    ///   counter: no call after ``setDecisionPause(_:)`` has returned decides anything, in any process. Also
    ///   ``MobileTokenError/Code/limitReached``, if the intent's charges would pass a limit, in the same transaction.
    @discardableResult
    package func update<Result: Sendable>(
        _ activationID: String,
        recording intent: DecisionIntent? = nil,
        in turn: Turn? = nil,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        let hasTurn = turn != nil || self.hasTurn(of: activationID)
        let limit = hasTurn ? Self.attemptLimitInTurn : Self.attemptLimit
        if let result = try await self.attempt(activationID, limit, recording: intent, in: turn, change) {
            return result
        }
        guard !hasTurn else { throw Self.busy }
        return try await self.withSigningTurn(of: activationID) { own in
            let result = try await self.attempt(
                activationID,
                Self.attemptLimitInTurn,
                recording: intent,
                in: own.turn,
                change
            )
            guard let result else { throw Self.busy }
            return result
        }
    }

    private static let busy = MobileTokenError(.storeBusy, "Others change the activation again and again")

    /// - Returns: `nil` if others were faster each time.
    private func attempt<Result: Sendable>(
        _ activationID: String,
        _ limit: Int,
        recording intent: DecisionIntent?,
        in turn: Turn?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result? {
        let open = try await self.opened()
        try await self.changes.enter(activationID)
        defer { self.changes.leave(activationID) }
        await self.writeKeptOutcomes()
        var kept = self.memory.withLock { $0.row(of: activationID) }
        for _ in 0..<limit {
            let isKept = kept != nil
            let found = try await self.find(activationID, kept: kept.take(), in: open)
            guard let found else {
                guard isKept else { throw MobileTokenError.notStored() }
                continue
            }
            let prepared: Prepared<Result>
            do {
                try found.row.check(turn, intent)
                prepared = try self.prepare(found, recording: intent, in: turn, change)
            } catch  where isKept {
                // The row in memory may be old: retry with the stored row, whose error counts.
                continue
            }
            guard let rowChange = prepared.change else {
                if isKept { continue }
                return prepared.result
            }
            if try await self.swap(rowChange, of: found.row, moves: prepared.moves, in: turn, open) {
                return prepared.result
            }
        }
        return nil
    }

    /// - Returns: `false` if the row has changed.
    private func swap(
        _ change: RowChange,
        of row: LoadedRow,
        moves: UInt64,
        in turn: Turn?,
        _ open: Open
    ) async throws -> Bool {
        if let end = turn?.notAfter(), end <= .now { throw MobileTokenError.turnLost }
        // Until the result is known, the former row must not be used for changes.
        self.memory.withLock { $0.forget(change.activationID) }
        let answer: SwapAnswer
        do {
            answer = try await self.repeatingUntilKnown { try await self.driver.swap(change) }
        } catch let error as MobileTokenError where error.code == .storeOutcomeUnknown {
            // The intent may be stored, and only this process knows that nothing was signed for it.
            if let intent = change.intent { self.keepNothingSent(intent, under: change.newTag, error.code) }
            throw error
        }
        switch answer {
        case .written: break
        case .otherTag, .otherEpoch, .gone: return false
        case .fenceLost: throw MobileTokenError.turnLost
        case .olderNodes(let names): throw MobileTokenError.olderNodes(names)
        case .paused(let pause): throw MobileTokenError.decidingPaused(pause)
        case .limited(let name):
            try await self.dateClosure(change.charges?.minute)
            throw MobileTokenError.limitReached(name)
        }
        // After the commit and before the turn ends: another process would ignore a mark that is behind, and take one that is
        // ahead for a restore.
        if let marks = open.facts.marks, marks.moves(of: row.slot, activationID: change.activationID) < moves {
            marks.set(moves, of: row.slot, activationID: change.activationID)
        }
        self.memory.withLock { memory in
            memory.remember(row.applying(change))
            if let intent = change.intent {
                memory.remember(.init(tag: change.newTag, key: change.key, sealed: intent))
            }
        }
        guard open.facts.isShared else { return true }
        if change.fields.removed.contains(SealedActivation.upgradeMark.name) { self.upgrades.end(change.activationID) }
        if change.fields.written.contains(SealedActivation.upgradeMark) { await self.upgrades.waitUntilKnown() }
        return true
    }

    private func keepNothingSent(_ intent: SealedReceipt, under tag: WriteTag, _ code: MobileTokenError.Code) {
        let outcome = DecisionOutcome(
            .refused(code: code.description, serverCode: nil),
            localDate: Date(),
            serverDate: nil
        )
        self.memory.withLock { memory in
            memory.keep(
                .init(activationID: intent.activationID, moves: intent.moves, tag: tag, outcome: outcome)
            )
        }
    }

    // MARK: Finding

    /// A loaded activation with its decrypted record.
    struct Found {
        let row: LoadedRow
        let sealing: Sealing
        let opened: Sealing.Opened
        /// The record, caught up with its mark.
        let record: ActivationRecord

        /// Indicates that the row is of an earlier state.
        var wasRestored: Bool { self.row.wasPutBack || self.record.counterMoves != self.opened.record.counterMoves }
    }

    /// Loads an activation; `nil` if there is none.
    func find(_ activationID: String, in open: Open) async throws -> Found? {
        var last: WriteTag?
        while var row = try await self.driver.load(activationID) {
            if row.lacksCharges {
                try await self.driver.setLimitClosure(ChargeSums.undatedClosure)
                row.lacksCharges = false
            }
            let isSame = row.tag == last
            // A row still behind its mark after a second read proves a restore. A store with epochs then records that for all
            // nodes.
            if isSame, try await self.driver.beginEpoch(after: row.epoch) {
                last = nil
                continue
            }
            if let found = try await self.restore(row, isLatest: isSame, in: open) {
                if found.wasRestored { await self.noteLostEvidence(of: activationID) }
                self.memory.withLock { $0.remember(row) }
                return found
            }
            last = row.tag
        }
        self.memory.withLock { $0.forget(activationID) }
        return nil
    }

    /// Returns the row in memory, or loads it; `nil` if there is none, or the one in memory is behind its mark.
    private func find(_ activationID: String, kept: LoadedRow?, in open: Open) async throws -> Found? {
        guard let kept else { return try await self.find(activationID, in: open) }
        return try await self.restore(kept, isLatest: false, in: open)
    }

    /// Decrypts a row, and catches it up with its mark.
    ///
    /// - Parameter isLatest: `true` if the row was read after its mark.
    /// - Returns: `nil` if the row is behind its mark and may be outdated.
    private func restore(_ row: LoadedRow, isLatest: Bool, in open: Open) async throws -> Found? {
        self.noteDecryption()
        let sealing = try await self.sealing(row.key)
        let opened = try sealing.opened(row.sealed)
        var record = opened.record
        let mark = open.facts.marks?.moves(of: row.slot, activationID: record.activationID) ?? 0
        guard record.counterMoves >= mark || row.wasPutBack || isLatest else { return nil }
        if row.wasPutBack { record.ledger.notePutBack() }
        record.ledger.catchUp(to: mark)
        return Found(row: row, sealing: sealing, opened: opened, record: record)
    }

    // MARK: Preparing

    private struct Prepared<Result: Sendable>: Sendable {
        let result: Result
        let moves: UInt64
        /// `nil` if nothing is to be written.
        let change: RowChange?
    }

    private func prepare<Result: Sendable>(
        _ found: Found,
        recording intent: DecisionIntent?,
        in turn: Turn?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) throws -> Prepared<Result> {
        let (row, sealing) = (found.row, found.sealing)
        var record = found.record
        let result = try change(&record)
        let hasMoved = record.counterMoves != found.record.counterMoves
        let fields = try sealing.changes(from: found.opened, to: record)
        let comparedEpoch = record.ledger.wasPutBack ? row.comparedEpoch : row.epoch
        guard !fields.written.isEmpty || !fields.removed.isEmpty || comparedEpoch != row.comparedEpoch else {
            return Prepared(result: result, moves: record.counterMoves, change: nil)
        }
        // Sealed fields do not affect the format, and most changes only move the counter.
        let mayMakeForm = !fields.removed.isEmpty || !fields.written.allSatisfy(\.isSealed)
        let format = mayMakeForm ? row.sealed.applying(fields).format : row.format
        let sealedIntent = try intent.flatMap { intent in
            hasMoved ? try sealing.seal(intent.fenced(by: turn?.fence), ofMove: record.counterMoves) : nil
        }
        return Prepared(
            result: result,
            moves: record.counterMoves,
            change: RowChange(
                activationID: record.activationID,
                slot: row.slot,
                tag: row.tag,
                fence: turn?.fence,
                epoch: row.epoch,
                newTag: .random(),
                comparedEpoch: comparedEpoch,
                fields: fields,
                key: row.key,
                format: format == row.format ? nil : format,
                intent: sealedIntent,
                charges: sealedIntent == nil ? nil : intent?.charges,
                heedsPause: intent?.isAutomatic ?? false
            )
        )
    }
}

extension LoadedRow {
    /// Throws the reason why this row must not be changed.
    fileprivate func check(_ turn: Turn?, _ intent: DecisionIntent?) throws(MobileTokenError) {
        if let pause, intent?.isAutomatic == true { throw .decidingPaused(pause) }
        guard let turn else { return }
        // A turn is for one slot. An activation added again with the same identifier has another.
        guard self.slot == turn.slot, turn.fence == nil || turn.fence == self.holder else { throw .turnLost }
    }
}

extension MobileTokenError {
    static let turnLost = Self(.signingTurnLost, "Another node has the right to sign now")

    package static func olderNodes(_ names: [String]) -> Self {
        Self(
            .storeHasOlderNodes,
            "Nodes of an older program could not read the activation: \(names.joined(separator: ", "))"
        )
    }
}
