import CloudCalls
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import Glibc
import HTTPClientTransport
import MobileToken
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
        /// What happens after so many more steps of its process.
        fileprivate var fate: (steps: Int, act: () -> Void)?

        init(_ name: String, _ index: Int, _ marks: HighWaterMarks) {
            self.name = name
            self.index = index
            self.marks = marks
        }
    }

    static let requestsPerSecond = 40
    static let timeout = Duration.seconds(10)

    let simulator: Simulator
    let clock: SimulatedClock
    let plan: Plan
    let defect: Defect
    let setting: Setting
    var judge = Judge()
    private(set) var database: Database
    private var backend: Backend
    private var draw: Draw
    private var chances: Plan.Chances
    private var nodes: [Node] = []
    private var backups: [Database] = []
    private var isDatabaseAway = false
    private var isDiskFull = false
    private var isCalm = false
    private var lastFlight = 0
    /// Processes of people, which end by themselves.
    private var people = 0
    private var deviceNames: [String: String] = [:]

    init(_ plan: Plan, _ setting: Setting, _ marks: MarkFiles, defect: Defect = .none) throws {
        self.plan = plan
        self.setting = setting
        self.defect = defect
        self.simulator = Simulator(seed: plan.seed, watchesTasks: true)
        self.clock = SimulatedClock(simulator: self.simulator)
        self.backend = setting.backend
        self.draw = Draw(seed: plan.seed &+ 0x770)
        self.chances = plan.chances
        var database = Database()
        database.keys = setting.keys
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

    /// What became of a world.
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
        self.backUp()
        for entry in self.plan.entries {
            self.simulator.post(to: self.simulator.world, after: .milliseconds(entry.milliseconds)) {
                self.simulator.note("— \(entry.act)")
                self.do(entry.act)
            }
        }
        self.pass(.seconds(self.plan.seconds))
        self.calmDown()
        self.pass(.seconds(90))
        self.checkDecided()
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
    /// - Returns: Whether it holds.
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
        for node in self.nodes {
            guard let fate = node.fate, node.process == self.simulator.lastProcess else { continue }
            node.fate?.steps -= 1
            if fate.steps <= 0 {
                node.fate = nil
                fate.act()
            }
        }
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
        case .kill(let node, let steps, let seconds): self.kill(self.nodes[node], steps, seconds)
        case .stop(let node, let seconds): self.stop(self.nodes[node], seconds)
        case .freeze(let node, let steps, let seconds): self.freeze(self.nodes[node], steps, seconds)
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
        case .goBack(let seconds, let isPromotion): self.goBack(seconds, isPromotion)
        }
    }

    private func after(_ seconds: Int, _ body: @escaping () -> Void) {
        self.simulator.post(to: self.simulator.world, after: .seconds(seconds), body)
    }

    private func goBack(_ seconds: Int, _ isPromotion: Bool) {
        let (now, timeline) = (self.database, self.database.timeline)
        guard let backup = self.backups.dropLast(seconds).last ?? self.backups.first else { return }
        self.database = backup
        self.database.timeline = isPromotion ? timeline + 1 : timeline
        // The pause is asked for by people, who would ask again.
        self.database.pause = now.pause
        self.backups = [self.database]
        self.judge.wentBack()
        for device in self.setting.devices { self.judge.allowFailure(of: device.activationID) }
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
            configuration.pollInterval = .seconds(7)
            configuration.limits.requestsPerSecond = Double(Self.requestsPerSecond)
            configuration.membership = SimulatedMembership(driver, clock: self.clock)
            let agent = ApprovalAgent(
                fleet: client.fleet(configuration: configuration),
                factors: { activation in try self.factor(of: activation.activationID) },
                policy: { review in
                    let verdict = self.defect == .approvesAll ? .approve : Self.verdict(review)
                    self.judge.reviewed(review, verdict)
                    return verdict
                }
            )
            let events = agent.events()
            let reading = Task { for await event in events { self.heard(event) } }
            let running = Task { try await agent.run() }
            node.stop = { running.cancel() }
            let result = await running.result
            await reading.value
            await client.shutdown()
            await store.close()
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
        node.stop = nil  // it keeps a task that has ended
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

    private func restart(_ node: Node, _ seconds: Int) {
        self.after(seconds) { if node.process == nil, !self.isEnding { self.start(node) } }
    }

    private static func verdict(_ review: OperationReview) -> ApprovalAgent.Verdict {
        switch review.operation.name {
        case "login": return .approve
        case "login_1FA": return .reject(.unexpectedOperation)
        default:
            guard let total = review.total(in: "CZK"), total > 0, total <= 50 else { return .leave }
            return .approve
        }
    }

    private func factor(of activationID: String) throws -> Authentication.UnlockedFactor {
        guard let device = self.setting.devices.first(where: { $0.activationID == activationID }) else {
            throw MobileTokenError(.unknownActivation, "not of this world")
        }
        return device.factor
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

    private func kill(_ node: Node, _ steps: Int, _ seconds: Int) {
        node.fate = (
            steps,
            { [unowned self, unowned node] in
                guard let process = node.process else { return }
                self.simulator.act(as: process) { self.simulator.note("is killed") }
                self.simulator.kill(process)
                self.forgive(node)
                (node.process, node.stop) = (nil, nil)
                self.restart(node, seconds)
            }
        )
    }

    /// An unclean end may cost each activation one failed attempt.
    private func forgive(_ node: Node) {
        self.judge.count("unclean takeovers")
        for device in self.setting.devices { self.judge.allowFailure(of: device.activationID) }
    }

    private func freeze(_ node: Node, _ steps: Int, _ seconds: Int) {
        node.fate = (
            steps,
            { [unowned self, unowned node] in
                guard let process = node.process else { return }
                self.simulator.act(as: process) { self.simulator.note("is frozen") }
                self.simulator.freeze(process, true)
                self.forgive(node)
                self.after(seconds) {
                    self.simulator.act(as: process) { self.simulator.note("is thawed") }
                    self.simulator.freeze(process, false)
                }
            }
        )
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
            self.forgive(node)
            node.process = nil
            self.restart(node, 1)
        }
    }

    private func pause(_ seconds: Int) {
        self.database.pause = DecisionPause(date: self.date, reason: "simulated")
        self.after(seconds) { self.database.pause = nil }
    }

    // MARK: People

    private func decideByHand(_ index: Int) {
        self.people += 1
        let process = self.simulator.makeProcess("person \(self.people)")
        let node = Node("person \(self.people)", -1, self.nodes[0].marks)
        let device = self.setting.devices[index]
        self.simulator.spawn(in: process) {
            do {
                let (client, store) = try self.client(SimulatedDriver(node, in: self), isAutomatic: false)
                do {
                    let activation = try await client.activation(id: device.activationID)
                    let service = client.operations(of: activation)
                    if let operation = try await service.operations().first {
                        let name = self.judge.name(of: operation.id)
                        self.judge.takenInHand(operation.id)
                        self.simulator.note("approves \(name)")
                        let factors: Authentication =
                            operation.allows(.possession)
                            ? .possession : .possessionAndKnowledge(unlocked: device.factor)
                        try await service.authorize(operation, with: factors)
                        self.simulator.note("has approved \(name)")
                    }
                } catch {
                    self.simulator.note("gives up: \(error)")
                }
                await client.shutdown()
                await store.close()
            } catch {
                self.simulator.note("cannot begin: \(error)")
            }
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
        _ = try? self.backend.administer(.block(activationID: id), at: self.date)
        self.after(seconds) { self.unblock(id) }
    }

    private func unblock(_ id: String) {
        guard self.backend.state.activations[id]?.status == .blocked else { return }
        _ = try? self.backend.administer(.unblock(activationID: id), at: self.date)
        self.judge.failuresWereCleared(of: id)
    }

    private func note(_ events: [BackendEvent]) {
        for event in events where event.subject == .operation && event.status != "PENDING" {
            self.judge.ended(event.id, as: event.status ?? "")
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
            if let end = request.notAfter, end <= .now, self.defect != .sendsTooLate {
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
        self.judge.left(flight, limit: Self.requestsPerSecond, at: self.simulator.now)
        let chances = self.chances
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
        if self.draw.happens(chances.late) {
            self.judge.count("late requests")
            self.tell("a request is held back", flight)
            travel = self.draw.duration(.seconds(1) ... .seconds(10))
            // Others may pass it.
            self.judge.allowFailure(of: flight.signature == nil ? nil : self.activationID(of: request))
            if self.draw.happens(0.5) {
                self.simulator.post(to: process, after: .milliseconds(300)) {
                    wake(.failure(HTTPTransportError(.connectionLost)))
                }
            }
        }
        travel = min(travel, limit)
        let isDoubled = self.draw.happens(chances.doubled)
        if isDoubled { self.judge.allowFailure(of: flight.signature == nil ? nil : self.activationID(of: request)) }
        self.simulator.post(to: self.simulator.world, after: travel) {
            var reply = self.arrive(request, flight, isCopy: false)
            if isDoubled {
                self.judge.count("doubled requests")
                self.tell("a request arrives twice", flight)
                let second = self.arrive(request, flight, isCopy: true)
                if self.draw.happens(0.5) { reply = second }
            }
            self.judge.landed(flight.id)
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
    }

    private func activationID(of request: HTTPRequest) -> String? {
        let header = request.headers["X-PowerAuth-Authorization"] ?? ""
        return self.setting.devices.first { header.contains($0.activationID) }?.activationID
    }

    private func tell(_ what: String, _ flight: Judge.Flight) {
        let subject = flight.decision.map { " (of \(self.judge.name(of: $0.operationID)))" } ?? ""
        self.simulator.note(what + subject)
    }

    private func arrive(_ request: HTTPRequest, _ flight: Judge.Flight, isCopy: Bool) -> Reply {
        let reply = self.backend.reply(to: ReceivedRequest(request), at: self.date)
        self.judge.answered(flight, reply, isCopy: isCopy)
        self.note(reply.events)
        if case .refused(let reason) = reply.verdict { self.tell("the bank refuses: \(reason)", flight) }
        return reply
    }

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
    /// - Parameter mayBeUnknown: Whether an answer that is lost leaves the outcome unknown.
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
        let isLate = mayBeUnknown && self.draw.happens(chances.callOfDatabaseLate)
        if isLate {
            self.judge.count("database calls late")
            self.simulator.note("the database gets \"\(name)\" late")
            travel = self.draw.duration(.milliseconds(200) ... .seconds(3))
            lost()
        }
        self.simulator.post(to: self.simulator.world, after: travel) {
            guard !self.isDatabaseAway else { return isLate ? () : lost() }
            let answer = body(&self.database, self.simulator.now + 1_000_000_000_000)
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

    // MARK: The end

    /// Nothing goes wrong any more.
    private func calmDown() {
        self.simulator.note("— the trouble ends")
        self.isCalm = true
        self.chances = Plan.Chances()
        (self.isDatabaseAway, self.isDiskFull, self.database.pause) = (false, false, nil)
        for device in self.setting.devices { self.unblock(device.activationID) }
        for node in self.nodes {
            (node.isCut, node.fate) = (false, nil)
            if let process = node.process {
                self.simulator.freeze(process, false)
                self.simulator.setWeight(1, of: process)
            } else {
                self.restart(node, 1)
            }
        }
    }

    /// Every operation that a policy decides is decided by now, or somebody has said why not.
    private func checkDecided() {
        for (id, operation) in self.judge.operations.sorted(by: { $0.value.made < $1.value.made })
        where (operation.isPending || operation.hasExpired) && operation.kind.isApproved != nil
            && !self.judge.excused.contains(id)
        {
            let activationID = self.setting.devices[operation.device].activationID
            // A blocked activation is asked about every five minutes: until then nobody knows that it can decide again.
            if self.judge.stopped[activationID] != nil || self.blockedDevices.contains(operation.device) { continue }
            self.judge.fail("\(operation.name) was not decided, and nobody says why")
        }
        for device in self.setting.devices
        where self.backend.state.activations[device.activationID]?.status == .blocked {
            self.judge.fail("\(self.deviceNames[device.activationID] ?? "") is blocked, and not by the bank")
        }
    }

    private func end() {
        guard self.judge.violation == nil else { return }
        self.isEnding = true
        for node in self.nodes {
            guard let process = node.process, let stop = node.stop else { continue }
            self.simulator.post(to: process) { stop() }
        }
        if !self.runUntil(.seconds(120), { self.nodes.allSatisfy { $0.process == nil } }) {
            self.judge.fail("a process did not end: \(self.simulator.livingTasks)")
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
                self.judge.audit(try await store.receipts(of: nil, after: 0, limit: 10_000))
                await store.close()
            } catch {
                self.judge.fail("the receipts cannot be read: \(error)")
            }
            done.add()
        }
        if !self.runUntil(.seconds(60), { done.count > 0 }) { self.judge.fail("the auditor did not end") }
        let living = self.simulator.livingTasks
        if !living.isEmpty { self.judge.fail("tasks are left: \(living)") }
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
    private let folder: String
    private var files: [Int: LockFile] = [:]

    /// - Parameter name: Tells the files of a thread from those of others.
    init(name: String) {
        self.folder = NSTemporaryDirectory() + "simulate-\(getpid())-\(name)"
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
