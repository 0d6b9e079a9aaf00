import PowerAuth

// The database goes back.
extension World {
    func goBack(_ seconds: Int, _ change: (inout Database.Server) -> Void) {
        let now = self.database
        guard let backup = self.backup(seconds) else { return }
        self.database = backup
        self.database.server = now.server
        change(&self.database.server)
        // People would request the pause again.
        self.database.pause = now.pause
        self.backups = [self.database]
        // Each change checks the timeline, each heartbeat the server.
        if !self.database.server.isOther(than: now.server) { self.leasesTellNothing() }
        // The next heartbeat notices another server: until then it is an unnoticed backup.
        let isNoticed = self.database.server.identifier != now.server.identifier
        let limit = isNoticed ? self.simulator.now + 2 * Database.lifetime : nil
        let kept = Set(backup.intents)
        self.judge.wentBack(losing: Set(now.intents.filter { !kept.contains($0) }))
        // A process that signs from an older state may fail once.
        for (id, row) in backup.rows { self.rowWentBack(from: now.rows[id], to: row, failsUntil: limit) }
    }

    /// Lets a standby that lacks the last second take over.
    func promoteStandby() {
        self.simulator.note("— a standby takes over")
        self.goBack(1) { server in
            server.timeline += 1
            server.breaks += 1
        }
    }

    func backup(_ seconds: Int) -> Database? { self.backups.dropLast(seconds).last ?? self.backups.first }

    func putBackRow(_ id: String, _ seconds: Int) {
        guard let now = self.database.rows[id], var row = self.backup(seconds)?.rows[id] else { return }
        row.holder = now.holder
        self.database.rows[id] = row
        self.rowWentBack(from: now, to: row)
    }

    /// - Parameter limit: The end of the time for signatures from the older state; `nil` for no end.
    func rowWentBack(from now: LoadedRow?, to row: LoadedRow, failsUntil limit: Int64? = nil) {
        let id = row.sealed.activationID
        guard now?.tag != row.tag, let old = try? self.sealing.open(row.sealed) else { return }
        self.judge.wentBack(id, to: old.counterMoves, at: self.simulator.now, failsUntil: limit)
        // The version 4 keys are lost, and the server has no others: such an activation must be renewed.
        guard old.version4 == nil, let now, (try? self.sealing.open(now.sealed))?.version4 != nil else { return }
        self.judge.count("activations lost with the database")
        self.simulator.note("the database lost the keys of \(self.deviceNames[id] ?? "")")
        self.judge.lostKeys.insert(id)
    }

    func leasesTellNothing() { self.leasesTellFrom = self.simulator.now + 2 * Database.lifetime }

    /// Notes a takeover of an activation that was not released, which may cost it one failed attempt.
    func tookOver(_ activationID: String) {
        self.judge.count("unclean takeovers")
        // Of a signature of the one before, which the new one's overtakes.
        self.judge.allowFailure(of: activationID, committedBy: self.simulator.now)
    }
}
