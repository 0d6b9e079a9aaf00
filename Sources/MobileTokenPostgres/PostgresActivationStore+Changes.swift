import Basics
import Coordination
import Foundation
import PostgresDatabase
import PowerAuth

// Changes of one activation.
extension PostgresActivationStore {
    /// How often a change is made anew because other nodes were quicker.
    private static let attemptLimit = 100

    /// Reads, changes and writes one activation, so that no other change comes in between; see `ActivationStore`.
    ///
    /// `change` is called again, of the newer state, when another node was quicker; what it returned before is dropped.
    ///
    /// - Parameter seat: The seat under which the right to sign is held; `nil` for a change that needs no such right.
    func update<Result: Sendable>(
        _ activationID: String,
        as seat: Seat?,
        recording intent: DecisionIntent?,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        let open = try await self.opened()
        try await self.changes.enter(activationID)
        defer { self.changes.leave(activationID) }
        var known = self.node.known(activationID)
        for _ in 0..<Self.attemptLimit {
            let found: StoredActivation? = if let known { known } else { try await self.stored(activationID) }
            guard let stored = found else {
                throw MobileTokenError(.activationNotStored, "No activation with this identifier is stored")
            }
            known = nil
            if let seat, stored.holder != seat.number { throw self.lost(activationID) }
            let prepared = try await self.prepare(stored, as: seat, recording: intent, open.marks, change)
            guard let prepared else { continue }
            guard let written = prepared.change else {
                try await self.checkPause(intent)
                return prepared.result
            }
            guard try await self.write(written) else {
                self.node.remember(nil, of: activationID)
                try await self.withConnection { try Incarnation.check($0) }
                try await self.checkPause(intent)
                try await self.checkReaders(of: written, insteadOf: stored)
                continue
            }
            open.marks.set(prepared.moves, of: stored.slot, activationID: activationID)
            self.node.remember(stored.applying(written), of: activationID)
            if written.fields.written.contains(SealedActivation.upgradeMark) { await self.upgrades.waitUntilKnown() }
            return prepared.result
        }
        throw MobileTokenError(.storeBusy, "Other nodes change the activation again and again")
    }

    /// Tells why the statement that moves a counter did not, if a pause was the reason.
    private func checkPause(_ intent: DecisionIntent?) async throws {
        guard intent?.isAutomatic == true, let pause = try await self.decisionPause() else { return }
        throw MobileTokenError.decidingPaused(pause)
    }

    private func lost(_ activationID: String) -> MobileTokenError {
        self.node.forget(activationID)
        return MobileTokenError(.signingTurnLost, "Another node has the right to sign now")
    }

    /// What a change comes to.
    private struct Prepared<Result: Sendable>: Sendable {
        let result: Result
        let moves: UInt64
        /// `nil` when there is nothing to write.
        let change: ActivationChange?
    }

    /// Changes what was read, in memory.
    ///
    /// - Returns: `nil` when it must be read again: the database was put back, which is noted now, or another process of this
    ///   machine was quicker.
    private func prepare<Result: Sendable>(
        _ stored: StoredActivation,
        as seat: Seat?,
        recording intent: DecisionIntent?,
        _ marks: HighWaterMarks,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Prepared<Result>? {
        let activationID = stored.sealed.activationID
        let sealing = try await self.sealing(stored.sealingKey)
        let mark = marks.moves(of: stored.slot, activationID: activationID)
        let (fields, outcome) = try sealing.change(stored.sealed) { record -> (Result, UInt64, Bool, Bool)? in
            guard record.counterMoves >= mark || stored.wasPutBack else { return nil }
            record.restore(stored, mark: mark)
            let before = record.counterMoves
            let result = try change(&record)
            return (result, record.counterMoves, record.counterMoves != before, record.ledger.wasPutBack)
        }
        guard let (result, moves, hasMoved, wasPutBack) = outcome else {
            try await self.noteBehind(stored)
            return nil
        }
        let isUnchanged = fields.written.isEmpty && fields.removed.isEmpty && wasPutBack == stored.wasPutBack
        // What is sealed makes no form; a counter that moves is the usual change.
        let mayMakeForm = !fields.removed.isEmpty || !fields.written.allSatisfy(\.isSealed)
        let format = mayMakeForm ? stored.sealed.applying(fields).format : stored.format
        let change = ActivationChange(
            activationID: activationID,
            slot: stored.slot,
            version: stored.version,
            lastToken: stored.writeToken,
            life: stored.currentIncarnation,
            holder: seat?.number,
            writeToken: .random(in: .min ... .max),
            incarnation: wasPutBack ? stored.incarnation : stored.currentIncarnation,
            fields: fields,
            intent: hasMoved ? try intent.map { try sealing.seal($0.signed(under: seat), ofMove: moves) } : nil,
            sealingKey: stored.sealingKey,
            format: format == stored.format ? nil : format,
            heedsPause: intent?.isAutomatic ?? false
        )
        return Prepared(result: result, moves: moves, change: isUnchanged ? nil : change)
    }

    /// Begins another life of the database, unless the activation was only read before the change that made the mark.
    func noteBehind(_ stored: StoredActivation) async throws {
        guard let again = try await self.stored(stored.sealed.activationID), again.version == stored.version else {
            return
        }
        let number = stored.currentIncarnation
        try await self.withConnection { try Incarnation.begin(after: number, $0) }
    }

    /// Reads an activation; `nil` when there is none.
    func stored(_ activationID: String) async throws -> StoredActivation? {
        let query = StoredActivation.query(activationID)
        return try await self.withConnection { connection in
            try StoredActivation(activationID, connection.run(query.sql, query.values, .none))
        }
    }

    /// Writes a change.
    ///
    /// When the connection is lost in the middle, the same statement is sent again: it writes only when the first one has not,
    /// and keeps the first one from writing later.
    ///
    /// - Returns: Whether it was written; otherwise the activation is another one now.
    private func write(_ change: ActivationChange) async throws -> Bool {
        try await self.settlingOutcome {
            do {
                guard let row = try await self.run(change.statements, .durable).first?.first else {
                    throw PostgresError(.unexpectedResult)
                }
                return try row.boolean(0)
            } catch let error as MobileTokenError where change.heedsPause && StoredPause.stopped(error) {
                return false
            }
        } wasWritten: {
            // As long as the version is the one that was read, the statement that was lost can still find it.
            try await self.stored(change.activationID)?.writeToken == change.writeToken
        }
    }

    /// Makes a change whose outcome may become unknown, and finds it out.
    ///
    /// - Parameters:
    ///   - attempt: Makes the change, unless it was made already; returns whether it did.
    ///   - wasWritten: Returns whether an earlier attempt has made it.
    /// - Throws: `storeOutcomeUnknown` when it cannot be found out in the time that a connection may take.
    func settlingOutcome(
        _ attempt: () async throws -> Bool,
        wasWritten: () async throws -> Bool
    ) async throws -> Bool {
        do {
            return try await attempt()
        } catch let error as MobileTokenError where error.code == .storeOutcomeUnknown {
            let deadline = self.clock.now + self.configuration.connectTimeout.bounded
            var last = error
            while self.clock.now < deadline {
                do {
                    return try await attempt() ? true : try await wasWritten()
                } catch let error as MobileTokenError where error.isPassing {
                    if error.code == .storeOutcomeUnknown { last = error }
                    try? await self.clock.sleep(until: self.clock.now + .milliseconds(100))
                    if Task.isCancelled { break }
                }
            }
            throw last
        }
    }
}

extension DecisionIntent {
    /// The same with the number of the membership that has the right to sign.
    fileprivate func signed(under seat: Seat?) -> Self {
        seat.map { self.fenced(by: UInt64(clamping: $0.number)) } ?? self
    }
}

extension ActivationRecord {
    /// Brings a record that was read up to what is known of it outside the database.
    mutating func restore(_ stored: StoredActivation, mark: UInt64) {
        if stored.wasPutBack { self.ledger.notePutBack() }
        self.ledger.catchUp(to: mark)
    }
}
