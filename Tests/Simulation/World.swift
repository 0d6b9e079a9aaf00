import Basics
import CloudCalls
import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import Glibc
import HTTPClientTransport
import MobileToken
import MobileTokenApprovals
import MobileTokenCloud
import MobileTokenPostgres
import PowerAuth

/// A bank, a database, a network and some nodes, with all that a plan does to them.
///
/// It is used in the thread of its simulator alone, which is why it has no lock.
final class World: @unchecked Sendable {
    /// A machine, on which one process after the other runs.
    final class Node: @unchecked Sendable {
        let name: String
        let index: Int
        /// The file beside the database, which outlives every process.
        let marks: HighWaterMarks
        fileprivate(set) var process: Simulator.Process?
        fileprivate var lives = 0
        fileprivate var skew = Duration.zero
        fileprivate var isCut = false
        fileprivate var stop: (() -> Void)?
        /// The acts that await a moment of its life.
        fileprivate var fates: [(moment: Plan.Act.Moment, act: () -> Void)] = []
        /// For how many seconds its next change is under way.
        fileprivate var stall: Int?
        /// The seconds that asking for its next lease takes, while a standby takes over.
        fileprivate var leaseStall: Int?
        /// The operations that its fleet shows, by activation.
        fileprivate var shown: [String: Set<String>] = [:]
        fileprivate var polled: (@Sendable () async -> [String])?
        fileprivate var decisionsInFlight: (@Sendable () async -> Int)?
        /// The differences of its lists from the bank's, and the work that is not done.
        fileprivate var differences: [String] = []

        init(_ name: String, _ index: Int, _ marks: HighWaterMarks) {
            self.name = name
            self.index = index
            self.marks = marks
        }
    }

    /// The objects that are released when a process has ended.
    private struct Remains {
        weak var fleet: OperationsFleet?
        weak var agent: ApprovalAgent?
    }

    static let requestsPerSecond = 40
    static let timeout = Duration.seconds(10)
    /// The time after the trouble in which everything must come to its end.
    private static let patience = Duration.seconds(90)
    private static let questionExpires = Duration.seconds(30)
    private static let questionIsValid = Duration.seconds(20)

    let simulator: Simulator
    let clock: SimulatedClock
    let plan: Plan
    let defect: Defect
    let setting: Setting
    var judge = Judge()
    private(set) var database: Database
    var questions = QuestionLedger()
    private let asker = Asker()
    private let sealing: Sealing
    /// The acts that are due when the step is over.
    private var dueFates: [() -> Void] = []
    /// By how many nanoseconds the database's clock is ahead.
    private var databaseSkew: Int64 = 0
    /// Until when leases tell nothing: the database went back unseen, or its clock was set.
    private var leasesTellFrom: Int64 = 0
    /// The server of the database that answered the last heartbeat: it must have begun an epoch then.
    private var heartbeatServer = Database.Server()
    /// When each epoch of the database began, by the right time.
    private var epochStarts: [DatabaseEpoch.Identity: Int64] = [:]
    /// The devices whose keys the database has lost.
    private var lostDevices: Set<String> = []
    /// The devices whose upgrade has begun.
    private var upgraded: Set<String> = []
    private var backend: Backend
    private var draw: Draw
    private var chances: Plan.Chances
    private var nodes: [Node] = []
    private var backups: [Database] = []
    private var isDatabaseAway = false
    private var isDiskFull = false
    private var isCalm = false
    private var lastFlight = 0
    /// A decision that arrives after so many more answers to questions about what became of it, or when its time is over.
    private struct HeldBack {
        let activationID: String
        var questions: Int
        let arrive: () -> Void
    }

    private var heldBack: [Int: HeldBack] = [:]
    private static let statusPath = "/activation/status"
    /// The objects that must be gone in the end.
    private var remains: [Remains] = []
    /// Processes of people, which end by themselves, and those that have not yet.
    private var people = 0
    private var busyPeople = 0
    private var deviceNames: [String: String] = [:]

    init(_ plan: Plan, _ setting: Setting, _ marks: MarkFiles, defect: Defect = .none) throws {
        self.plan = plan
        self.setting = setting
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
        for row in setting.rows.prefix(plan.devices) { database.rows[row.sealed.activationID] = row }
        self.database = database
        for index in 0..<plan.nodes {
            self.nodes.append(Node("node \(index)", index, try marks.emptied(index)))
        }
        for (index, device) in setting.devices.enumerated() {
            self.deviceNames[device.activationID] = "device \(index)"
        }
        self.simulator.afterStep = { [unowned self] in self.afterStep() }
    }

    /// The bank's date, which is right.
    private var date: Date { Date(timeIntervalSince1970: Double(Simulator.start + self.simulator.now) / 1e9) }

    // MARK: Life

    /// The result of a world.
    struct Result {
        var violation: String?
        let steps: Int
        let seconds: Int
        let digest: UInt64
        let counts: [String: Int]
    }

    /// Lives through the plan, and brings everything to its end.
    func run() -> Result {
        let foreign = Simulator.foreignJobCount
        for node in self.nodes { self.start(node) }
        if self.plan.entries.contains(where: { $0.act.isQuestion }) { self.startAsker() }
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
        // Dead processes keep the world alive; what it holds of the bank and the database goes.
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

    private func pass(_ duration: Duration) {
        self.runUntil(duration) { false }
    }

    /// Runs until a condition holds, for so long at most.
    ///
    /// - Returns: `true` if it holds at the end.
    @discardableResult
    private func runUntil(_ duration: Duration, _ isDone: @escaping () -> Bool) -> Bool {
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

    private func afterStep() {
        for node in self.nodes where !node.fates.isEmpty && node.process == self.simulator.lastProcess {
            for (index, fate) in node.fates.enumerated().reversed() {
                guard case .steps(let left) = fate.moment else { continue }
                node.fates[index].moment = .steps(left - 1)
                if left <= 0 { self.dueFates.append(node.fates.remove(at: index).act) }
            }
        }
        if let left = self.asker.stepsToDeath, self.asker.process == self.simulator.lastProcess {
            self.asker.stepsToDeath = left - 1
            if left <= 0 { self.dueFates.append { self.killAsker() } }
        }
        guard !self.dueFates.isEmpty else { return }
        let due = self.dueFates
        self.dueFates = []
        for act in due { act() }
    }

    /// A process came to a moment of its life.
    private func reached(_ moment: Plan.Act.Moment, _ process: Simulator.Process) {
        guard let node = self.nodes.first(where: { $0.process == process }),
            let index = node.fates.firstIndex(where: { $0.moment == moment })
        else { return }
        self.dueFates.append(node.fates.remove(at: index).act)
    }

    private func backUp() {
        self.backups.append(self.database)
        if self.backups.count > 40 { self.backups.removeFirst() }
        self.simulator.post(to: self.simulator.world, after: .seconds(1)) { self.backUp() }
    }

    // MARK: What is done to it

    private func `do`(_ act: Plan.Act) {
        switch act {
        case .make(let kind, let device): self.make(kind, device)
        case .cancel: self.cancel()
        case .block(let device, let seconds): self.block(device, seconds)
        case .decideByHand(let device): self.decideByHand(device)
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
        case .killAsker(let moment, let seconds):
            self.asker.restartsAfter = seconds
            switch moment {
            case .steps(let count): self.asker.stepsToDeath = count
            case .action: self.asker.diesInAction = true
            }
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
        case .putBackRow(let device, let seconds): self.putBackRow(self.setting.devices[device].activationID, seconds)
        }
    }

    private func after(_ seconds: Int, _ body: @escaping () -> Void) {
        self.simulator.post(to: self.simulator.world, after: .seconds(seconds), body)
    }

    private func goBack(_ seconds: Int, _ change: (inout Database.Server) -> Void) {
        let now = self.database
        guard let backup = self.backup(seconds) else { return }
        self.database = backup
        self.database.server = now.server
        change(&self.database.server)
        // The pause is asked for by people, who would ask again.
        self.database.pause = now.pause
        self.backups = [self.database]
        // A timeline is looked at by each change, and a server by each heartbeat.
        if !self.database.server.isOther(than: now.server) { self.leasesTellNothing() }
        // Another server is noticed by the next heartbeat: until then it is a backup that nobody noticed.
        let isNoticed = self.database.server.identifier != now.server.identifier
        let limit = isNoticed ? self.simulator.now + 2 * Database.lifetime : nil
        self.judge.wentBack()
        // A process that signs from an older state may do so once in vain.
        for (id, row) in backup.rows { self.rowWentBack(from: now.rows[id], to: row, failsUntil: limit) }
    }

    /// A standby that lacks the last second takes over.
    private func promoteStandby() {
        self.simulator.note("— a standby takes over")
        self.goBack(1) { server in
            server.timeline += 1
            server.breaks += 1
        }
    }

    private func backup(_ seconds: Int) -> Database? { self.backups.dropLast(seconds).last ?? self.backups.first }

    private func putBackRow(_ id: String, _ seconds: Int) {
        guard let now = self.database.rows[id], var row = self.backup(seconds)?.rows[id] else { return }
        row.holder = now.holder
        self.database.rows[id] = row
        self.rowWentBack(from: now, to: row)
    }

    /// - Parameter limit: The end of the time in which somebody may have signed from the older state; `nil` for no end.
    private func rowWentBack(from now: LoadedRow?, to row: LoadedRow, failsUntil limit: Int64? = nil) {
        let id = row.sealed.activationID
        guard now?.tag != row.tag, let old = try? self.sealing.open(row.sealed) else { return }
        self.judge.wentBack(id, to: old.counterMoves, failsUntil: limit)
        // The keys of version 4 are lost, and the server has no others: such an activation has to be made anew.
        guard old.version4 == nil, let now, (try? self.sealing.open(now.sealed))?.version4 != nil else { return }
        self.judge.count("activations lost with the database")
        self.simulator.note("the database lost the keys of \(self.deviceNames[id] ?? "")")
        self.lostDevices.insert(id)
    }

    private func leasesTellNothing() { self.leasesTellFrom = self.simulator.now + 2 * Database.lifetime }

    /// A node took over an activation from one that did not give it back: that may cost it one failed attempt.
    func tookOver(_ activationID: String) {
        self.judge.count("unclean takeovers")
        self.judge.allowFailure(of: activationID)
    }

    // MARK: Nodes

    private func start(_ node: Node) {
        node.lives += 1
        let process = self.simulator.makeProcess("\(node.name)\(node.lives > 1 ? ", life \(node.lives)" : "")")
        node.process = process
        self.simulator.setSkew(node.skew, of: process)
        self.simulator.spawn(in: process) { await self.live(node, process) }
    }

    private func live(_ node: Node, _ process: Simulator.Process) async {
        let driver = SimulatedDriver(node, in: self)
        do {
            let (client, store) = try self.client(driver, isAutomatic: true)
            var configuration = OperationsFleet.Configuration()
            configuration.pollInterval = .seconds(5)
            configuration.limits.requestsPerSecond = Double(Self.requestsPerSecond)
            let membership = PostgresFleetMembership(
                store,
                node: driver.rights,
                buckets: driver.database,
                lists: driver.database,
                clock: ServiceClock(self.clock)
            )
            configuration.membership =
                self.plan.sharesLists == true ? membership : SilentMembership(membership: membership)
            let fleet = client.fleet(configuration: configuration)
            let agent = ApprovalAgent(
                fleet: fleet,
                factors: { activation in try await self.factor(of: activation) },
                policy: { review in
                    let verdict = self.defect == .approvesAll ? .approve : Self.verdict(review)
                    self.judge.reviewed(review, verdict)
                    return verdict
                }
            )
            let events = agent.events()
            let reading = Task { for await event in events { self.heard(event) } }
            let listEvents = fleet.events()
            let watching = Task { for await event in listEvents { node.show(event) } }
            node.shown = [:]
            node.polled = { await fleet.activationIDs }
            node.decisionsInFlight = { await fleet.health.decisionsInFlight }
            let running = Task { try await agent.run() }
            node.stop = { running.cancel() }
            let result = await running.result
            await reading.value
            watching.cancel()
            await watching.value
            await client.shutdown()
            await store.close()
            self.remains.append(Remains(fleet: fleet, agent: agent))
            if case .failure(let error) = result { self.simulator.note("the agent ended: \(error)") }
        } catch {
            self.simulator.note("the process ended: \(error)")
        }
        self.ended(node, process)
    }

    /// A process returned from its `main`: nothing of it is left.
    private func ended(_ node: Node, _ process: Simulator.Process) {
        self.simulator.note("ends")
        guard node.process == process else { return }
        node.forget()  // it keeps tasks that have ended
        self.simulator.post(to: self.simulator.world) {
            let living = self.simulator.livingTasks(of: process)
            if self.isEnding, !living.isEmpty { self.judge.fail("a process left tasks behind: \(living)") }
            self.simulator.kill(process)
            guard node.process == process else { return }
            node.process = nil
            // As a service manager does.
            self.restart(node, 3)
        }
    }

    private var isEnding = false
    private var blockedDevices: Set<Int> = []
    private var blockedNow: Set<String> = []

    private func restart(_ node: Node, _ seconds: Int) {
        self.after(seconds) { if node.process == nil, !self.isEnding { self.start(node) } }
    }

    private static func verdict(_ review: OperationReview) -> ApprovalAgent.Verdict {
        switch review.operation.name {
        case "login", "deploy", "trap": return .approve
        case "login_1FA": return .reject(.unexpectedOperation)
        default:
            guard let total = review.total(in: "CZK"), total > 0, total <= 50 else { return .leave }
            return .approve
        }
    }

    private func factor(of activation: Activation) async throws -> Authentication.UnlockedFactor {
        let id = activation.activationID
        guard let device = self.setting.devices.first(where: { $0.activationID == id }) else {
            throw MobileTokenError(.unknownActivation, "not of this world")
        }
        // Derived here and now only where it may be another one.
        guard self.upgraded.contains(id) else { return device.factor }
        return try await activation.unlockKnowledge(password: Setting.password)
    }

    private func client(
        _ driver: SimulatedDriver,
        isAutomatic: Bool
    ) throws -> (MobileTokenClient, ActivationStore) {
        let store = ActivationStore(
            driver,
            name: "world",
            keys: SealingKeys(current: .closure { [setting] in setting.sealingKey }),
            clock: self.clock
        )
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.transport = SimulatedTransport(world: self, isAutomatic: isAutomatic)
        configuration.timeout = Self.timeout
        configuration.clock = self.clock
        // Nothing is shared with other processes, which may die while they have its turn.
        configuration.derivations = DerivationQueue(limit: 2)
        let client = try MobileTokenClient(
            baseURL: Setting.baseURL,
            sdkConfiguration: self.setting.sdkConfiguration,
            configuration: configuration
        )
        return (client, store)
    }

    private func heard(_ event: ApprovalAgent.Event) {
        let subject = event.operation.map { self.judge.name(of: $0.id) } ?? self.deviceNames[event.activationID] ?? ""
        self.simulator.note("\(subject): \(event.kind)")
        self.judge.heard(event)
    }

    private func kill(_ node: Node, _ moment: Plan.Act.Moment, _ seconds: Int) {
        node.fates.append(
            (
                moment,
                {
                    guard let process = node.process else { return }
                    self.simulator.act(as: process) { self.simulator.note("is killed") }
                    self.judge.count("processes killed")
                    self.simulator.kill(process)
                    node.process = nil
                    node.forget()
                    self.restart(node, seconds)
                }
            )
        )
    }

    private func freeze(_ node: Node, _ seconds: Int) {
        guard let process = node.process else { return }
        self.simulator.act(as: process) { self.simulator.note("is frozen") }
        self.judge.count("processes frozen")
        self.simulator.freeze(process, true)
        self.after(seconds) {
            self.simulator.act(as: process) { self.simulator.note("is thawed") }
            self.simulator.freeze(process, false)
        }
    }

    private func starve(_ node: Node, _ seconds: Int) {
        guard let process = node.process else { return }
        self.simulator.setWeight(0, of: process)
        self.after(seconds) { self.simulator.setWeight(1, of: process) }
    }

    private func setClock(_ node: Node, _ seconds: Int) {
        node.skew = .seconds(seconds)
        if let process = node.process { self.simulator.setSkew(node.skew, of: process) }
    }

    private func stop(_ node: Node, _ seconds: Int) {
        guard let process = node.process, let stop = node.stop else { return }
        self.simulator.post(to: process) {
            self.simulator.note("is asked to end")
            stop()
        }
        // The time of grace that a service manager gives.
        self.after(60 + seconds) {
            guard node.process == process else { return }
            self.simulator.kill(process)
            node.process = nil
            node.forget()
            self.restart(node, 1)
        }
    }

    private func pause(_ seconds: Int) {
        self.database.pause = DecisionPause(date: self.date, reason: "simulated")
        self.after(seconds) { self.database.pause = nil }
    }

    // MARK: People

    private func decideByHand(_ index: Int) {
        self.asPerson(index) { client, activation in
            let service = client.operations(of: activation)
            guard let operation = try await service.operations().first else { return }
            let name = self.judge.name(of: operation.id)
            self.judge.takenInHand(operation.id)
            self.simulator.note("approves \(name)")
            var factors = Authentication.possession
            if !operation.allows(.possession) {
                factors = .possessionAndKnowledge(unlocked: try await self.factor(of: activation))
            }
            try await service.authorize(operation, with: factors)
            self.simulator.note("has approved \(name)")
        }
    }

    private func upgrade(_ index: Int) {
        self.backend.protocolRules.upgradeOffers = [Setting.applicationID]
        self.upgraded.insert(self.setting.devices[index].activationID)
        self.asPerson(index, attempts: 10) { _, activation in
            let password = SecretBytes(copying: Array(Setting.password.utf8))
            // The suite that every supported OpenSSL has.
            try await activation.upgrade(password: password, suite: .p384)
            self.judge.count("upgrades")
            self.simulator.note("has upgraded device \(index)")
        }
    }

    private func makeToken(_ index: Int, _ isStrong: Bool) {
        self.asPerson(index) { _, activation in
            let factors: Authentication =
                isStrong ? .possessionAndKnowledge(unlocked: try await self.factor(of: activation)) : .possession
            try await activation.requestToken("statements", with: factors)
            self.judge.count("tokens asked for")
            self.simulator.note("has a token of \(isStrong ? "two factors" : "one factor")")
        }
    }

    /// Does something with a device, in a process of its own.
    private func asPerson(
        _ index: Int,
        attempts: Int = 1,
        _ body: @escaping @Sendable (MobileTokenClient, Activation) async throws -> Void
    ) {
        self.people += 1
        self.busyPeople += 1
        let process = self.simulator.makeProcess("person \(self.people)")
        let node = Node("person \(self.people)", -1, self.nodes[0].marks)
        let device = self.setting.devices[index]
        self.simulator.spawn(in: process) {
            do {
                let (client, store) = try self.client(SimulatedDriver(node, in: self), isAutomatic: false)
                for attempt in 1...attempts {
                    do {
                        try await body(client, try await client.activation(id: device.activationID))
                        break
                    } catch {
                        self.simulator.note("attempt \(attempt) failed: \(error)")
                        if attempt == attempts { break }
                        try? await self.clock.sleep(for: .seconds(5))
                    }
                }
                await client.shutdown()
                await store.close()
            } catch {
                self.simulator.note("cannot begin: \(error)")
            }
            self.busyPeople -= 1
        }
    }

    // MARK: The bank

    private func cloud(_ method: String, _ path: String, _ body: JSONValue? = nil) -> Reply {
        var request = ReceivedRequest(method: method, path: path, headers: [("Content-Type", "application/json")])
        request.body = body?.serialized() ?? []
        let reply = self.backend.reply(to: request, from: .process, at: self.date)
        self.note(reply.events)
        return reply
    }

    private func make(_ kind: Plan.Kind, _ device: Int) {
        var body: JSONObject = [
            "template": .string(kind.template), "userId": .string(self.setting.devices[device].user),
        ]
        if let amount = kind.amount { body["parameters"] = ["amount": .string(amount)] }
        let reply = self.cloud("POST", "/v2/operations", .object(body))
        guard let id = (try? JSONValue(parsing: reply.body))?["operationId"]?.string else {
            return self.judge.fail("the bank made no operation: \(reply.verdict)")
        }
        let name = self.judge.made(id, kind, device: device, at: self.simulator.now)
        self.simulator.note("the bank made \(name)")
    }

    private func cancel() {
        let pending = self.judge.operations.filter(\.value.isPending).keys.sorted()
        guard let id = self.draw.element(of: pending) else { return }
        _ = self.cloud("DELETE", "/v2/operations/\(id)")
    }

    private func block(_ index: Int, _ seconds: Int) {
        let id = self.setting.devices[index].activationID
        self.blockedDevices.insert(index)
        self.blockedNow.insert(id)
        _ = try? self.backend.administer(.block(activationID: id), at: self.date)
        self.after(seconds) { self.unblock(id) }
    }

    /// An activation is blocked by the bank alone.
    private func checkBlocked(_ id: String) {
        guard self.backend.state.activations[id]?.status == .blocked, !self.blockedNow.contains(id) else { return }
        self.judge.fail("\(self.deviceNames[id] ?? "") is blocked, and not by the bank")
    }

    private func unblock(_ id: String) {
        self.blockedNow.remove(id)
        guard self.backend.state.activations[id]?.status == .blocked else { return }
        _ = try? self.backend.administer(.unblock(activationID: id), at: self.date)
        self.judge.failuresWereCleared(of: id)
    }

    private func note(_ events: [BackendEvent]) {
        for event in events where event.subject == .operation && event.status != "PENDING" {
            self.judge.ended(event.id, as: event.status ?? "", at: self.simulator.now)
            self.simulator.note("\(self.judge.name(of: event.id)) is \(event.status ?? "")")
        }
    }

    // MARK: The network

    fileprivate func send(
        _ request: HTTPRequest,
        isAutomatic: Bool,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        let process = self.simulator.currentProcess
        self.lastFlight += 1
        let flight = Judge.Flight(request, id: self.lastFlight, process: process.index, isAutomatic: isAutomatic)
        let timeout = request.timeout ?? Self.timeout
        let begun = self.simulator.now
        if self.defect == .permitAfterCounter, flight.signature != nil {
            var later = request
            later.notAfter = nil
            _ = self.simulator.post(to: process, after: self.draw.duration(.zero ... .seconds(9))) {
                self.connect(later, flight, process, begun: self.simulator.now, timeout, wake)
            }
            return
        }
        self.connect(request, flight, process, begun: begun, timeout, wake)
    }

    private func connect(
        _ request: HTTPRequest,
        _ flight: Judge.Flight,
        _ process: Simulator.Process,
        begun: Int64,
        _ timeout: Duration,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        _ = self.simulator.post(to: process, after: timeout) { wake(.failure(HTTPTransportError(.timeout))) }
        let connecting = self.draw.happens(0.05) ? self.draw.duration(.zero ... .seconds(4)) : .milliseconds(1)
        guard !self.isCut(process) else {
            self.simulator.post(to: process, after: connecting) {
                wake(.failure(HTTPTransportError(.connectionFailed)))
            }
            return
        }
        self.simulator.post(to: process, after: connecting) {
            // The last moment before the first byte, in the process: a frozen one sends nothing.
            guard self.simulator.now - begun < timeout.nanoseconds else { return }
            let looks = self.defect != .sendsTooLate && self.defect != .noCheckAfterThaw
            if let end = request.notAfter, end <= .now, looks {
                return wake(.failure(HTTPTransportError(.tooLate)))
            }
            self.leave(
                request,
                flight,
                process,
                arrivesWithin: timeout - .nanoseconds(self.simulator.now - begun),
                wake
            )
        }
    }

    private func isCut(_ process: Simulator.Process) -> Bool {
        self.nodes.contains { $0.process == process && $0.isCut }
    }

    /// The request is on its way, whatever becomes of its sender.
    private func leave(
        _ request: HTTPRequest,
        _ flight: Judge.Flight,
        _ process: Simulator.Process,
        arrivesWithin limit: Duration,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        var flight = flight
        if let activationID = flight.activationID {
            flight.commit = self.judge.lastCommit(of: process.index, activationID)
            self.checkRight(flight, activationID)
        }
        self.judge.left(flight, limit: Self.requestsPerSecond, at: self.simulator.now)
        let chances = self.chances
        if flight.decision != nil { self.reached(.sending, process) }
        if let decision = flight.decision {
            let verb = decision.isApproval ? "approval" : "rejection"
            self.simulator.note("sends the \(verb) of \(self.judge.name(of: decision.operationID))")
        }
        if self.draw.happens(chances.requestLost) {
            self.judge.count("requests lost")
            self.tell("a request is lost", flight)
            self.judge.landed(flight.id)
            self.simulator.post(to: process, after: self.draw.duration(.milliseconds(5) ... .seconds(2))) {
                wake(.failure(HTTPTransportError(.connectionLost)))
            }
            return
        }
        if self.draw.happens(chances.proxyPage), self.draw.happens(0.5) {
            self.tell("a proxy answers", flight)
            self.judge.landed(flight.id)
            return self.answer(self.proxyPage(), to: process, wake)
        }
        var travel = self.draw.duration(.milliseconds(2) ... .milliseconds(80))
        var questions: Int?
        if self.draw.happens(chances.late) {
            self.judge.count("late requests")
            self.tell("a request is held back", flight)
            travel = self.draw.duration(.seconds(1) ... .seconds(10))
            flight.isLate = true
            if flight.decision != nil, self.draw.happens(0.5) { questions = 1 + self.draw.below(3) }
            if questions != nil || self.draw.happens(0.5) {
                self.simulator.post(to: process, after: .milliseconds(300)) {
                    wake(.failure(HTTPTransportError(.connectionLost)))
                }
            }
        }
        travel = min(travel, limit)
        let isDoubled = self.draw.happens(chances.doubled)
        if self.defect == .answersBeforeServer, flight.decision != nil {
            wake(.success(HTTPResponse(status: 200, headers: [:], body: Array(#"{"status":"OK"}"#.utf8))))
        }
        let arrive = { [flight] in
            var reply = self.arrive(request, flight, isCopy: false)
            if isDoubled {
                self.judge.count("doubled requests")
                self.tell("a request arrives twice", flight)
                let second = self.arrive(request, flight, isCopy: true)
                if self.draw.happens(0.5) { reply = second }
            }
            self.judge.landed(flight.id)
            if flight.decision != nil { self.reached(.answer, process) }
            if request.url.hasSuffix(Self.statusPath) { self.reached(.question, process) }
            if self.draw.happens(chances.responseLost) {
                self.judge.count("responses lost")
                self.tell("a response is lost", flight)
                self.simulator.post(to: process, after: self.draw.duration(.milliseconds(5) ... .seconds(2))) {
                    wake(.failure(HTTPTransportError(.connectionLost)))
                }
            } else if self.draw.happens(chances.proxyPage), self.draw.happens(0.5) {
                self.tell("a proxy puts a page in the place of the response", flight)
                self.answer(self.proxyPage(), to: process, wake)
            } else {
                self.answer(HTTPResponse(reply), to: process, wake)
            }
        }
        guard let questions, let activationID = flight.activationID else {
            self.simulator.post(to: self.simulator.world, after: travel, arrive)
            return
        }
        self.heldBack[flight.id] = HeldBack(activationID: activationID, questions: questions, arrive: arrive)
        self.simulator.post(to: self.simulator.world, after: travel) { [id = flight.id] in
            self.heldBack.removeValue(forKey: id)?.arrive()
        }
    }

    /// Lets decisions arrive right after the answer to a question about what became of them.
    private func deliverHeldBack(after request: HTTPRequest, _ reply: Reply) {
        guard request.url.hasSuffix(Self.statusPath) || request.url.hasSuffix("/operation/detail") else { return }
        for (id, held) in self.heldBack.sorted(by: { $0.key < $1.key }) where held.activationID == reply.activationID {
            self.heldBack[id]?.questions -= 1
            guard held.questions == 1, let due = self.heldBack.removeValue(forKey: id) else { continue }
            self.simulator.post(to: self.simulator.world, after: .zero, due.arrive)
        }
    }

    private func tell(_ what: String, _ flight: Judge.Flight) {
        let subject = flight.decision.map { " (of \(self.judge.name(of: $0.operationID)))" } ?? ""
        self.simulator.note(what + subject)
    }

    private func arrive(_ request: HTTPRequest, _ flight: Judge.Flight, isCopy: Bool) -> Reply {
        let isCloud = request.url.hasPrefix(Setting.baseURL + "/v2/")
        let reply =
            isCloud
            ? self.backend.reply(to: ReceivedRequest(request), from: .process, at: self.date)
            : self.backend.reply(to: ReceivedRequest(request), at: self.date)
        if isCloud { self.noteQuestion(request, reply) }
        self.judge.answered(flight, reply, isCopy: isCopy, at: self.simulator.now)
        if let id = reply.activationID, flight.signature != nil { self.checkBlocked(id) }
        self.note(reply.events)
        self.deliverHeldBack(after: request, reply)
        if case .refused(let reason) = reply.verdict { self.tell("the bank refuses: \(reason)", flight) }
        return reply
    }

    /// Notes that the asker has had an operation made.
    private func noteQuestion(_ request: HTTPRequest, _ reply: Reply) {
        guard request.method == .post, request.url == Setting.baseURL + "/v2/operations", reply.status == 200,
            let json = try? JSONValue(parsing: reply.body), let id = json["operationId"]?.string,
            let device = self.setting.devices.firstIndex(where: { $0.user == json["userId"]?.string })
        else { return }
        let name = self.judge.made(id, .question, device: device, at: self.simulator.now)
        self.simulator.note("the bank made \(name)")
    }

    /// Nothing that is signed leaves under a right that is another's, or anybody's by now.
    private func checkRight(_ flight: Judge.Flight, _ id: String) {
        guard let commit = flight.commit, let fence = commit.fence, self.simulator.now >= self.leasesTellFrom,
            [self.database.epoch.server, self.heartbeatServer].contains(where: {
                !self.database.server.isOther(than: $0)
            })
        else { return }
        let now = self.databaseNow
        if let holder = self.database.rows[id]?.holder, holder != fence, let other = self.database.nodes[holder],
            other.expires > now
        {
            self.judge.fail("a signature of \(self.deviceNames[id] ?? "") leaves, and \(other.name) may sign by now")
        }
        // An epoch takes leases away before they are over.
        guard commit.epoch == self.database.epoch else { return }
        if self.database.nodes[fence].map({ $0.expires <= now }) ?? true {
            self.judge.fail("a signature of \(self.deviceNames[id] ?? "") leaves, and its node's lease is over")
        }
    }

    private var databaseNow: Int64 { self.simulator.now + 100_000_000_000_000 + self.databaseSkew }

    private func answer(
        _ response: HTTPResponse,
        to process: Simulator.Process,
        _ wake: @escaping (Swift.Result<HTTPResponse, any Error>) -> Void
    ) {
        self.simulator.post(to: process, after: self.draw.duration(.milliseconds(2) ... .milliseconds(80))) {
            wake(.success(response))
        }
    }

    private func proxyPage() -> HTTPResponse {
        self.judge.count("pages of proxies")
        let status = self.draw.element(of: [502, 503, 401, 403, 200, 500]) ?? 502
        var headers: HTTPHeaders = ["Content-Type": "text/html"]
        if status == 503 { headers.add(name: "Retry-After", value: "3") }
        let body =
            self.defect == .proxyPageIsRefusal
            ? #"{"status":"ERROR","responseObject":{"code":"INVALID_OPERATION","message":""}}"#
            : "<html><body>Out of order</body></html>"
        let isRefusal = self.defect == .proxyPageIsRefusal
        return HTTPResponse(status: isRefusal ? 400 : status, headers: headers, body: Array(body.utf8))
    }

    // MARK: The database

    /// Has the database do something, over a line with trouble.
    ///
    /// - Parameter mayBeUnknown: `true` if the outcome is unknown when the answer is lost.
    func askDatabase<Answer: Sendable>(
        _ name: String,
        mayBeUnknown: Bool,
        _ body: @escaping @Sendable (inout Database, Int64) -> Answer
    ) async throws -> Answer {
        try await withUnsafeThrowingContinuation { continuation in
            self.call(name, mayBeUnknown, body) { continuation.resume(with: $0) }
        }
    }

    private func call<Answer: Sendable>(
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
        var travel = self.draw.duration(.microseconds(200) ... .milliseconds(4))
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

    /// A swap was committed.
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
        if change.fence != nil, change.fence != before.holder || database.nodes[change.fence ?? 0] == nil {
            self.judge.fail("a change of \(self.deviceNames[id] ?? "") was made under a right that is over")
        }
        // The number may be that of one that the database lost. Then what is signed has no right, since no two have one number.
        if !database.isCurrent(change.epoch) {
            self.judge.fail("a change of \(self.deviceNames[id] ?? "") was made of an earlier epoch")
        }
        self.judge.committed(change, commit, by: process.index, from: old, to: new, isPaused: database.pause != nil)
    }

    /// A heartbeat was answered.
    func heard(of server: Database.Server) { self.heartbeatServer = server }

    /// A lease was taken.
    func tookLease(of epoch: Database.Epoch) {
        guard epoch.begun != nil, self.simulator.now >= self.leasesTellFrom else { return }
        let start = self.epochStarts[epoch.identity] ?? self.simulator.now
        if self.simulator.now - start < Database.lifetime { self.judge.fail("a lease is taken in the quarantine") }
    }

    /// An outcome was written.
    func appended(_ sealed: SealedOutcome) {
        guard let outcome = try? self.sealing.openOutcome(sealed.sealed) else {
            return self.judge.fail("an outcome cannot be read")
        }
        self.judge.appended(outcome.result, ofMove: sealed.sealed.moves, of: sealed.sealed.activationID)
    }

    /// Does to a row that was written what a defect does.
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

    // MARK: Askers

    private func ask(_ device: Int) {
        let question = Asker.Question(id: "question-\(self.asker.questions.count + 1)", device: device)
        self.asker.questions.append(question)
        guard let process = self.asker.process, let desk = self.asker.desk else { return }
        self.simulator.spawn(in: process) { await self.perform(question, at: desk) }
    }

    private func startAsker() {
        self.asker.lives += 1
        let process = self.simulator.makeProcess("asker\(self.asker.lives > 1 ? ", life \(self.asker.lives)" : "")")
        self.asker.process = process
        self.simulator.spawn(in: process) {
            while self.asker.desk == nil {
                do {
                    let desk = try await self.openDesk(process)
                    self.asker.desk = desk
                    for question in self.asker.questions where !self.asker.ended.contains(question.id) {
                        Task { await self.perform(question, at: desk) }
                    }
                } catch {
                    self.simulator.note("cannot begin: \(error)")
                    try? await self.clock.sleep(for: .seconds(2))
                }
            }
        }
    }

    private func openDesk(_ process: Simulator.Process) async throws -> ApprovalDesk {
        var cloud = CloudClient.Configuration()
        (cloud.transport, cloud.timeout) = (SimulatedTransport(world: self, isAutomatic: false), Self.timeout)
        cloud.clock = self.clock
        var configuration = ApprovalDesk.Configuration()
        configuration.clock = self.clock
        configuration.limits.openQuestions = 100
        return try await ApprovalDesk(
            audience: "simulation",
            cloud: CloudClient(
                baseURL: Setting.baseURL,
                credentials: .init(user: "user", password: "password"),
                configuration: cloud
            ),
            ledger: ApprovalLedger(
                driver: SimulatedLedger(world: self, process: process),
                sealing: .closure { [setting] in setting.sealingKey }
            ),
            configuration: configuration
        )
    }

    private func perform(_ question: Asker.Question, at desk: ApprovalDesk) async {
        var request = ApprovalRequest(
            id: question.id,
            from: .user(self.setting.devices[question.device].user),
            template: ApprovalTemplate("deploy", signs: "A9*R${binding}"),
            action: .bytes(Array(question.id.utf8)),
            expires: Self.questionExpires
        )
        request.validFor = Self.questionIsValid
        while true {
            do {
                try await desk.perform(request) { [question] approval in
                    self.simulator.note("begins the action of \(question.id)")
                    self.judge.acted(question.id, by: approval.approvals.compactMap(\.operationID))
                    if self.asker.diesInAction {
                        self.asker.diesInAction = false
                        self.asker.stepsToDeath = 1
                    }
                    try await self.clock.sleep(for: .seconds(1))
                    self.simulator.note("has ended the action of \(question.id)")
                }
                break
            } catch let error as ApprovalError where error.code == .ledgerFailed {
                self.simulator.note("\(question.id): \(error), caused by \(error.underlying as Any)")
                try? await self.clock.sleep(for: .seconds(3))
            } catch {
                self.simulator.note("\(question.id) came to nothing: \(error)")
                break
            }
        }
        self.asker.ended.insert(question.id)
    }

    private func killAsker() {
        guard let process = self.asker.process else { return }
        self.simulator.act(as: process) { self.simulator.note("is killed") }
        self.simulator.kill(process)
        self.judge.count("askers killed")
        (self.asker.process, self.asker.desk, self.asker.stepsToDeath) = (nil, nil, nil)
        self.after(self.asker.restartsAfter) { if !self.isEnding { self.startAsker() } }
    }

    /// Checks that the ledger's statements about actions are true.
    private func checkQuestions() {
        let rows = self.questions.table.rows(.states(Set(ApprovalState.allCases)), after: nil, limit: .max)
        for row in rows.sorted(by: { $0.asked < $1.asked }) {
            self.judge.count("question \(row.state?.rawValue ?? "unreadable")")
        }
        let actions = self.judge.actions
        for question in self.asker.questions {
            let count = actions[question.id] ?? 0
            guard let row = self.questions.row(of: question.id) else {
                if count > 0 { self.judge.fail("\(question.id) was acted on, and the ledger does not know it") }
                continue
            }
            guard let state = row.state else {
                self.judge.fail("the row of \(question.id) cannot be read")
                continue
            }
            switch state {
            case .done where count != 1: self.judge.fail("\(question.id) is done, and its action ran \(count) times")
            case .done, .claimed, .threw, .unknown, .settled: break
            case _ where count > 0:
                self.judge.fail("\(question.id) was acted on, and is \(state.rawValue)")
            case .drafted, .open, .approved:
                // The desk gives up a minute after an approval could have been used at the latest.
                let age = Int64(self.date.timeIntervalSince1970 * 1_000) - row.asked
                let limit = Self.questionExpires + Self.questionIsValid + .seconds(65)
                if self.asker.process != nil, age > limit.nanoseconds / 1_000_000 {
                    self.judge.fail("\(question.id) was left \(state.rawValue)")
                }
            default: break
            }
        }
    }

    // MARK: The end

    /// Nothing goes wrong any more.
    private func calmDown() {
        self.simulator.note("— the trouble ends")
        self.isCalm = true
        self.chances = Plan.Chances()
        (self.isDatabaseAway, self.isDiskFull, self.database.pause) = (false, false, nil)
        for device in self.setting.devices { self.unblock(device.activationID) }
        for node in self.nodes {
            (node.isCut, node.fates, node.stall, node.leaseStall) = (false, [], nil, nil)
            if let process = node.process {
                self.simulator.freeze(process, false)
                self.simulator.setWeight(1, of: process)
            } else {
                self.restart(node, 1)
            }
        }
    }

    /// Waits until all has come to its end, and looks whether it is a good one.
    private func settle() {
        let end = self.simulator.now + Self.patience.nanoseconds
        // For so long lists may lag behind the bank.
        self.pass(.nanoseconds(Self.lag))
        while self.judge.violation == nil, self.simulator.now < end, !self.isSettled { self.pass(.seconds(2)) }
        for problem in self.undecided + self.differences() { self.judge.fail(problem) }
        self.checkBlocked()
        self.checkQuestions()
    }

    private var isSettled: Bool {
        self.undecided.isEmpty && !self.database.entries.contains { $0.isOpen }
            && self.asker.questions.allSatisfy { self.asker.ended.contains($0.id) } && self.busyPeople == 0
            && self.differences().isEmpty
    }

    /// The time after a change in which nobody needs to have seen it.
    private static let lag: Int64 = 15_000_000_000

    /// Returns the fleets' differences from the bank's lists, and the work that is not done.
    private func differences() -> [String] {
        let done = Counter()
        let processes = self.nodes.compactMap { node in node.process.map { (node, $0) } }
        for (node, process) in processes {
            node.differences = []
            guard let polled = node.polled else { continue }
            self.simulator.spawn(in: process) {
                let all = self.setting.devices.prefix(self.plan.devices).map(\.activationID)
                let own = await polled().sorted()
                for id in self.plan.sharesLists == true ? all : own {
                    let device = self.setting.devices.firstIndex { $0.activationID == id } ?? -1
                    let (waiting, fresh) = self.judge.pending(of: device, since: self.simulator.now - Self.lag)
                    let shown = node.shown[id] ?? []
                    guard !shown.symmetricDifference(waiting).isSubset(of: fresh), !self.isDifferent(id)
                    else { continue }
                    node.differences.append(
                        "\(node.name) shows \(shown.count) operations of \(id), and \(waiting.count) wait"
                    )
                }
                let count = await node.decisionsInFlight?() ?? 0
                // The outcome of a decision of a lost activation is asked for now and then, for ever.
                if count > 0, !own.contains(where: self.isDifferent) {
                    node.differences.append("\(node.name) has \(count) decisions in flight")
                }
                done.add()
            }
        }
        let expected = processes.count { $0.0.polled != nil }
        self.runUntil(.seconds(5)) { done.count == expected }
        return processes.flatMap(\.0.differences) + self.unfairShares
    }

    /// The buckets that nobody has, and those that a node has beyond its fair share.
    private var unfairShares: [String] {
        let pollers = self.database.nodes.filter(\.value.polls)
        guard !pollers.isEmpty else { return [] }
        let counts = Dictionary(self.database.buckets.values.map { ($0, 1) }, uniquingKeysWith: +)
        let share = BucketShare().fairShare(among: pollers.count)
        let free = OperationsFleet.Buckets.count - self.database.buckets.count
        return (free > 0 ? ["nobody has \(free) buckets"] : [])
            + pollers.compactMap { number, node in
                let count = counts[number] ?? 0
                return count > share ? "\(node.name) has \(count) buckets, and its share is \(share)" : nil
            }.sorted()
    }

    private func isDifferent(_ id: String) -> Bool {
        self.lostDevices.contains(id) || self.judge.stopped[id] != nil
            || self.blockedDevices.contains { self.setting.devices[$0].activationID == id }
    }

    /// Every operation that a policy decides is decided by now, or somebody has said why not: those of which neither is so.
    private var undecided: [String] {
        self.judge.operations.filter { id, operation in
            // A blocked activation is asked about every five minutes: until then nobody knows that it can decide again.
            let activationID = self.setting.devices[operation.device].activationID
            return (operation.isPending || operation.hasExpired && operation.kind != .question)
                && operation.kind.isApproved != nil && !self.judge.excused.contains(id)
                && !self.isDifferent(activationID)
        }.values.sorted { $0.made < $1.made }.map { "\($0.name) was not decided, and nobody says why" }
    }

    private func checkBlocked() {
        for device in self.setting.devices
        where self.backend.state.activations[device.activationID]?.status == .blocked {
            self.judge.fail("\(self.deviceNames[device.activationID] ?? "") is blocked, and not by the bank")
        }
    }

    private func end() {
        guard self.judge.violation == nil else { return }
        self.isEnding = true
        if let process = self.asker.process { self.simulator.kill(process) }
        for node in self.nodes {
            guard let process = node.process, let stop = node.stop else { continue }
            self.simulator.post(to: process) { stop() }
        }
        if !self.runUntil(.seconds(120), { self.nodes.allSatisfy { $0.process == nil } }) {
            self.judge.fail("a process did not end: \(self.simulator.livingTasks)")
        }
        if !self.database.nodes.isEmpty || !self.database.buckets.isEmpty || !self.database.handoverRequests.isEmpty {
            self.judge.fail("leases, buckets or requests are left in the database")
        }
        self.audit()
    }

    /// Reads all receipts, as an auditor does.
    private func audit() {
        guard self.judge.violation == nil else { return }
        let node = Node("auditor", -1, self.nodes[0].marks)
        let process = self.simulator.makeProcess("auditor")
        let done = Counter()
        self.simulator.spawn(in: process) {
            do {
                let (_, store) = try self.client(SimulatedDriver(node, in: self), isAutomatic: false)
                let receipts = try await store.receipts(of: nil, after: 0, limit: 10_000)
                self.judge.audit(receipts, lost: self.lostDevices) { self.simulator.note($0) }
                await store.close()
            } catch {
                self.judge.fail("the receipts cannot be read: \(error)")
            }
            done.add()
        }
        if !self.runUntil(.seconds(60), { done.count > 0 }) { self.judge.fail("the auditor did not end") }
        let living = self.simulator.livingTasks
        if !living.isEmpty { self.judge.fail("tasks are left: \(living)") }
        let undead = self.remains.count { $0.fleet != nil || $0.agent != nil }
        if undead > 0 { self.judge.fail("\(undead) processes that have ended hold a fleet or an agent") }
    }
}

/// The network as a process has it.
struct SimulatedTransport: HTTPTransport {
    let world: World
    let isAutomatic: Bool

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        do {
            return try await self.deliver(request)
        } catch let error as HTTPTransportError
            where error.code == .connectionLost && self.world.defect == .repeatsSigned
        {
            return try await self.deliver(request)
        }
    }

    private func deliver(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await self.world.simulator.suspend { _, wake in
            self.world.send(request, isAutomatic: self.isAutomatic, wake)
            return nil
        }
    }
}

/// The files of marks, one for each node, which worlds use one after the other: what a dead process has open stays open.
final class MarkFiles {
    private static let made = Counter()
    private let folder: String
    private var files: [Int: LockFile] = [:]

    /// - Parameter name: Tells the files of a thread from those of others.
    init(name: String) {
        self.folder = NSTemporaryDirectory() + "simulate-\(getpid())-\(name)-\(Self.made.count)"
        Self.made.add()
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    /// Returns the marks of a node, of which there are none.
    func emptied(_ node: Int) throws -> HighWaterMarks {
        let path = "\(self.folder)/\(node)"
        let file = try self.files[node] ?? LockFile(creating: path)
        self.files[node] = file
        truncate(path, 0)
        return HighWaterMarks(in: file)
    }
}

extension World.Node {
    fileprivate func forget() { (self.stop, self.polled, self.decisionsInFlight) = (nil, nil, nil) }

    fileprivate func show(_ event: OperationsFleet.Event) {
        switch event {
        case .changed(let news):
            self.shown[news.activationID] = Set(news.change.operations.map(\.id))
        // The operations that another process polls now are shown on where lists are shared, and were taken away before this
        // otherwise.
        case .left, .stateChanged, .failed: break
        }
    }
}

extension Plan.Act {
    fileprivate var isQuestion: Bool { if case .ask = self { true } else { false } }
}
