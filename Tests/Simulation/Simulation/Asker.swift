import MobileTokenApprovals

/// The requester's questions, and its programs, which share a ledger.
final class Asker: @unchecked Sendable {  // used in the thread of its simulator alone
    struct Question: Sendable {
        let id: String
        /// The people who are asked, and how many of them must approve.
        let users: [String]
        let needed: Int
        let asked: Int64
    }

    /// A program, in one process after the other.
    final class Program: @unchecked Sendable {  // used in the thread of its simulator alone
        let name: String
        var process: Simulator.Process?
        var lives = 0
        var desk: ApprovalDesk?
        /// The questions that it performs, and those with a reported end.
        var questions: [Question] = []
        var ended: Set<String> = []
        /// The acts that await a moment of its life.
        var fates: [(moment: Plan.AskerMoment, act: () -> Void)] = []
        /// Indicates whether it does not reach the bank.
        var isCut = false
        /// The last suspension; one that lasts has no end.
        var frozen: (until: Int64, since: Int64)?

        init(_ name: String) {
            self.name = name
        }

        var isIdle: Bool { self.questions.allSatisfy { self.ended.contains($0.id) } }
    }

    let programs: [Program]
    var questions: [Question] = []

    init(_ count: Int) {
        self.programs = (1...count).map { Program($0 == 1 ? "asker" : "asker \($0)") }
    }
}

/// The requester's ledger, as a value that outlives every process.
struct QuestionLedger {
    private static let incarnation = [UInt8](repeating: 1, count: 16)

    var table = LedgerTable()
    /// The process that holds a claim.
    var holders: [Int64: Simulator.Process] = [:]

    var facts: LedgerFacts { LedgerFacts(keyCheck: self.table.keyCheck, incarnation: Self.incarnation) }

    func row(of id: String) -> LedgerRow? { self.table[LedgerKey(audience: "simulation", id: id)] }

    mutating func setKey(_ check: [UInt8]) -> LedgerFacts {
        self.table.setKey(check)
        return self.facts
    }
}

/// A process's view of the ledger.
final class SimulatedLedger: LedgerDriver, @unchecked Sendable {  // used in the thread of its simulator alone
    private let world: World
    private let process: Simulator.Process
    /// The changes that a defect has not written yet.
    private var unwritten: [LedgerKey: LedgerChange] = [:]

    init(world: World, process: Simulator.Process) {
        self.world = world
        self.process = process
    }

    private func ask<Answer: Sendable>(
        _ name: String,
        mayBeUnknown: Bool = false,
        _ body: @escaping @Sendable (inout QuestionLedger) -> Answer
    ) async throws -> Answer {
        do {
            return try await self.world.askDatabase("ledger: \(name)", mayBeUnknown: mayBeUnknown) { [world] _, _ in
                body(&world.questions)
            }
        } catch {
            self.world.judge.trace.disturbed(self.process.index, at: self.world.simulator.now)
            throw error
        }
    }

    func open(audience: [UInt8]) async throws -> LedgerFacts { try await self.ask("open") { $0.facts } }
    func setKey(check: [UInt8]) async throws -> LedgerFacts { try await self.ask("set key") { $0.setKey(check) } }
    func adopt(audience: [UInt8]) async throws {}
    func load(_ key: LedgerKey) async throws -> LedgerRow? {
        let row = try await self.ask("load") { $0.table[key] }
        return self.unwritten[key].flatMap { change in row.map { $0.after(change) } } ?? row
    }
    func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion {
        try await self.ask("insert", mayBeUnknown: true) { $0.table.insert(row, asking) }
    }

    func swap(_ change: LedgerChange) async throws -> LedgerSwap {
        if self.world.defect == .claimsAfterAction, change.newState == .claimed {
            self.unwritten[change.key] = change
            return .written
        }
        let former = self.unwritten.removeValue(forKey: change.key)
        return try await self.ask("swap", mayBeUnknown: true) { ledger in
            if let former { _ = ledger.table.swap(former) }
            return ledger.table.swap(change)
        }
    }

    func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws {
        try await self.ask("unask", mayBeUnknown: true) { $0.table.unask(people, key) }
    }

    func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) async throws -> [LedgerRow] {
        try await self.ask("rows") { $0.table.rows(filter, after: key, limit: limit) }
    }

    func hold(_ token: Int64) async throws {
        let process = self.process
        self.world.claims()
        try await self.ask("hold") { $0.holders[token] = process }
    }

    func release(_ token: Int64) async { _ = try? await self.ask("release") { $0.holders[token] = nil } }

    func isHeld(_ token: Int64) async throws -> Bool {
        let simulator = self.world.simulator
        return try await self.ask("is held?") { $0.holders[token].map { simulator.isAlive($0) } ?? false }
    }

    func close() async {}
}

extension LedgerRow {
    fileprivate func after(_ change: LedgerChange) -> Self {
        var row = self
        (row.tag, row.state, row.content) = (change.newTag, change.newState, change.content)
        return row
    }
}
