import Foundation
import Glibc
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing
import TestSupport
import MobileTokenReceipts

/// An hour in the life of many activations at a troubled bank, and of the process that decides for them, which is killed again
/// and again.
///
/// Time is simulated on both sides. `MOBILE_TOKEN_ENDURANCE=hours` polls every 7 s instead of every minute, for two hours; the
/// seed is printed, and `POWERAUTH_TEST_SEED` sets it.
@Suite(.timeLimit(.minutes(60))) struct EnduranceTests {
    private static let isLong = ProcessInfo.processInfo.environment["MOBILE_TOKEN_ENDURANCE"] == "hours"

    private static var plan: TroubledWorld.Plan {
        var plan = TroubledWorld.Plan()
        guard Self.isLong else { return plan }
        plan.duration = 7_200
        plan.pollInterval = .seconds(7)
        plan.requestsPerSecond = 100
        plan.operationsPerSecond = 1
        return plan
    }

    @Test func anHourOfTroubleEndsWell() async throws {
        let generator = SeededGenerator()
        let plan = Self.plan
        var configuration = Emulator.Configuration()
        configuration.seed = generator.seed
        configuration.templates = TroubledBank.templates
        try await withEmulator(configuration) { emulator async throws in
            await emulator.clock.freeze(at: TroubledWorld.start)
            let folder = try TemporaryFolder()
            let start = ContinuousClock.now
            var bank = TroubledBank(emulator, plan, generator)
            try await Self.register(with: &bank, storeAt: folder.file("store.sqlite"))
            let world = try TroubledWorld(emulator, plan, generator)
            var day = Day(world: world, path: folder.file("store.sqlite"), generator: generator)
            await day.record.skip(emulator)
            for second in 0..<plan.duration {
                if second % 60 == 0 { await day.changeWeather() }
                try await bank.live(through: second)
                try await day.pass(second)
                if second == plan.duration / 2 { day.report.memory.append(Self.residentBytes) }
            }
            try await day.end(&bank)
            day.report.memory.append(Self.residentBytes)
            try await self.check(bank, day, client: Self.client(emulator, storeAt: folder.file("store.sqlite")))
            print("wall time: \(ContinuousClock.now - start)")
        }
    }

    private static func register(with bank: inout TroubledBank, storeAt path: String) async throws {
        let (client, store) = try self.client(bank.emulator, storeAt: path)
        for _ in 0..<bank.plan.deviceCount { try await bank.register(with: client) }
        await client.shutdown()
        await store.close()
    }

    private static func client(_ emulator: Emulator, storeAt path: String) throws
        -> (MobileTokenClient, ActivationStore)
    {
        let store = ActivationStore.sqlite(path: path)
        return (try emulator.makeClient { $0.store = store }, store)
    }

    /// How many bytes the process has in memory.
    private static var residentBytes: Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    // MARK: What must hold

    private func check(
        _ bank: TroubledBank,
        _ day: Day,
        client: (client: MobileTokenClient, store: ActivationStore)
    ) async throws {
        var receipts: [DecisionReceipt] = []
        for try await receipt in client.client.receipts() { receipts.append(receipt) }
        let ended = Set(bank.devices.filter(\.isRemoved).map(\.activationID))
        let audit = ReceiptAudit(receipts, day.record, endedActivationIDs: ended)
        let statuses = try await bank.statuses()
        var table = EnduranceTable()
        table.add(statuses, bank)
        table.add(day, receiptResults: audit.results)
        print("seed: \(day.generator.seed)", table.text, separator: "\n")

        // Faults and deaths may keep an operation's list from every process for as long as the operation lives: until it
        // expires, or until the bank cancels it.
        var missedCount = 0
        for (id, operation) in bank.operations {
            let (status, story) = (statuses[id] ?? "", day.world.story(of: id).map { "\($0)" })
            let isMissed = ["EXPIRED", "CANCELED"].contains(status) && story.isEmpty && !day.world.isListed(id)
            let device = bank.devices[operation.device]
            if isMissed, !device.hadTrouble { missedCount += 1 }
            let problem = isMissed ? nil : operation.problem(status, story, device)
            #expect(problem == nil, "\(id) \(operation.kind) is \(status): \(problem ?? ""), \(story)")
            #expect(day.record.decisionCounts[id] ?? 0 <= 1, "\(id) was decided twice")
        }
        #expect(missedCount * 20 < bank.operations.count)
        #expect(audit.problems == [])
        #expect(day.record.reusedCounters == [])
        #expect(day.record.wrongSignatures == [])
        // One more: the world's clock may move between the moment in which the limiter counts a request and its first byte.
        #expect(day.world.mostRequestsInASecond <= bank.plan.requestsPerSecond + 1)
        #expect(day.leftovers == [])
        #expect(day.undeadCount == 0)
        // The bank's books grow with every operation. Other suites share the process, unless this one was asked for alone.
        let books = bank.operations.count * 8 << 10
        #expect(day.report.memoryGrowth < books + (Self.isLong ? 32 : 256) << 20)
        try await self.checkExport(of: receipts.count, from: client.store)
        await client.client.shutdown()
        await client.store.close()

        // Otherwise this was no bad day. What is rare is counted together, so that chance alone fails nothing.
        #expect(day.record.strikes.count == 7 && day.record.strikeCount > 100 && day.report.killCount > 0)
        let rare = ["inferred", "not followed"].compactMap { audit.results[$0] }.reduce(day.world.lateRequestCount, +)
        #expect(rare > 0)
        for status in ["APPROVED", "REJECTED", "EXPIRED", "CANCELED"] { #expect(statuses.values.contains(status)) }
    }

    private func checkExport(of count: Int, from store: ActivationStore) async throws {
        let folder = try TemporaryFolder()
        let archive = ReceiptArchive(folder: folder.file("receipts"))
        try await archive.export(from: store)
        let verification = try await archive.verify()
        #expect(verification.isIntact && verification.counts.intents == count)
    }
}

// MARK: - The day

/// The life of the process, from one death to the next.
private struct Day {
    struct Report {
        var killCount = 0
        var stopCount = 0
        var memory: [Int] = []
        var memoryGrowth: Int { (self.memory.last ?? 0) - (self.memory.first ?? 0) }
    }

    let world: TroubledWorld
    let path: String
    var generator: SeededGenerator
    var record = BankRecord()
    var report = Report()
    /// What the last process still held when all was quiet and it was stopped.
    private(set) var leftovers: [String] = []
    private var process: MortalProcess?
    private var dead: [MortalProcess.Remains] = []
    /// When it starts, or when its end begins.
    private var turn = 0
    /// How probable it is that a request is struck, by each kind of fault, and that a decision is held back.
    private static let weather: [(faults: Double, lateness: Double)] = [
        (0, 0), (0.003, 0.01), (0.01, 0.02), (0.03, 0.05),
    ]

    /// How many processes that have ended still hold memory.
    var undeadCount: Int { self.dead.count { !$0.isReleased } }

    init(world: TroubledWorld, path: String, generator: SeededGenerator) {
        (self.world, self.path, self.generator) = (world, path, generator)
    }

    mutating func changeWeather() async {
        guard let weather = Self.weather.randomElement(using: &self.generator) else { return }
        await self.world.emulator.faults.set(TroubledBank.faults(weather.faults))
        self.world.setLateness(weather.lateness)
    }

    /// A second, in which the process may come or go.
    mutating func pass(_ second: Int) async throws {
        if let process, process.line.isCut {
            await process.kill(in: self.world)
            self.goAway(at: second)
            self.report.killCount += 1
        } else if second >= self.turn {
            try await self.takeTurn(at: second)
        }
        try await self.world.passSecond(of: self.process)
        await self.record.read(self.world.emulator)
    }

    private mutating func takeTurn(at second: Int) async throws {
        guard let process else {
            self.process = try MortalProcess(storeAt: self.path, in: self.world)
            self.turn = second + Int.random(in: 60...400, using: &self.generator)
            return
        }
        if Int.random(in: 0..<6, using: &self.generator) == 0 {
            try await process.stop(in: self.world)
            self.goAway(at: second)
            self.report.stopCount += 1
        } else {
            // At any moment: somewhere in the work of the next seconds.
            process.line.cut(after: Int.random(in: 0...60, using: &self.generator))
            self.turn = .max
        }
    }

    private mutating func goAway(at second: Int) {
        if let process { self.dead.append(process.remains) }
        self.process = nil
        self.turn = second + Int.random(in: 1...15, using: &self.generator)
    }

    /// The trouble ends, and everything comes to its end.
    mutating func end(_ bank: inout TroubledBank) async throws {
        try await bank.calmDown()
        self.world.setLateness(0)
        if let process, !process.line.isCut { process.line.cut() }
        // Long enough for a blocked activation to be asked about, and for what was lost to be made again.
        for second in 0..<700 {
            if second > 20 { self.turn = self.process == nil ? 0 : .max }
            try await self.pass(second)
        }
        guard let process else { return }
        self.leftovers = await process.leftovers
        try await process.stop(in: self.world)
    }
}

extension MortalProcess {
    /// What should not be there when all is quiet: what would grow from day to day.
    fileprivate var leftovers: [String] {
        get async {
            let health = await self.agent.health
            var leftovers: [String] = []
            if health.fleet.decisionsInFlight > 0 { leftovers.append("\(health.fleet.decisionsInFlight) decisions") }
            if self.clock.sleeperCount > 10 { leftovers.append("\(self.clock.sleeperCount) sleepers") }
            return leftovers
        }
    }
}

// MARK: - The table

/// What happened, for people.
private struct EnduranceTable {
    private(set) var text = ""

    mutating func add(_ statuses: [String: String], _ bank: TroubledBank) {
        let names = Set(statuses.values).sorted()
        self.add("operations", names)
        for kind in TroubledBank.Kind.allCases {
            let ids = bank.operations.filter { $0.value.kind == kind }.keys
            self.add("\(kind)", names.map { name in "\(ids.count { statuses[$0] == name })" })
        }
    }

    mutating func add(_ day: Day, receiptResults: [String: Int]) {
        self.add("receipts", receiptResults)
        self.add("faults", day.record.strikes)
        let events = day.world.events
        self.add(
            "process",
            [
                "killed": day.report.killCount, "stopped": day.report.stopCount,
                "lost answers": events.count { if case .unanswered = $0 { true } else { false } },
                "late requests": day.world.lateRequestCount,
            ]
        )
        self.add(
            "bank",
            [
                "requests": day.record.requestCount, "at most in a second": day.world.mostRequestsInASecond,
                "decisions": day.record.decisions.count,
            ]
        )
        self.add("memory, MB", day.report.memory.map { "\($0 >> 20)" })
    }

    private mutating func add(_ title: String, _ counts: [String: Int]) {
        self.add(title, [])
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { self.add("  \(name)", ["\(count)"]) }
    }

    private mutating func add(_ title: String, _ cells: [String]) {
        let padded = ([title.padded(to: 24)] + cells.map { $0.padded(to: 10) }).joined(separator: " ")
        self.text += padded + "\n"
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - self.count))
    }
}
