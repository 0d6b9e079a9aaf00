import Coordination
import Foundation
import PowerAuth
import Synchronization

/// The driver of one process: asks the database over a line that delays, loses and repeats, and holds what a node holds.
///
/// It signs under a lease, renewed by heartbeats, and keeps the right to sign with an activation until another node requests it, like
/// the driver for PostgreSQL.
final class SimulatedDriver: JournalDriver {
    fileprivate struct State {
        var lease: Int64?
        var reliableUntil = ContinuousClock.now
        var locks: Set<String> = []
        var keeper: Task<Void, Never>?
        var isClosed = false
        /// The quarantine that was waited for last, and when it ends by the node's own clock: that of the database may be set back.
        var quarantine: (epoch: Database.Epoch.Identity, end: ContinuousClock.Instant)?
    }

    /// The part of a lifetime that a node relies on.
    private static let reliance = Duration.nanoseconds(Database.lifetime * 19 / 20)

    private let world: World
    private let node: World.Node
    private let state = Mutex(State())
    private let gate = KeyedSemaphore()
    private let joining = KeyedSemaphore()
    private var clock: SimulatedClock { self.world.clock }

    init(_ node: World.Node, in world: World) {
        self.node = node
        self.world = world
    }

    // MARK: Asking

    /// Makes a call that changes nothing, or that may be made twice.
    private func ask<Answer: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await self.world.askDatabase(name, mayBeUnknown: false, body)
    }

    /// Makes a call whose outcome is unknown when its answer is lost.
    private func write<Answer: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await self.world.askDatabase(name, mayBeUnknown: true, body)
    }

    func open() async throws -> StoreFacts {
        let keys = try await self.ask("open") { database, now in
            database.checkServer(at: now)
            return database.keys
        }
        return StoreFacts(
            keys: keys,
            marks: self.world.defect == .noMarks ? nil : self.node.marks,
            isShared: true,
            mayLoseOutcomes: !self.world.defect.isHealed,
            patience: .seconds(5)
        )
    }

    func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key] {
        try await self.ask("add key") { database, _ in database.keys }
    }

    func close() async {
        let (keeper, lease) = self.state.withLock { state in
            state.isClosed = true
            state.locks = []
            return (state.keeper.take(), state.lease.take())
        }
        keeper?.cancel()
        await keeper?.value
        guard let lease else { return }
        _ = try? await self.ask("leave") { database, _ in database.leave(lease) }
    }

    // MARK: Activations

    func load(_ activationID: String) async throws -> LoadedRow? {
        let row = try await self.ask("load") { database, _ in database.load(activationID) }
        // As that for PostgreSQL does: a right that the database has lost is asked for again.
        self.state.withLock { if row?.holder != $0.lease { $0.locks.remove(activationID) } }
        return row
    }

    func swap(_ change: RowChange) async throws -> SwapAnswer {
        let rules = self.world.defect.rules
        let process = self.world.simulator.currentProcess
        let answer = try await self.write("swap") { [world, node] database, now in
            let before = database.rows[change.activationID]
            let answer = database.swap(change, at: now, rules)
            // Repeated, because its answer was lost, it writes nothing.
            guard answer == .written, let before, before.tag != change.newTag else { return answer }
            world.spoil(&database, before)
            world.committed(change, before, by: process, on: node, in: database)
            return answer
        }
        if answer == .fenceLost { self.state.withLock { _ = $0.locks.remove(change.activationID) } }
        return answer
    }

    func insert(_ row: NewRow) async throws -> InsertAnswer {
        try await self.write("insert") { database, _ in database.insert(row) }
    }

    func rehearse(_ row: NewRow) async throws -> Bool { try await self.ask("rehearse") { _, _ in true } }

    func remove(_ activationID: String) async throws -> Int64? {
        try await self.write("remove") { database, _ in database.rows.removeValue(forKey: activationID)?.slot }
    }

    func activationIDs(_ filter: RowFilter) async throws -> [String] {
        try await self.ask("identifiers") { database, _ in
            let rows = database.rows.values.filter { row in
                switch filter {
                case .all: true
                case .upgrading: row.sealed.fields.contains(SealedActivation.upgradeMark)
                }
            }
            return rows.sorted { $0.slot < $1.slot }.map(\.sealed.activationID)
        }
    }

    func checkReaders(of format: RecordFormat) async throws {}

    func beginEpoch(after epoch: Int64) async throws -> Bool {
        try await self.ask("begin epoch") { database, now in database.beginEpoch(after: epoch, at: now) }
        return true
    }

    // MARK: Turns

    func withTurn<Result: Sendable>(
        of activationID: String,
        slot known: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        let slot = try await self.ask("slot") { database, _ in database.rows[activationID]?.slot }
        guard let slot else { throw MobileTokenError(.activationNotStored, "No such activation is stored") }
        try await self.gate.enter(activationID)
        defer { self.gate.leave(activationID) }
        let lease = try await self.acquire(activationID)
        return try await body(Turn(slot: slot, fence: lease) { self.reliableUntil(as: lease) })
    }

    private func reliableUntil(as lease: Int64) -> ContinuousClock.Instant? {
        if self.world.defect == .noEndOfRight || self.world.defect == .noCheckAfterThaw { return nil }
        return self.state.withLock { $0.lease == lease ? $0.reliableUntil : .now - .seconds(1) }
    }

    /// The lease, if it may be relied on.
    var reliableLease: Int64? {
        self.state.withLock { state in
            state.reliableUntil > .now || self.world.defect == .noCheckAfterThaw ? state.lease : nil
        }
    }

    private func acquire(_ activationID: String) async throws -> Int64 {
        while true {
            let lease = try await self.lease()
            if self.state.withLock({ $0.lease == lease && $0.locks.contains(activationID) }) { return lease }
            let answer = try await self.ask("acquire") { [world] database, now in
                let answer = database.acquire(activationID, for: lease, at: now)
                for id in database.takeUncleanTakeovers() { world.tookOver(id) }
                return answer
            }
            guard let answer else { throw MobileTokenError(.activationNotStored, "No such activation is stored") }
            let isTaken = self.state.withLock { state in
                guard state.lease == lease else { return false }
                if !answer.hasLease { state.lose() }
                if answer.isTaken { state.locks.insert(activationID) }
                return answer.isTaken
            }
            if isTaken { return lease }
            try await self.clock.sleep(for: .milliseconds(50))
        }
    }

    /// Returns the lease, and takes one when there is none.
    func lease() async throws -> Int64 {
        if let lease = self.reliableLease { return lease }
        try await self.joining.enter("")
        defer { self.joining.leave("") }
        while true {
            if let lease = self.reliableLease { return lease }
            if self.state.withLock({ $0.isClosed }) { throw MobileTokenError(.storeClosed, "The store was closed") }
            let quarantine = try await self.ask("quarantine") { database, now in
                database.checkServer(at: now)
                return database.quarantine(at: now)
            }
            if quarantine.rest > 0, self.world.defect != .noQuarantine,
                let rest = self.state.withLock({ $0.rest(of: quarantine) })
            {
                try await self.clock.sleep(for: rest)
                continue
            }
            let (name, sentAt) = (self.node.name, ContinuousClock.now)
            let epoch = self.world.defect == .leaseOfAnyEpoch ? nil : quarantine.epoch
            let lease = try await self.ask("take lease") { [world] database, now in
                let lease = database.takeLease(name: name, in: epoch, at: now)
                if lease != nil { world.tookLease(of: database.epoch) }
                return lease
            }
            guard let lease else { continue }
            self.state.withLock { state in
                (state.lease, state.locks) = (lease, [])
                state.reliableUntil = sentAt + Self.reliance
                if state.keeper == nil { state.keeper = Task { await self.keep() } }
            }
        }
    }

    /// Renews the lease, and hands over what others request, until the store is closed.
    private func keep() async {
        await withDiscardingTaskGroup { group in
            while !self.state.withLock({ $0.isClosed }) {
                if let lease = self.state.withLock({ $0.lease }) {
                    for activationID in await self.beat(lease) { group.addTask { await self.handOver(activationID) } }
                }
                try? await self.clock.sleep(for: .seconds(2))
            }
        }
    }

    private func beat(_ lease: Int64) async -> [String] {
        let sentAt = ContinuousClock.now
        let checksServer = self.world.defect != .heartbeatOfAnyServer
        let requested: [String]?
        do {
            requested = try await self.ask("heartbeat") { [world] database, now in
                world.heard(of: database.server)
                return database.renew(lease, at: now, checksServer: checksServer)
            }
        } catch {
            return []  // the lease is relied on no longer than before
        }
        return self.state.withLock { state in
            guard state.lease == lease else { return [] }
            if requested == nil { state.lose() } else { state.reliableUntil = sentAt + Self.reliance }
            return requested ?? []
        }
    }

    private func handOver(_ activationID: String) async {
        guard let lease = self.state.withLock({ $0.lease }), (try? await self.gate.enter(activationID)) != nil else {
            return
        }
        defer { self.gate.leave(activationID) }
        self.state.withLock { _ = $0.locks.remove(activationID) }
        _ = try? await self.ask("hand over") { database, _ in database.handOver(activationID, from: lease) }
    }

    // MARK: Receipts

    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        do {
            return try await self.write("append") { [world] database, _ in
                let answer = database.append(outcome)
                if answer == .written { world.appended(outcome) }
                return answer
            }
        } catch  where self.world.defect == .losesOutcomes {
            return .written
        }
    }

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        try await self.ask("receipts") { database, _ in database.receipts(query) }
    }

    func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts {
        PrunedReceipts(count: 0, end: nil)
    }

    func pruneReceipts(after number: UInt64, before last: UInt64, decidedBefore date: Date) async throws
        -> PrunedReceipts
    { PrunedReceipts(count: 0, end: nil) }

    func overwriteDeleted() async throws {}
    func note(_ export: ExportNote) async throws {}

    func receiptFigures() async throws -> ActivationStore.ReceiptFigures {
        ActivationStore.ReceiptFigures(unexportedCount: 0, lastExport: nil, byteCount: 0)
    }

    // MARK: Pausing

    func decisionPause() async throws -> DecisionPause? {
        try await self.ask("pause?") { database, _ in database.pause }
    }

    func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.write("pause") { database, _ in database.pause = pause }
    }

    // MARK: Membership

    /// A call that only who holds a lease makes, for the membership.
    func asMember<Answer: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer { try await self.ask(name, body) }
}

extension SimulatedDriver.State {
    mutating func lose() { (self.lease, self.locks) = (nil, []) }

    /// Returns how long a quarantine has still to be waited for; `nil` when it is over.
    mutating func rest(of quarantine: (epoch: Database.Epoch.Identity, rest: Int64)) -> Duration? {
        guard let known = self.quarantine, known.epoch == quarantine.epoch else {
            self.quarantine = (quarantine.epoch, .now + .nanoseconds(quarantine.rest))
            return .nanoseconds(quarantine.rest)
        }
        let rest = min(ContinuousClock.now.duration(to: known.end), Duration.nanoseconds(quarantine.rest))
        return rest > .zero ? rest : nil
    }
}
