import Basics
import Coordination
import EmulatorBackend
import ExactJSON
import Foundation
import Synchronization

/// The development server's state and all its changes, one at a time.
actor EmulatorCore {
    // Properties that extensions in other files change are not private; no other code may change them.
    var backend: Backend
    /// The state that a reset restores.
    var initial: WholeState
    /// The reset state as in the data file, restored if a write fails.
    var writtenInitial: WholeState
    var time: VirtualTime {
        didSet { self.publishedTime.withLock { $0 = self.time } }
    }
    /// The time, for synchronous access by the virtual devices' clock.
    nonisolated let publishedTime: Mutex<VirtualTime>
    var faults: FaultInjector
    var journal: Journal
    var faultRandomness: SeededRandomness
    var postponed = PostponedRequests()
    var eventCount: UInt64 = 0
    /// The number of atomic changes so far.
    var changeCount: UInt64 = 0
    var unwritten: UnwrittenChanges
    var dataFile: DataFile?
    /// Indicates whether the state was read from the data file at the start.
    nonisolated let isContinued: Bool
    /// The objects made by the initial scenario, as in the cloud API.
    var played: JSONValue?
    /// Indicates whether the state is incomplete and must not be written to the data file yet.
    var isBeginning = false
    /// The changes not yet in the data file, oldest first.
    var commits: [Commit] = []
    /// The version of the state in the data file.
    var durableVersion: UInt64 = 0
    /// The task that writes to the data file; `nil` if there is nothing to write. It ends by itself, and ``closeDataFile()``
    /// waits for it.
    var writing: Task<Void, Never>?
    let configuration: Emulator.Configuration
    /// The clock of delays and dripping bodies.
    nonisolated let clock: any Clock<Duration>
    nonisolated let events = Broadcast(startingWith: EventQueue())
    nonisolated let callbackQueue: CallbackQueue
    nonisolated let devices: VirtualDeviceStore
    /// The messages for a push server.
    var pushes: RecentLog<Emulator.PushSummary>
    /// The status of each activation that the bank and the device were last notified of.
    var toldStatuses: [String: String] = [:]
    nonisolated let publishedApplication: Mutex<ApplicationDescription>

    /// Starts with the data file's state, else with a copy, else with the configuration's initial state, else empty.
    ///
    /// - Parameters:
    ///   - configuration: A configuration with a password.
    ///   - copied: The state of another server.
    ///   - retention: The limits on the kept history.
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
        self.callbackQueue = CallbackQueue(capacity: retention.deliveries)
        self.devices = VirtualDeviceStore(capacity: configuration.capacity.devices)
        var dataFile: (file: DataFile, saved: DataFile.Saved?)?
        var devices: VirtualDeviceStore.Contents?
        if let path = configuration.dataFile { dataFile = try DataFile.open(path: path) }
        let backend: Backend
        if let saved = dataFile?.saved {
            self.initial = try WholeState(Backend(document: saved.initial, configuration), configuration)
            backend = try Backend(saved.current, configuration)
            devices = try VirtualDeviceStore.Contents(of: backend, capacity: configuration.capacity.devices)
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
        self.writtenInitial = self.initial
        self.backend = backend
        self.publishedApplication = Mutex(backend.defaultApplication)
        self.dataFile = dataFile?.file
        self.isContinued = dataFile?.saved != nil
        let initial = self.initial
        self.publishedTime = Mutex(initial.time)
        (self.time, self.faults, self.faultRandomness) = (initial.time, initial.faults, initial.faultRandomness)
        self.toldStatuses = backend.activationStatuses
        self.devices.replace(with: devices ?? initial.devices, at: initial.time.now().milliseconds)
        self.callbackQueue.change { $0.replace(with: initial.outbox) }
    }

    /// Runs the background work until the task is canceled.
    nonisolated func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepTime() }
            group.addTask { await CallbackCourier(core: self).run() }
            group.addTask { await DeviceOperator(core: self).run() }
        }
        await self.forgetPostponed()
    }

    // MARK: Time

    var now: Date { self.time.now() }
    /// The same, without waiting for the server.
    nonisolated var publishedNow: Date { self.publishedTime.withLock { $0.now() } }
    var timeMode: VirtualTime.Mode { self.time.mode }

    /// - Returns: `false` if the clock cannot show the new time; it stays unchanged then.
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

    /// Performs the work that is due without a request.
    func settle() async {
        self.callbackQueue.wakeIfDue(at: self.now.milliseconds)
        self.devices.wakeIfDue(at: self.now.milliseconds)
        await self.carryOutPostponed { [now = self.now.milliseconds] in $0.due <= now }
        guard let deadline = self.backend.nextDeadline, deadline <= self.now else { return }
        // A change that cannot be written is due again next time.
        try? await self.commit(self.backend.settle(at: self.now))
    }

    /// Expires operations on time for observers, until the task is canceled. Requests never depend on it.
    func keepTime() async {
        while (try? await self.clock.sleep(for: self.pauseBeforeSettling)) != nil { await self.settle() }
    }

    /// A second; less where another attempt of a callback, or a decision of a device, is due before.
    private var pauseBeforeSettling: Duration {
        guard self.time.mode == .real else { return .seconds(1) }
        let now = self.now.milliseconds
        return Self.pause(
            before: [self.callbackQueue.outbox.nextDue, self.devices.roster.nextDue(after: now)],
            at: now
        )
    }

    static func pause(before due: [Milliseconds?], at now: Milliseconds) -> Duration {
        let next = due.compactMap(\.self).filter { $0 > now }.min() ?? .max
        return .milliseconds(min(next.subtractingSaturated(now), 1000))
    }

    // MARK: Protocol

    var protocolRules: EmulatorProtocolRules { self.backend.protocolRules }

    func setProtocolRules(_ rules: EmulatorProtocolRules) throws(EmulatorError) {
        try rules.check(self.configuration.profile)
        for (name, ids) in [
            ("upgradeOffers", rules.upgradeOffers), ("unsupportedApplications", rules.unsupportedApplications),
        ] {
            guard let id = ids.sorted().first(where: { self.backend.state.applications[$0] == nil }) else { continue }
            throw EmulatorError(.invalidConfiguration, "'\(name)' names no application: there is no '\(id)'")
        }
        self.backend.protocolRules = rules
        self.send(.protocolRules)
    }
}
