import EmulatorBackend
import Foundation
import MobileToken
import MobileTokenPostgres
import PowerAuth

/// A bank, a database, a network and some nodes, with all acts of a plan.
///
/// Only its simulator's thread uses it, so it has no lock.
final class World: @unchecked Sendable {
    /// A machine, which runs one process after the other.
    final class Node: @unchecked Sendable {
        let name: String
        let index: Int
        /// The file beside the database, which outlives every process.
        let marks: HighWaterMarks
        var process: Simulator.Process?
        var lives = 0
        var skew = Duration.zero
        var isCut = false
        var stop: (() -> Void)?
        /// The acts that await a moment of its life.
        var fates: [(moment: Plan.Act.Moment, act: () -> Void)] = []
        /// The delay of its next change, in seconds.
        var stall: Int?
        /// The delay of its next lease request, in seconds, during a standby's takeover.
        var leaseStall: Int?
        /// The operations that its fleet shows, by activation.
        var shown: [String: Set<String>] = [:]
        var lists: [String: ShownList] = [:]
        var polled: (@Sendable () async -> [String])?
        var decisionsInFlight: (@Sendable () async -> Int)?
        /// The differences of its lists from the bank's, and unfinished work.
        var differences: [String] = []

        init(_ name: String, _ index: Int, _ marks: HighWaterMarks) {
            self.name = name
            self.index = index
            self.marks = marks
        }
    }

    /// The objects that must be released after a process has ended.
    struct Remains {
        weak var fleet: OperationsFleet?
        weak var agent: ApprovalAgent?
    }

    var requestsPerSecond: Int { self.plan.requestsPerSecond ?? 40 }
    /// The time for which a proxy may hold a request.
    var proxyTimeout: Duration { .seconds(self.plan.proxySeconds ?? 0) }
    static let timeout = Duration.seconds(10)
    /// The time after the trouble in which all work must end.
    static let patience = Duration.seconds(90)
    static let questionExpires = Duration.seconds(30)
    static let questionIsValid = Duration.seconds(20)
    /// The time from a desk's last look to the action.
    static let lookIsGoodFor = Duration.seconds(6)
    static let approvalIsGoodFor = questionIsValid + lookIsGoodFor

    let simulator: Simulator
    let clock: SimulatedClock
    let plan: Plan
    let defect: Defect
    let setting: Setting
    var judge: Judge
    var database: Database
    var questions = QuestionLedger()
    let asker: Asker
    /// When people were struck out of those who may approve.
    var struckOut: [String: Int64] = [:]
    var withdrawn: Set<String> = []
    let sealing: Sealing
    /// The acts due at the end of the step.
    var dueFates: [() -> Void] = []
    /// The lead of the database's clock, in nanoseconds.
    var databaseSkew: Int64 = 0
    /// The end of the time without conclusions from leases: the database went back unnoticed, or its clock was set.
    var leasesTellFrom: Int64 = 0
    /// The database server that answered the last heartbeat: it must have begun an epoch then.
    var heartbeatServer = Database.Server()
    /// The starts of the database's epochs, in correct time.
    var epochStarts: [DatabaseEpoch.Identity: Int64] = [:]
    /// When leases were taken.
    var leaseStarts: [Int64: Int64] = [:]
    /// Indicates whether the next claim of a question meets a withdrawal.
    var withdrawsAtClaim = false
    /// The devices with a started upgrade.
    var upgraded: Set<String> = []
    var backend: Backend
    var draw: Draw
    var chances: Plan.Chances
    var nodes: [Node] = []
    var backups: [Database] = []
    var isDatabaseAway = false
    var isDiskFull = false
    /// The end of the time in which the database refuses outcomes.
    var outcomesFrom: Int64 = 0
    /// The number of payments to be changed as their next decision leaves.
    var amendments = 0
    /// The end of the bank's outage.
    var outageUntil: Int64 = 0
    /// The people whose process dies as their intent is committed.
    var dyingPeople: [Simulator.Process] = []
    /// The people whose phone reaches nobody.
    var cutPeople: [Simulator.Process] = []
    /// The end of the trouble.
    var calmSince = Int64.max
    var lastFlight = 0
    /// A decision that arrives after some responses to outcome requests, or when its time is over.
    struct HeldBack {
        let activationID: String
        var questions: Int
        let arrive: () -> Void
    }

    var heldBack: [Int: HeldBack] = [:]
    static let cloudURL = Setting.baseURL + "/v2/"
    static let statusPath = "/activation/status"
    /// The objects that must be gone in the end.
    var remains: [Remains] = []
    /// The numbers of people's processes, which end by themselves, and of unfinished ones.
    var people = 0
    var busyPeople = 0
    var deviceNames: [String: String] = [:]

    /// Indicates whether the world is ending.
    var isEnding = false
    /// The activations that it currently blocks.
    var blockedNow: Set<String> = []

    private init(_ plan: Plan, _ setting: Setting, _ marks: MarkFiles, defect: Defect) throws {
        self.plan = plan
        self.judge = Judge(plan)
        self.setting = setting
        self.asker = Asker(plan.askers ?? 1)
        self.defect = defect
        self.simulator = Simulator(seed: plan.seed, watchesTasks: true)
        self.clock = SimulatedClock(simulator: self.simulator)
        self.backend = setting.backend
        self.sealing = try Sealing(key: setting.sealingKey)
        self.draw = Draw(seed: plan.seed &+ 0x770)
        self.chances = plan.chances
        var database = Database()
        database.keys = setting.keys
        database.boundsLeases = defect != .endlessLease
        database.closesLimits = defect != .opensAfterRestore
        database.releasesOpen = defect == .unansweredIsReleased
        for row in setting.rows.prefix(plan.devices) { database.rows[row.sealed.activationID] = row }
        self.database = database
        self.judge.wrongFactor = plan.wrongFactor.map { setting.devices[$0].activationID }
        for index in 0..<plan.nodes {
            self.nodes.append(Node("node \(index)", index, try marks.emptied(index)))
        }
        for (index, device) in setting.devices.enumerated() {
            self.deviceNames[device.activationID] = "device \(index)"
        }
        self.simulator.afterStep = { [unowned self] in self.afterStep() }
    }

    /// The bank's date, which is correct.
    var date: Date { Date(timeIntervalSince1970: Double(Simulator.start + self.simulator.now) / 1e9) }

    // MARK: Life

    /// The result of a world.
    struct Result: Sendable {
        var violation: String?
        let steps: Int
        let seconds: Int
        let digest: UInt64
        let counts: [String: Int]
    }

    /// Runs a plan in a thread of its own: a thread keeps nonces that it drew ahead, and the main one has another priority.
    ///
    /// - Parameter prepare: Changes the world before it begins.
    static func run(
        _ plan: Plan,
        _ settings: Settings,
        _ marks: MarkFiles,
        defect: Defect = .none,
        _ prepare: @escaping @Sendable (World) -> Void = { _ in }
    ) throws -> Result {
        let promised = Promised<Result>()
        let thread = Thread {
            promised.keep(
                Swift.Result {
                    let world = try World(plan, settings[plan.release], marks, defect: defect)
                    prepare(world)
                    return world.run()
                }
            )
        }
        thread.stackSize = 8 << 20
        thread.start()
        return try promised.wait()
    }

    /// Runs the plan, and lets all work end.
    private func run() -> Result {
        let foreign = Simulator.foreignJobCount
        for node in self.nodes { self.start(node) }
        if self.plan.entries.contains(where: { $0.act.isQuestion }) {
            self.asker.programs.forEach(self.start)
        }
        self.backUp()
        for entry in self.plan.entries {
            self.simulator.post(to: self.simulator.world, after: .milliseconds(entry.milliseconds)) {
                self.simulator.note("— \(entry.act)")
                self.do(entry.act)
            }
        }
        self.pass(.seconds(self.plan.seconds))
        self.calmDown()
        self.settle()
        self.end()
        if Simulator.foreignJobCount != foreign { self.judge.fail("jobs left the thread") }
        if self.simulator.systemSleepCount > 0 { self.judge.fail("somebody slept by the system's clock") }
        // Dead processes keep the world alive, so its bank and database data are released.
        defer {
            self.simulator.end()
            (self.backups, self.database, self.backend) = ([], Database(), self.setting.backend)
        }
        return Result(
            violation: self.judge.violation,
            steps: self.simulator.stepCount,
            seconds: Int(self.simulator.now / 1_000_000_000),
            digest: self.simulator.digest,
            counts: self.judge.counts
        )
    }

    func pass(_ duration: Duration) {
        self.runUntil(duration) { false }
    }

    /// Runs until a condition holds, at most for `duration`.
    ///
    /// - Returns: `true` if it holds at the end.
    @discardableResult
    func runUntil(_ duration: Duration, _ isDone: @escaping () -> Bool) -> Bool {
        let end = self.simulator.now + duration.nanoseconds
        var isOver = false
        self.simulator.post(to: self.simulator.world, after: duration) { isOver = true }
        let outcome = self.simulator.run(maximumSteps: 3_000_000) {
            self.judge.violation != nil || isOver || self.simulator.now > end || isDone()
        }
        if outcome == .outOfSteps { self.judge.fail("three million steps, and no end") }
        if outcome == .deadlock { self.judge.fail("a deadlock, of \(self.simulator.livingTasks)") }
        return isDone()
    }

    func afterStep() {
        for node in self.nodes where !node.fates.isEmpty && node.process == self.simulator.lastProcess {
            for (index, fate) in node.fates.enumerated().reversed() {
                guard case .steps(let left) = fate.moment else { continue }
                node.fates[index].moment = .steps(left - 1)
                if left <= 0 { self.dueFates.append(node.fates.remove(at: index).act) }
            }
        }
        for asker in self.asker.programs where asker.process == self.simulator.lastProcess && !asker.fates.isEmpty {
            for (index, fate) in asker.fates.enumerated().reversed() {
                guard case .steps(let left) = fate.moment else { continue }
                asker.fates[index].moment = .steps(left - 1)
                if left <= 0 { self.dueFates.append(asker.fates.remove(at: index).act) }
            }
        }
        guard !self.dueFates.isEmpty else { return }
        let due = self.dueFates
        self.dueFates = []
        for act in due { act() }
    }

    /// Handles a process's moment.
    func reached(_ moment: Plan.Act.Moment, _ process: Simulator.Process) {
        if moment == .intent, self.dyingPeople.contains(process) { self.dueFates.append { self.killPerson(process) } }
        guard let node = self.nodes.first(where: { $0.process == process }),
            let index = node.fates.firstIndex(where: { $0.moment == moment })
        else { return }
        self.dueFates.append(node.fates.remove(at: index).act)
    }

    /// Handles a moment of a program that asks.
    func reached(_ moment: Plan.AskerMoment, _ process: Int) {
        guard let asker = self.asker.programs.first(where: { $0.process?.index == process }),
            let index = asker.fates.firstIndex(where: { $0.moment == moment })
        else { return }
        self.dueFates.append(asker.fates.remove(at: index).act)
    }

    func backUp() {
        // A backup costs the next change a copy of all receipts.
        if self.plan.restores { self.backups.append(self.database) }
        if self.backups.count > 40 { self.backups.removeFirst() }
        self.simulator.post(to: self.simulator.world, after: .seconds(1)) { self.backUp() }
    }

    // MARK: Acts

    func `do`(_ act: Plan.Act) {
        switch act {
        case .make(let kind, let device): self.make(kind, device)
        case .cancel: self.cancel()
        case .block(let device, let seconds): self.block(device, seconds)
        case .decideByHand(let device): self.decideByHand(device)
        case .mistype(let device): self.mistype(device)
        case .pause(let seconds): self.pause(seconds)
        case .kill(let node, let moment, let seconds): self.kill(self.nodes[node], moment, seconds)
        case .stop(let node, let seconds): self.stop(self.nodes[node], seconds)
        case .freeze(let node, let moment, let seconds):
            let node = self.nodes[node]
            node.fates.append((moment, { self.freeze(node, seconds) }))
        case .stall(let node, let seconds): self.nodes[node].stall = seconds
        case .promoteAtLease(let node, let seconds): self.nodes[node].leaseStall = seconds
        case .promote(let node, let moment, let seconds):
            let node = self.nodes[node]
            node.fates.append(
                (
                    moment,
                    {
                        self.promoteStandby()
                        self.freeze(node, seconds)
                    }
                )
            )
        case .setDatabaseClock(let seconds):
            self.databaseSkew += Int64(seconds) * 1_000_000_000
            // Set back, it ends no lease early.
            guard seconds > 0 else { break }
            self.leasesTellNothing()
            for device in self.setting.devices { self.judge.allowFailure(of: device.activationID) }
        case .upgrade(let device): self.upgrade(device)
        case .makeToken(let device, let isStrong): self.makeToken(device, isStrong)
        case .ask(let device): self.ask(device)
        case .strikeOut(let device): self.strikeOut(device)
        case .withdraw: self.withdraw()
        case .killAsker(let moment, let seconds): self.plan(moment) { self.kill($0, seconds) }
        case .cutAsker(let moment, let seconds): self.plan(moment) { self.cut($0, seconds) }
        case .freezeAsker(let moment, let seconds): self.plan(moment) { self.freeze($0, seconds) }
        case .starve(let node, let seconds): self.starve(self.nodes[node], seconds)
        case .cut(let node, let seconds):
            self.nodes[node].isCut = true
            self.after(seconds) { self.nodes[node].isCut = false }
        case .setClock(let node, let seconds): self.setClock(self.nodes[node], seconds)
        case .stopDatabase(let seconds):
            self.isDatabaseAway = true
            self.after(seconds) { self.isDatabaseAway = false }
        case .fillDisk(let seconds):
            self.isDiskFull = true
            self.after(seconds) { self.isDiskFull = false }
        case .goBack(let seconds, let isPromotion):
            self.goBack(seconds) { server in
                if isPromotion { server.timeline += 1 }
                server.breaks += 1
            }
        case .replaceServer(let seconds): self.goBack(seconds) { $0.identifier += 1 }
        case .replaceServerAt(let node, let moment, let seconds):
            let node = self.nodes[node]
            node.fates.append(
                (
                    moment,
                    {
                        self.simulator.note("— another server takes over")
                        self.goBack(1) { $0.identifier += 1 }
                        self.freeze(node, seconds)
                    }
                )
            )
        case .outage(let seconds): self.outageUntil = self.simulator.now + Int64(seconds) * 1_000_000_000
        case .look(let device, let seconds): self.look(device, seconds)
        case .change: self.change()
        case .amend: self.amendments += 1
        case .refuseOutcomes(let seconds): self.outcomesFrom = self.simulator.now + Int64(seconds) * 1_000_000_000
        case .putBackRow(let device, let seconds): self.putBackRow(self.setting.devices[device].activationID, seconds)
        }
    }

    func after(_ seconds: Int, _ body: @escaping () -> Void) {
        self.simulator.post(to: self.simulator.world, after: .seconds(seconds), body)
    }
}

extension Plan.Act {
    fileprivate var isQuestion: Bool { if case .ask = self { true } else { false } }
}
