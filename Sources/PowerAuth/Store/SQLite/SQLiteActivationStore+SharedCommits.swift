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
        _ = try await self.opened()
        return try await withoutActuallyEscaping(change) { change in
            let pending = PendingChange(of: activationID, change)
            self.pendingChanges.append(pending)
            // Changes that are queued behind this call join the commit.
            if self.executor.waitingJobCount > 0 { await self.executor.waitForQueuedJobs() }
            if pending.outcome == nil { self.commitPendingChanges() }
            return try pending.result()
        }
    }

    /// Makes all pending changes in one transaction, and notes the outcome of each.
    func commitPendingChanges() {
        let changes = self.pendingChanges
        self.pendingChanges = []
        do {
            guard case .open(let open) = self.state else { throw self.closed() }
            let marks = try open.database.write {
                try changes.compactMap { change in
                    changes.count == 1
                        ? try self.apply(change, in: open)
                        : try self.applyOrUndo(change, in: open)
                }
            }
            for mark in marks {
                open.lease.setHighWaterMark(mark.moves, of: mark.slot, activationID: mark.activationID)
            }
            for change in changes where change.outcome == nil { change.outcome = .success(()) }
        } catch {
            let error = self.mapped(error)
            for change in changes where change.outcome == nil { change.outcome = .failure(error) }
        }
    }

    /// How far a change has moved a counter, to be noted once the change is durable.
    private struct NewMark {
        let activationID: String
        let slot: Int64
        let moves: UInt64
    }

    /// Makes one of several changes. When it fails, it is undone without touching the others.
    ///
    /// - Throws: When the whole transaction is lost.
    private func applyOrUndo(_ change: any AnyPendingChange, in open: Open) throws -> NewMark? {
        do {
            return try open.database.nested { try self.apply(change, in: open) }
        } catch  where open.database.isInTransaction {
            change.outcome = .failure(self.mapped(error))
            return nil
        }
    }

    private func apply(_ change: any AnyPendingChange, in open: Open) throws -> NewMark? {
        let activationID = change.activationID
        guard let (slot, sealed) = try self.stored(activationID, in: open) else { throw MobileTokenError.notStored() }
        let mark = open.lease.highWaterMark(of: slot, activationID: activationID)
        let (changes, moves) = try self.decrypting {
            try open.sealing.change(sealed) { record in
                record.ledger.catchUp(to: mark)
                try change.apply(to: &record)
                return record.history.moves
            }
        }
        try open.database.apply(changes, in: slot)
        return moves > mark ? NewMark(activationID: activationID, slot: slot, moves: moves) : nil
    }
}
