import Coordination

/// Changes that are asked for at the same time share one durable commit.
extension SQLiteActivationStore {
    /// Reads, changes and writes one activation in a single transaction, which is on the disk when the call returns.
    ///
    /// `change` runs on the thread of the store, so it should be short; other processes wait for it. Changes that are asked
    /// for at the same time share one durable commit; one that throws is undone alone.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.update(activationID, recordingIfAny: nil, change)
    }

    func update<Result: Sendable>(
        _ activationID: String,
        recordingIfAny intent: DecisionIntent?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        _ = try await self.opened()
        return try await withoutActuallyEscaping(change) { change in
            let pending = PendingChange(of: activationID, recording: intent, change)
            await self.commit(pending)
            return try pending.result()
        }
    }

    /// Waits until a write is durable, or has failed: its outcome tells.
    func commit(_ pending: any PendingWrite) async {
        self.pendingWrites.append(pending)
        // What is queued behind this call joins the commit.
        if self.executor.waitingJobCount > 0 { await self.executor.waitForQueuedJobs() }
        if pending.outcome == nil { self.commitPendingWrites() }
    }

    /// Makes all pending writes in one transaction, and notes the outcome of each.
    func commitPendingWrites() {
        let writes = self.pendingWrites
        self.pendingWrites = []
        do {
            guard case .open(let open) = self.state else { throw self.closed() }
            // An outcome that is lost leaves its receipt open, which is as true.
            let isDurable = !writes.allSatisfy { $0 is PendingDecisionOutcome }
            let marks = try open.database.write(isDurable: isDurable) {
                try writes.compactMap { write in
                    writes.count == 1
                        ? try self.apply(write, in: open)
                        : try self.applyOrUndo(write, in: open)
                }
            }
            for mark in marks {
                open.lease.setHighWaterMark(mark.moves, of: mark.slot, activationID: mark.activationID)
            }
            for write in writes where write.outcome == nil { write.outcome = .success(()) }
        } catch {
            let error = self.mapped(error)
            for write in writes where write.outcome == nil { write.outcome = .failure(error) }
        }
    }

    /// How far a change has moved a counter, to be noted once the change is durable.
    private struct NewMark {
        let activationID: String
        let slot: Int64
        let moves: UInt64
    }

    /// Makes one of several writes. When it fails, it is undone without touching the others.
    ///
    /// - Throws: When the whole transaction is lost.
    private func applyOrUndo(_ write: any PendingWrite, in open: Open) throws -> NewMark? {
        do {
            return try open.database.nested { try self.apply(write, in: open) }
        } catch  where open.database.isInTransaction {
            write.outcome = .failure(self.mapped(error))
            return nil
        }
    }

    private func apply(_ write: any PendingWrite, in open: Open) throws -> NewMark? {
        switch write {
        case let change as any AnyPendingChange: return try self.apply(change, in: open)
        case let outcome as PendingDecisionOutcome: try self.apply(outcome, in: open)
        default: break
        }
        return nil
    }

    private func apply(_ change: any AnyPendingChange, in open: Open) throws -> NewMark? {
        let activationID = change.activationID
        guard let stored = try self.stored(activationID, in: open) else { throw MobileTokenError.notStored() }
        if let pause = stored.pause, change.intent?.isAutomatic == true {
            throw MobileTokenError.decidingPaused(pause)
        }
        let slot = stored.slot
        let mark = open.lease.highWaterMark(of: slot, activationID: activationID)
        let (changes, (moves, hasMoved)) = try self.decrypting {
            try open.sealing.change(stored.sealed) { record in
                record.ledger.catchUp(to: mark)
                let before = record.counterMoves
                try change.apply(to: &record)
                return (record.counterMoves, record.counterMoves != before)
            }
        }
        try open.database.apply(changes, in: slot)
        if let intent = change.intent, hasMoved {
            try open.database.insert(intent: try open.sealing.seal(intent, ofMove: moves))
        }
        return moves > mark ? NewMark(activationID: activationID, slot: slot, moves: moves) : nil
    }

    private func apply(_ pending: PendingDecisionOutcome, in open: Open) throws {
        try self.checkKey(of: open)
        let outcome = pending.decisionOutcome
        let sealed = try open.sealing.seal(outcome, ofMove: pending.moves, of: pending.activationID)
        guard try !open.database.insert(outcome: sealed, isOpen: outcome.isOpen) else { return }
        // Seldom: something is known already.
        guard let known = try open.database.known(ofMove: pending.moves, of: pending.activationID),
            outcome.replaces(try known.outcome.map { try open.sealing.openOutcome($0) })
        else { return }
        try open.database.insert(outcome: sealed, isOpen: outcome.isOpen, ofIntent: known.intent)
    }
}
