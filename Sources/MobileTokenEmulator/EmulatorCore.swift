import Basics
import Coordination
import EmulatorBackend
import EmulatorMessages
import Foundation
import PowerAuthProtocol
import Synchronization

/// The development server's state and everything that may change it, one change at a time.
actor EmulatorCore {
    private var backend: Backend
    /// What a reset goes back to.
    private var initialBackend: Backend
    private var time = VirtualTime()
    private var faults = FaultInjector()
    private var journal = Journal()
    private var faultRandomness: Randomness
    private var eventCount: UInt64 = 0
    /// Counts changes of the state, for the data file.
    private var version: UInt64
    /// What the data file lacks.
    private var unwritten: Unwritten
    private var dataFile: DataFile?
    let configuration: Emulator.Configuration
    /// What delays and dripping bodies wait on.
    nonisolated let clock: any Clock<Duration>
    nonisolated let events = Broadcast(startingWith: EventQueue())
    /// What the bank is to be told.
    nonisolated let mailroom = Mailroom()
    /// What a push server would have sent.
    private(set) var pushes = PushLog()
    /// The status of each activation, as the bank and the device were last told of it.
    private var toldStatuses: [String: String] = [:]
    private nonisolated let publishedApplication: Mutex<ApplicationDescription>

    /// Starts with what the data file holds, else with the configuration's initial state, else with an empty one.
    ///
    /// - Parameter configuration: With a password.
    init(
        configuration: Emulator.Configuration,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(EmulatorError) {
        self.configuration = configuration
        self.clock = clock
        var dataFile: (file: DataFile, saved: DataFile.Saved?)?
        if let path = configuration.dataFile { dataFile = try DataFile.open(path: path) }
        let backend: Backend
        if let saved = dataFile?.saved {
            self.initialBackend = try Backend(document: saved.initial, configuration)
            backend = try Backend(saved.current, configuration)
            self.unwritten = if case .records = saved.current { .objects([]) } else { .everything }
        } else {
            backend =
                if let document = configuration.initialState {
                    try Backend(document: Array(document), configuration)
                } else {
                    try Backend(empty: configuration)
                }
            self.initialBackend = backend
            self.unwritten = .everything
        }
        self.version = if case .everything = self.unwritten { 1 } else { 0 }
        self.backend = backend
        self.publishedApplication = Mutex(backend.defaultApplication)
        self.dataFile = dataFile?.file
        self.faultRandomness = Randomness(seed: configuration.seed)
        self.toldStatuses = backend.activationStatuses
    }

    // MARK: Requests

    /// Responds to a request of the APIs, faults included.
    func respond(to request: ReceivedRequest) async -> ServerResponse {
        let fault = self.fault(for: request)
        let effect = fault?.effect ?? FaultRule.Effect()
        if let delay = effect.delay, delay > 0 {
            do { try await self.clock.sleep(for: Duration(boundedSeconds: delay)) } catch {
                return ServerResponse(status: 503, body: .reset)
            }
        }
        let now = self.now
        var reply: Reply
        if effect.status != nil || effect.reset == .before {
            reply = .error(effect.status ?? 503, message: "A fault was asked for", because: "fault")
        } else {
            reply = self.backend.reply(to: request, at: now.addingTimeInterval(effect.clockSkew ?? 0))
            self.noteChanges()
        }
        let entry = self.journal.append(request, reply: reply, fault: fault?.name, at: now)
        self.send(reply.events)
        self.send(.request, id: String(entry.id), status: String(entry.status))
        if let failure = await self.persist() { reply = failure }
        return effect.spoil(reply, self.clock)
    }

    private func fault(for request: ReceivedRequest) -> (name: String, effect: FaultRule.Effect)? {
        var activationID: String?
        if self.faults.asksForActivation {
            // Only the backend knows whose a token is. It is a value: a copy can be asked and thrown away.
            var trial = self.backend
            activationID = trial.reply(to: request, at: self.now).activationID
        }
        return self.faults.fault(
            method: request.method,
            path: request.path,
            activationID: activationID,
            using: &self.faultRandomness
        )
    }

    /// Returns the fault that strikes a callback.
    func fault(forCallbackTo url: String) -> (name: String, effect: FaultRule.Effect)? {
        self.faults.fault(method: "POST", path: url, activationID: nil, using: &self.faultRandomness)
    }

    /// Notes what became of an attempt to deliver a callback.
    func noteAttempt(
        _ delivery: Outbox.Delivery,
        _ request: ReceivedRequest,
        _ reply: Reply,
        fault: String?,
        outcome: Outbox.Outcome
    ) {
        let entry = self.journal.append(request, reply: reply, fault: fault, deliveryID: delivery.id, at: self.now)
        self.send(.request, id: String(entry.id), status: String(entry.status))
        self.mailroom.change { $0.finish(delivery.id, outcome, at: self.now.milliseconds) }
        self.reportDelivery(delivery.id)
    }

    /// Sends a delivery once more that has ended.
    func replayDelivery(_ id: UInt64) throws(EmulatorError) {
        let isThere = self.mailroom.change { $0.replay(id, at: self.now.milliseconds) }
        guard isThere else { throw EmulatorError(.notFound, "There is no such delivery that has ended") }
        self.reportDelivery(id)
    }

    private func reportDelivery(_ id: UInt64) {
        self.send(.delivery, id: String(id), status: self.mailroom.outbox[id]?.state.rawValue)
    }

    /// Makes a request of the cloud API in the name of its user, for callers of the control API.
    func relay(_ request: ReceivedRequest) async -> ServerResponse {
        var request = request
        request.headers.removeAll { $0.name.equalsIgnoringASCIICase("Authorization") }
        if let credentials = self.configuration.cloudCredentials {
            request.headers.append(("Authorization", credentials.authorization))
        }
        return await self.respond(to: request)
    }

    // MARK: Journal

    func journal(since id: UInt64, limit: Int) -> (entries: [Emulator.JournalEntry], lastID: UInt64) {
        (self.journal.entries(since: id, limit: limit), self.journal.lastID)
    }

    func journal(before id: UInt64, limit: Int) -> (entries: [Emulator.JournalEntry], lastID: UInt64) {
        (self.journal.entries(before: id, limit: limit), self.journal.lastID)
    }

    // MARK: Time

    var now: Date { self.time.now() }
    var timeMode: VirtualTime.Mode { self.time.mode }

    /// - Returns: Whether the clock can show what it was set to; if not, it stays as it was.
    @discardableResult
    func changeTime(_ change: @Sendable (inout VirtualTime) -> Void) -> Bool {
        var changed = self.time
        change(&changed)
        guard Date.shownByClocks.contains(changed.now()) else { return false }
        self.time = changed
        self.send(.clock, status: self.time.mode.rawValue)
        self.settle()
        return true
    }

    /// Does what has become due without a request.
    func settle() {
        self.mailroom.wakeIfDue(at: self.now.milliseconds)
        guard let deadline = self.backend.nextDeadline, deadline <= self.now else { return }
        self.send(self.backend.settle(at: self.now))
        self.noteChanges()
    }

    /// Lets operations expire in time for those that watch, until the task is canceled. (Requests never depend on it.)
    func keepTime() async {
        while (try? await self.clock.sleep(for: .seconds(1))) != nil { self.settle() }
    }

    // MARK: Faults

    var faultRules: [FaultRule] { self.faults.rules }

    func setFaults(_ rules: [FaultRule]) {
        self.faults.rules = rules
        self.send(.faults)
    }

    /// - Returns: Whether it was added: not when there are so many already.
    @discardableResult
    func addFault(_ rule: FaultRule, unlessThereAre count: Int = .max) -> Bool {
        guard self.faults.rules.count < count else { return false }
        self.faults.append(rule)
        self.send(.faults)
        return true
    }

    func removeFaults(named name: String) {
        self.faults.remove(named: name)
        self.send(.faults)
    }

    // MARK: Protocol

    var protocolRules: EmulatorProtocolRules { self.backend.protocolRules }

    func setProtocolRules(_ rules: EmulatorProtocolRules) throws(EmulatorError) {
        try rules.check()
        self.backend.protocolRules = rules
        self.send(.protocolRules)
    }

    // MARK: State

    /// The application that clients are configured for; an import may change it.
    nonisolated var application: ApplicationDescription { self.publishedApplication.withLock { $0 } }
    /// The state at this moment, to read from.
    var snapshot: (backend: Backend, time: Date) { (self.backend, self.now) }

    /// Back to the state at the start, or that of the last import; the clock runs with the machine's, without faults.
    func reset() async throws(EmulatorError) {
        self.time = VirtualTime()
        self.faults = FaultInjector()
        self.faultRandomness = Randomness(seed: self.configuration.seed)
        self.journal.removeAll()
        self.mailroom.change { $0.removeAll() }
        self.pushes.removeAll()
        try await self.replaceState(with: self.initialBackend)
    }

    func exported() throws -> [UInt8] { try self.backend.exported() }

    /// Replaces all state. A document that does not decode changes nothing.
    func importState(_ document: [UInt8]) async throws(EmulatorError) {
        let imported = try Backend(document: document, self.configuration)
        self.initialBackend = imported
        try await self.replaceState(with: imported)
    }

    private func replaceState(with backend: Backend) async throws(EmulatorError) {
        self.backend = backend
        self.publishedApplication.withLock { $0 = backend.defaultApplication }
        self.toldStatuses = backend.activationStatuses
        self.unwritten = .everything
        self.version += 1
        self.send(.reset)
        if await self.persist() != nil { throw EmulatorError(.storage, "The state could not be written") }
    }

    /// Blocks an activation.
    ///
    /// - Parameter seconds: After how many the block ends by itself; `nil` for never.
    func block(_ activationID: String, for seconds: Double?) async throws(EmulatorError) {
        let expiration = seconds.map { self.now.milliseconds + $0.inMilliseconds }
        try await self.administer(.block(activationID: activationID, until: expiration))
    }

    func administer(_ change: AdministrativeChange) async throws(EmulatorError) {
        do { self.send(try self.backend.administer(change, at: self.now)) } catch { throw EmulatorError(error) }
        self.noteChanges()
        if await self.persist() != nil { throw EmulatorError(.storage, "The state could not be written") }
    }

    /// What one change may touch together.
    struct Changeable: Sendable {
        var backend: Backend
        var time: VirtualTime
        var faults: FaultInjector
    }

    /// Changes state, time and faults in one step. A change that throws leaves all of them as they were.
    ///
    /// - Parameter kind: What is told of beside what `body` returns.
    func change<Result: Sendable>(
        telling kind: Emulator.Event.Kind? = nil,
        _ body: @Sendable (inout Changeable) throws -> (result: Result, events: [BackendEvent])
    ) async throws -> Result {
        let rules = self.faults.rules
        var changed = Changeable(backend: self.backend, time: self.time, faults: self.faults)
        let (result, events) = try body(&changed)
        let isTimeChanged = changed.time != self.time
        (self.backend, self.time, self.faults) = (changed.backend, changed.time, changed.faults)
        if isTimeChanged { self.send(.clock, status: self.time.mode.rawValue) }
        if self.faults.rules != rules { self.send(.faults) }
        if let kind { self.send(kind) }
        self.send(events)
        self.noteChanges()
        self.settle()
        if await self.persist() != nil { throw EmulatorError(.storage, "The state could not be written") }
        return result
    }

    // MARK: Data file

    private enum Unwritten {
        case everything
        case objects(Set<StateKey>)
    }

    /// Remembers what a change of the backend changed. Most requests change nothing, and nothing is written for them.
    private func noteChanges() {
        let changes = self.backend.state.takeChanges()
        guard !changes.isEmpty else { return }
        self.version += 1
        guard self.dataFile != nil, case .objects(let earlier) = self.unwritten else { return }
        self.unwritten = .objects(earlier.union(changes))
    }

    /// Waits until the state as it is now is durable.
    ///
    /// - Returns: The response when that fails; `nil` when it succeeds.
    func persist() async -> Reply? {
        guard let dataFile = self.dataFile else {
            return self.configuration.dataFile == nil ? nil : .error(503, message: "The server has stopped")
        }
        do {
            try await dataFile.persist(version: self.version) { try await self.takeUnwritten() }
            return nil
        } catch {
            return .error(500, message: "The state could not be written")
        }
    }

    /// Lets go of the data file, so that another server can have it. What changes from now on is refused.
    func closeDataFile() { self.dataFile = nil }

    private func takeUnwritten() throws -> (version: UInt64, changes: DataFile.Changes) {
        var changes = DataFile.Changes()
        let state = self.backend.state
        switch self.unwritten {
        case .everything:
            changes.initial = try self.initialBackend.exported()
            for key in state.keys { changes.records[key] = .some(try state.record(key)) }
        case .objects(let keys):
            for key in keys { changes.records[key] = .some(try state.record(key)) }
        }
        self.unwritten = .objects([])
        return (self.version, changes)
    }

    /// What has been written to the data file since the start; `nil` without one.
    var dataFileStatistics: DataFile.Statistics? {
        get async { await self.dataFile?.statistics }
    }

    // MARK: Events

    private func send(_ events: [BackendEvent]) {
        for event in events {
            self.send(.init(event.subject), id: event.id, status: event.status)
            self.tellOthers(of: event)
        }
    }

    /// Activations report whatever changes in them; the bank and the devices are told of their status.
    private func tellOthers(of event: BackendEvent) {
        if event.subject == .activation {
            guard self.toldStatuses.updateValue(event.status ?? "", forKey: event.id) != event.status else { return }
        }
        for message in self.backend.callbackMessages(of: event) { self.deliver(message) }
        for message in self.backend.pushMessages(of: event) {
            let push = self.pushes.append(message, at: self.now)
            self.send(.push, id: String(push.id), status: push.type)
            if let url = self.configuration.pushURL { self.deliver(message.delivery(to: url)) }
        }
    }

    private func deliver(_ message: CallbackMessage) {
        let now = self.now.milliseconds
        self.reportDelivery(self.mailroom.change { $0.add(message, at: now).id })
    }

    private func send(_ kind: Emulator.Event.Kind, id: String? = nil, status: String? = nil) {
        self.eventCount += 1
        self.events.send(
            Emulator.Event(number: self.eventCount, kind: kind, id: id, status: status, time: self.now)
        )
    }
}

extension Backend {
    fileprivate init(document: [UInt8], _ configuration: Emulator.Configuration) throws(EmulatorError) {
        do { try self.init(importing: document, configuration: configuration.backend) } catch {
            throw EmulatorError(error)
        }
    }

    fileprivate init(_ saved: DataFile.State, _ configuration: Emulator.Configuration) throws(EmulatorError) {
        switch saved {
        case .document(let document):
            try self.init(document: document, configuration)
        case .records(let records):
            let state: BackendState
            do {
                state = try BackendState(records: records)
            } catch Version4.SharedSecretError.unavailable(let error) {
                throw EmulatorError(.storage, "The data file has activations of another suite: \(error)")
            } catch {
                throw EmulatorError(.storage, "The data file holds what this server did not write")
            }
            do { try self.init(state: state, configuration.backend) } catch {
                throw EmulatorError(.invalidConfiguration, "\(error)")
            }
        }
    }

    fileprivate init(empty configuration: Emulator.Configuration) throws(EmulatorError) {
        do {
            try self.init(configuration: configuration.backend, randomness: Randomness(seed: configuration.seed))
        } catch {
            throw EmulatorError(.invalidConfiguration, "\(error)")
        }
    }
}
