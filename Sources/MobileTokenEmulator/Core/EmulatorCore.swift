import Basics
import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthProtocol
import Synchronization

/// The development server's state and everything that may change it, one change at a time.
actor EmulatorCore {
    // Properties that the extensions in other files change, too, are not private; nothing else may change them.
    var backend: Backend
    /// The state that a reset goes back to.
    var initial: WholeState
    var time: VirtualTime {
        didSet { self.publishedTime.withLock { $0 = self.time } }
    }
    /// The time, for virtual devices, whose clock waits for nobody.
    nonisolated let publishedTime: Mutex<VirtualTime>
    var faults: FaultInjector
    var journal: Journal
    var snapshots = SnapshotShelf()
    var faultRandomness: Randomness
    var eventCount: UInt64 = 0
    /// Counts the changes that are made in one step.
    var changeCount: UInt64 = 0
    var unwritten: UnwrittenChanges
    var dataFile: DataFile?
    /// Indicates that the state is the one that the data file held at the start.
    nonisolated let isContinued: Bool
    /// The objects that the scenario of the start has made, as the cloud API shows them.
    var played: JSONValue?
    /// Indicates that the state is not complete, and is kept from the data file until it is.
    var isBeginning = false
    /// The changes that the data file lacks, oldest first.
    var commits: [Commit] = []
    /// The version of the state that the data file holds.
    var durableVersion: UInt64 = 0
    /// The one task that writes to the data file; `nil` while there is nothing to write. It ends by itself, and
    /// ``closeDataFile()`` waits for it.
    var writing: Task<Void, Never>?
    let configuration: Emulator.Configuration
    /// The clock of delays and dripping bodies.
    nonisolated let clock: any Clock<Duration>
    nonisolated let events = Broadcast(startingWith: EventQueue())
    /// The queue of messages to the bank.
    nonisolated let mailroom: Mailroom
    nonisolated let devices: DeviceRoom
    /// The messages that a push server would have sent.
    var pushes: RecentLog<Emulator.PushSummary>
    /// The status of each activation, as the bank and the device were last told of it.
    var toldStatuses: [String: String] = [:]
    nonisolated let publishedApplication: Mutex<ApplicationDescription>

    /// Starts with what the data file holds, else with a copy, else with the configuration's initial state, else with an
    /// empty one.
    ///
    /// - Parameters:
    ///   - configuration: With a password.
    ///   - copied: The state of another server.
    ///   - retention: The part of the past that is kept.
    init(
        configuration: Emulator.Configuration,
        copying copied: WholeState? = nil,
        retention: Retention = .ofServer,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(EmulatorError) {
        self.configuration = configuration
        self.clock = clock
        self.journal = Journal(capacity: retention.journalEntries, totalCapacity: retention.journalBytes)
        self.pushes = RecentLog(capacity: retention.pushes, totalCapacity: retention.pushBytes)
        self.mailroom = Mailroom(capacity: retention.deliveries)
        self.devices = DeviceRoom(capacity: configuration.capacity.devices)
        var dataFile: (file: DataFile, saved: DataFile.Saved?)?
        var devices: DeviceRoom.Contents?
        if let path = configuration.dataFile { dataFile = try DataFile.open(path: path) }
        let backend: Backend
        if let saved = dataFile?.saved {
            self.initial = try WholeState(Backend(document: saved.initial, configuration), configuration)
            backend = try Backend(saved.current, configuration)
            devices = try DeviceRoom.Contents(of: backend, capacity: configuration.capacity.devices)
            self.unwritten = UnwrittenChanges(isWritten: true)
        } else {
            self.initial =
                if let copied {
                    try copied.copied(for: configuration)
                } else if let document = configuration.initialState {
                    try WholeState(Backend(document: Array(document), configuration), configuration)
                } else {
                    try WholeState(Backend(empty: configuration), configuration)
                }
            backend = self.initial.backend
            self.unwritten = UnwrittenChanges(isWritten: false)
        }
        self.backend = backend
        self.publishedApplication = Mutex(backend.defaultApplication)
        self.dataFile = dataFile?.file
        self.isContinued = dataFile?.saved != nil
        let initial = self.initial
        self.publishedTime = Mutex(initial.time)
        (self.time, self.faults, self.faultRandomness) = (initial.time, initial.faults, initial.faultRandomness)
        self.toldStatuses = backend.activationStatuses
        self.devices.replace(with: devices ?? initial.devices, at: initial.time.now().milliseconds)
        self.mailroom.change { $0.replace(with: initial.outbox) }
    }

    /// Does what goes on beside requests, until the task is canceled.
    nonisolated func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepTime() }
            group.addTask { await CallbackCourier(core: self).run() }
            group.addTask { await DeviceOperator(core: self).run() }
        }
    }

    // MARK: Requests

    /// Responds to a request of the APIs, faults included.
    ///
    /// - Parameters:
    ///   - caller: The origin of the request.
    ///   - device: The virtual device that makes it.
    func respond(
        to request: ReceivedRequest,
        from caller: Backend.Caller = .network,
        ofDevice device: DeviceCaller? = nil
    ) async -> ServerResponse {
        let fault = self.faults.fault(
            method: request.method,
            path: request.path,
            activationID: self.activationID(of: request, from: caller),
            using: &self.faultRandomness
        )
        do { try await fault?.wait(by: self.clock) } catch { return ServerResponse(status: 503, body: .reset) }
        // Keys and counters of before a restored state are another device's by now.
        if let device, device.epoch != self.devices.epoch { return ServerResponse(status: 503, body: .reset) }
        let (now, effect) = (self.now, fault?.effect ?? FaultRule.Effect())
        var reply: Reply
        if effect.status != nil || effect.reset == .before {
            reply = .error(effect.status ?? 503, code: effect.code, message: "A fault was asked for", because: "fault")
        } else {
            reply = self.backend.reply(to: request, from: caller, at: now, clockSkew: effect.clockSkew ?? 0)
        }
        let announcements = reply.events.map(self.backend.announcement(of:))
        let userID = self.backend.userID(of: reply)
        let note: @Sendable (isolated EmulatorCore, Reply) -> Void = { core, reply in
            core.tell(
                of: core.journal.append(
                    request,
                    reply: reply,
                    fault: fault?.name,
                    deviceName: device?.name,
                    userID: userID,
                    at: now
                )
            )
        }
        let failure = await self.commit { [reply] core in
            core.tell(announcements)
            core.send(reply.pushes)
            note(core, reply)
        }
        if let failure {
            reply = failure
            note(self, reply)
        }
        return fault == nil ? reply.response : effect.spoil(reply.response, self.clock)
    }

    /// Only the backend knows whose a token is. It is a value: a copy can be asked and thrown away.
    private func activationID(of request: ReceivedRequest, from caller: Backend.Caller) -> String? {
        var trial = self.backend
        return trial.reply(to: request, from: caller, at: self.now).activationID
    }

    // MARK: Time

    var now: Date { self.time.now() }
    var timeMode: VirtualTime.Mode { self.time.mode }

    /// - Returns: `false` when the clock cannot show what it was set to; it then stays as it was.
    @discardableResult
    func changeTime(_ change: @Sendable (inout VirtualTime) -> Void) async -> Bool {
        var changed = self.time
        change(&changed)
        guard Date.shownByClocks.contains(changed.now()) else { return false }
        self.time = changed
        self.send(.clock, status: self.time.mode.rawValue)
        await self.settle()
        return true
    }

    /// Does what has become due without a request.
    func settle() async {
        self.mailroom.wakeIfDue(at: self.now.milliseconds)
        self.devices.wakeIfDue(at: self.now.milliseconds)
        guard let deadline = self.backend.nextDeadline, deadline <= self.now else { return }
        // A change that cannot be written is due again the next time.
        try? await self.commit(self.backend.settle(at: self.now))
    }

    /// Lets operations expire in time for those that watch, until the task is canceled. (Requests never depend on it.)
    func keepTime() async {
        while (try? await self.clock.sleep(for: .seconds(1))) != nil { await self.settle() }
    }

    // MARK: Faults

    var faultRules: [FaultRule] { self.faults.rules }

    func setFaults(_ rules: [FaultRule]) {
        self.faults.rules = rules
        self.send(.faults)
    }

    /// - Returns: `false` when there are so many already; nothing is added then.
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
        try rules.check(self.configuration.profile)
        if let id = rules.upgradeOffers.sorted().first(where: { self.backend.state.applications[$0] == nil }) {
            throw EmulatorError(.invalidConfiguration, "'upgradeOffers' names no application: there is no '\(id)'")
        }
        self.backend.protocolRules = rules
        self.send(.protocolRules)
    }
}
