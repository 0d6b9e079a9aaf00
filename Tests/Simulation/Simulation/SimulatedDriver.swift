import Coordination
import Foundation
import MobileTokenPostgres
import PowerAuth

/// A process's driver: calls the database over a line that delays, loses and repeats, and signs under the rights of the product's
/// own node.
final class SimulatedDriver: JournalDriver {
    let rights: Node
    let database: SimulatedDatabase
    private let world: World
    private let node: World.Node

    init(_ node: World.Node, in world: World) {
        self.node = node
        self.world = world
        self.database = SimulatedDatabase(world, name: node.name)
        self.rights = Node(
            lifetimes: SimulatedDatabase.lifetimes,
            database: self.database,
            notifications: self.database,
            clock: ServiceClock(world.clock)
        )
    }

    // MARK: Calls

    /// Makes a call that changes nothing, or may be repeated.
    private func ask<Answer: Sendable>(
        _ name: String,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await self.world.askDatabase(name, mayBeUnknown: false, body)
    }

    /// Makes a call whose outcome is unknown if its response is lost.
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

    func close() async { await self.rights.close() }

    // MARK: Activations

    func load(_ activationID: String) async throws -> LoadedRow? {
        let row = try await self.ask("load") { database, _ in database.load(activationID) }
        self.rights.recordHolder(row?.holder, of: activationID)
        return row
    }

    func swap(_ change: RowChange) async throws -> SwapAnswer {
        let rules = self.world.defect.rules
        let process = self.world.simulator.currentProcess
        let answer = try await self.write("swap") { [world, node] database, now in
            let before = database.rows[change.activationID]
            let answer = database.swap(change, at: now, rules)
            // Repeated after a lost response, it writes nothing.
            guard answer == .written, let before, before.tag != change.newTag else { return answer }
            world.spoil(&database, before)
            world.committed(change, before, by: process, on: node, in: database)
            return answer
        }
        if answer == .fenceLost { self.rights.forget(change.activationID) }
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
        try await self.ask("begin epoch") { [world] database, now in
            let before = database.epoch.number
            database.beginEpoch(after: epoch, at: now)
            if database.epoch.number != before { world.judge.beganEpoch() }
        }
        return true
    }

    func withTurn<Result: Sendable>(
        of activationID: String,
        slot known: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        let slot =
            if let known { Optional(known) } else {
                try await self.ask("slot") { database, _ in database.rows[activationID]?.slot }
            }
        guard let slot else { throw MobileTokenError(.activationNotStored, "No such activation is stored") }
        return try await self.rights.withTurn(of: activationID, slot: slot) { [world] turn in
            guard world.defect == .noEndOfRight else { return try await body(turn) }
            return try await body(Turn(slot: turn.slot, fence: turn.fence) { nil })
        }
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

    func receiptFigures() async throws -> ReceiptFigures {
        ReceiptFigures(unexportedCount: 0, lastExport: nil, byteCount: 0)
    }

    // MARK: Limits

    func limitUse(_ checks: [LimitCharges.Check]) async throws -> [Int64] {
        try await self.ask("use of limits") { database, _ in checks.map { database.chargeSums.used($0) } }
    }

    func limitClosure() async throws -> Int64? {
        try await self.ask("closure of limits") { database, _ in database.chargeSums.closure }
    }

    func setLimitClosure(_ minute: Int64?) async throws {
        try await self.write("close limits") { database, _ in database.chargeSums.closure = minute }
    }

    // MARK: Pausing

    func decisionPause() async throws -> DecisionPause? {
        try await self.ask("pause?") { database, _ in database.pause }
    }

    func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await self.write("pause") { database, _ in database.pause = pause }
    }
}
