import Basics
import Foundation
import MobileToken
import PowerAuth

// The database, over an unreliable line.
extension World {
    /// Calls the database over an unreliable line.
    ///
    /// - Parameter mayBeUnknown: `true` if the outcome is unknown when the response is lost.
    func askDatabase<Answer: Sendable>(
        _ name: String,
        mayBeUnknown: Bool,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await withUnsafeThrowingContinuation { continuation in
            self.call(name, mayBeUnknown, body) { continuation.resume(with: $0) }
        }
    }

    func call<Answer: Sendable>(
        _ name: String,
        _ mayBeUnknown: Bool,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer,
        _ wake: @escaping (Swift.Result<Answer, any Error>) -> Void
    ) {
        let process = self.simulator.currentProcess
        func fail(_ code: MobileTokenError.Code, after delay: Duration) {
            self.simulator.post(to: process, after: delay) {
                wake(.failure(MobileTokenError(code, "\(name), as the world wants it")))
            }
        }
        func lost() {
            let code: MobileTokenError.Code =
                mayBeUnknown && self.defect != .unknownIsRefused ? .storeOutcomeUnknown : .storeUnreachable
            fail(code, after: self.draw.duration(.milliseconds(1) ... .seconds(1)))
        }
        let chances = self.chances
        guard !self.isDatabaseAway, !self.isCut(process), !self.draw.happens(chances.callOfDatabaseRefused) else {
            return fail(.storeUnreachable, after: .milliseconds(20))
        }
        guard !mayBeUnknown || !self.isDiskFull else { return fail(.storeFull, after: .milliseconds(5)) }
        if name == "append", self.simulator.now < self.outcomesFrom {
            self.judge.count("outcomes refused")
            return fail(.storePermissions, after: .milliseconds(5))
        }
        var travel = self.draw.duration(.microseconds(200) ... .milliseconds(4))
        if let slow = chances.slowDatabase, self.draw.happens(slow) {
            self.judge.count("database calls slow")
            self.judge.trace.slowed[process.index] = self.simulator.now
            travel = self.draw.duration(.milliseconds(200) ... .seconds(3))
        }
        let node = self.nodes.first { $0.process == process }
        if name == "swap", let node, let seconds = node.stall.take() {
            travel = .seconds(seconds)
            self.dueFates.append { self.freeze(node, seconds + 1) }
        }
        if name == "take lease", let seconds = node?.leaseStall.take() {
            travel = .seconds(seconds)
            self.dueFates.append { self.promoteStandby() }
        }
        let isLate = mayBeUnknown && self.draw.happens(chances.callOfDatabaseLate)
        if isLate {
            self.judge.count("database calls late")
            self.simulator.note("the database gets \"\(name)\" late")
            travel = self.draw.duration(.milliseconds(200) ... .seconds(3))
            lost()
        }
        self.simulator.post(to: self.simulator.world, after: travel) {
            guard !self.isDatabaseAway else { return isLate ? () : lost() }
            let answer = body(&self.database, self.databaseNow)
            let epoch = self.database.epoch.identity
            self.epochStarts[epoch] = self.epochStarts[epoch] ?? self.simulator.now
            guard !isLate else { return }
            if self.draw.happens(chances.answerOfDatabaseLost) {
                self.judge.count("database answers lost")
                self.simulator.note("the database's answer to \"\(name)\" is lost")
                return lost()
            }
            self.simulator.post(to: process, after: self.draw.duration(.microseconds(200) ... .milliseconds(4))) {
                wake(.success(answer))
            }
        }
    }

    /// Handles a committed swap.
    func committed(
        _ change: RowChange,
        _ before: LoadedRow,
        by process: Simulator.Process,
        on node: Node,
        in database: Database
    ) {
        let id = change.activationID
        guard let row = database.rows[id], let old = try? self.sealing.open(before.sealed),
            let new = try? self.sealing.open(row.sealed)
        else { return self.judge.fail("\(self.deviceNames[id] ?? "") cannot be read any more") }
        var commit = Judge.Commit(node: node.name, moves: new.counterMoves)
        (commit.fence, commit.epoch, commit.time) = (change.fence, database.epoch, self.simulator.now)
        if let intent = change.intent {
            guard let opened = try? self.sealing.openIntent(intent) else {
                return self.judge.fail("an intent cannot be read")
            }
            commit.intent = opened
            if let end = opened.arrivesBefore {
                let length = end.timeIntervalSince(opened.localDate)
                commit.arrivesBy = self.simulator.now + Int64(length * 1e9) + 2_000_000
            }
            self.simulator.note(
                "the intent on \(self.judge.name(of: opened.personalData?.operationID)) is committed, move \(intent.moves)"
            )
            self.reached(.intent, process)
        }
        if row.comparedEpoch != before.comparedEpoch,
            self.judge.trace.isUncompared(id)
        {
            self.judge.fail("\(self.deviceNames[id] ?? "") counts as compared with the bank, and nobody asked it")
        }
        if let fence = change.fence, commit.intent?.isAutomatic == true, let start = self.leaseStarts[fence],
            self.judge.trace.polls["\(process.index) \(id)"] ?? -1 < start
        {
            self.judge.fail("an agent decides by a list from before its node's lease")
        }
        if change.fence != nil, change.fence != before.holder || database.nodes[change.fence ?? 0] == nil {
            self.judge.fail("a change of \(self.deviceNames[id] ?? "") was made under a right that is over")
        }
        // The number may be one that the database lost. Then the signature has no right, because numbers are unique.
        if !database.isCurrent(change.epoch) {
            self.judge.fail("a change of \(self.deviceNames[id] ?? "") was made of an earlier epoch")
        }
        self.judge.committed(change, commit, by: process.index, from: old, to: new, isPaused: database.pause != nil)
    }

    /// Handles a heartbeat's response.
    func heard(of server: Database.Server) { self.heartbeatServer = server }

    /// Handles a new lease.
    func tookLease(of epoch: Database.Epoch) {
        guard epoch.begun != nil, self.simulator.now >= self.leasesTellFrom else { return }
        let start = self.epochStarts[epoch.identity] ?? self.simulator.now
        if self.simulator.now - start < Database.lifetime { self.judge.fail("a lease is taken in the quarantine") }
    }

    /// A process gives buckets back, or all.
    func givesBack(_ buckets: [Int]?) {
        let isDeciding = self.judge.trace.isDeciding(self.simulator.currentProcess.index) { id in
            buckets?.contains(OperationsFleet.Buckets.bucket(of: id)) ?? true
        }
        if isDeciding { self.judge.fail("a node gives a bucket back, and waits for the answer to a decision in it") }
    }

    /// Handles a recorded outcome.
    func appended(_ sealed: SealedOutcome) {
        guard let outcome = try? self.sealing.openOutcome(sealed.sealed) else {
            return self.judge.fail("an outcome cannot be read")
        }
        self.judge.appended(
            outcome.result,
            ofMove: sealed.sealed.moves,
            of: sealed.sealed.activationID,
            at: self.simulator.now
        ) {
            self.book(of: $0)
        }
    }

    /// Applies a defect to a written row.
    func spoil(_ database: inout Database, _ before: LoadedRow) {
        guard self.defect == .upgradeResetsNumber || self.defect == .keepsWeakToken else { return }
        let id = before.sealed.activationID
        guard let row = database.rows[id], let old = try? self.sealing.open(before.sealed),
            var record = try? self.sealing.open(row.sealed)
        else { return }
        let name = "statements"
        switch self.defect {
        case .upgradeResetsNumber where old.version4 == nil && record.version4 != nil:
            record.ledger = CounterLedger(counter: record.ledger.counter)
        case .keepsWeakToken:
            let weak = old.tokens.first { $0.key.string != name && $0.value.factors.factors.count == 1 }
            guard let weak, let key = old.tokens.keys.first(where: { $0.string == name }) else { return }
            record.tokens[key] = weak.value
        default: return
        }
        if let sealed = try? self.sealing.seal(record) { database.rows[id]?.sealed = sealed }
    }
}
