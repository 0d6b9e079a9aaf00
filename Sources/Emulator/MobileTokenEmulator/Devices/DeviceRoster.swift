import EmulatorBackend

/// The virtual devices and their jobs.
///
/// It only decides: the owner does the jobs of ``takeJobs(at:)`` and reports their outcome. A device does one job at a time.
/// Times are the server clock's.
struct DeviceRoster: Sendable {
    /// An operation that a device decides or has decided.
    struct Task: Sendable, Equatable, Codable {
        typealias State = Emulator.VirtualDevice.Task.State

        let operationID: String
        let decision: Emulator.DeviceDecision
        let reason: String
        /// The one-time code that the user has typed in or scanned.
        let proximityCode: String?
        /// Indicates whether a person requested the decision instead of the rule.
        let isByHand: Bool
        fileprivate let generation: Int
        fileprivate(set) var state = State.waiting
        fileprivate(set) var due: Milliseconds
        /// The reason for the failure, from the server or the device.
        fileprivate(set) var failure: String?
        fileprivate var attempts = 0

        /// Indicates whether an earlier attempt with a lost response may have reached the server.
        var mayBeTaken: Bool { self.isOpen && self.attempts > 0 }

        var isOpen: Bool { self.state == .waiting || self.state == .underWay }
    }

    struct Device: Sendable, Codable {
        let id: String
        let name: String
        let version: String
        let created: Milliseconds
        fileprivate(set) var rule: Emulator.DeviceRule
        /// The tasks, oldest first.
        fileprivate(set) var tasks: [Task] = []
        /// The reason the last look for operations failed; `nil` if it succeeded.
        fileprivate(set) var failure: String?
        /// The time of the next look for operations.
        fileprivate var nextLook: Milliseconds?
        fileprivate var isBusy = false
        /// The number of rules so far: a new rule may decide again what an earlier one has decided.
        fileprivate var generation = 0

        /// Creates a device, which first looks for operations.
        init(
            _ id: String,
            name: String,
            version: String,
            _ rule: Emulator.DeviceRule,
            at now: Milliseconds
        ) {
            (self.id, self.name, self.version, self.created) = (id, name, version, now)
            (self.rule, self.nextLook) = (rule, now)
        }
    }

    enum Job: Sendable, Equatable {
        case look(deviceID: String)
        case decide(deviceID: String, Task)
    }

    /// The number of decided operations kept for each device.
    static let keptTasks = 100
    /// The maximum number of open operations of a device.
    static let openTasks = 1_000
    /// The delay before a retry after a lost response.
    static let retryPause: Milliseconds = 10_000
    static let maximumAttempts = 5

    private var devices = Table<Device>()

    var count: Int { self.devices.count }
    var newestFirst: [Device] { self.devices.keysInOrder.reversed().compactMap { self.devices[$0] } }

    /// Setting a new device appends it.
    subscript(id: String) -> Device? {
        get { self.devices[id] }
        set { self.devices[id] = newValue }
    }

    // MARK: Changes

    /// Lets the next ``takeChanges()`` return all devices.
    mutating func markAllChanged() { self.changeEach { _ in } }

    /// Returns the devices that changed since the last call, and those removed since.
    mutating func takeChanges() -> Set<String> { self.devices.takeChanges() }

    /// Resumes stored devices. Jobs in progress start again, because their outcomes are lost.
    ///
    /// - Parameter isLooking: `true` if devices with a deciding rule look for operations, because notifications may be lost.
    mutating func resume(at now: Milliseconds, looking isLooking: Bool) {
        self.changeEach { device in
            if device.isBusy || isLooking && device.rule.decision != .never { device.look(at: now) }
            device.isBusy = false
            for index in device.tasks.indices where device.tasks[index].state == .underWay {
                device.tasks[index].state = .waiting
                device.tasks[index].attempts += 1
            }
        }
    }

    /// Replaces a device's rule, for undecided operations.
    mutating func setRule(_ rule: Emulator.DeviceRule, of id: String, at now: Milliseconds) {
        self.devices.update(id) { device in
            device.rule = rule
            device.generation += 1
            device.tasks.removeAll { $0.state == .waiting && !$0.isByHand }
            device.nextLook = now
        }
    }

    /// Lets a device decide an operation now, whatever its rule.
    ///
    /// - Returns: `false` if it is already deciding that operation, or has too many.
    mutating func decide(
        _ operationID: String,
        _ decision: Emulator.DeviceDecision,
        reason: String,
        proximityCode: String?,
        by id: String,
        at now: Milliseconds
    ) -> Bool {
        guard var device = self.devices[id], device.openTaskCount < Self.openTasks else { return false }
        guard
            !device.tasks.contains(where: {
                $0.operationID == operationID && ($0.state == .underWay || $0.isByHand && $0.isOpen)
            })
        else { return false }
        device.tasks.removeAll { $0.operationID == operationID && $0.state == .waiting }
        device.tasks.append(
            Task(
                operationID: operationID,
                decision: decision,
                reason: reason,
                proximityCode: proximityCode,
                isByHand: true,
                generation: device.generation,
                due: now
            )
        )
        self.devices[id] = device
        return true
    }

    /// Lets some devices look for operations.
    mutating func look(at now: Milliseconds, where isMeant: (_ id: String) -> Bool) {
        for id in self.devices.keys where isMeant(id) { self.devices.update(id) { $0.look(at: now) } }
    }

    /// Removes an operation that can no longer be decided, unless a device is deciding it or a person asked for it.
    mutating func withdraw(_ operationID: String) {
        self.changeEach { device in
            device.tasks.removeAll { $0.operationID == operationID && $0.state == .waiting && !$0.isByHand }
        }
    }

    private mutating func changeEach(_ change: (inout Device) -> Void) {
        for id in self.devices.keys { self.devices.update(id, change) }
    }

    // MARK: Jobs

    /// Indicates whether ``takeJobs(at:)`` would return any.
    func hasJobs(at now: Milliseconds) -> Bool {
        self.devices.values.contains { $0.nextJob(at: now) != nil }
    }

    /// The time when a device that is idle has something to do.
    func nextDue(after now: Milliseconds) -> Milliseconds? {
        self.devices.values.lazy.flatMap(\.pending).compactMap(\.due).filter { $0 > now }.min()
    }

    /// Indicates whether no device does anything, and none has to.
    func isIdle(at now: Milliseconds) -> Bool {
        self.devices.values.allSatisfy { !$0.isBusy && $0.nextJob(at: now) == nil }
    }

    /// Returns the jobs to do now, at most one per device; oldest devices first.
    mutating func takeJobs(at now: Milliseconds) -> [Job] {
        guard self.hasJobs(at: now) else { return [] }
        return self.devices.keysInOrder.compactMap { id in
            guard var device = self.devices[id], let job = device.nextJob(at: now) else { return nil }
            device.isBusy = true
            switch job {
            case .look: device.nextLook = nil
            case .decide(_, let task): device.change(task.operationID) { $0.state = .underWay }
            }
            self.devices[id] = device
            return job
        }
    }

    /// Records the operations that a device's look found, newest first.
    ///
    /// - Parameter taken: The operations whose decision the server has, though the device got no response.
    mutating func finishLook(
        _ id: String,
        found operations: [String],
        taken: Set<String> = [],
        at now: Milliseconds
    ) {
        self.devices.update(id) { device in
            device.isBusy = false
            device.failure = nil
            let rule = device.rule
            for operation in taken {
                device.change(operation) { ($0.state, $0.failure) = (.done, nil) }
            }
            device.tasks.removeAll { !$0.isByHand && $0.state == .waiting && !operations.contains($0.operationID) }
            guard rule.decision != .never else { return }
            let due = now + rule.after.inMilliseconds
            for operation in operations.reversed() where device.mayDecide(operation) {
                device.tasks.append(
                    Task(
                        operationID: operation,
                        decision: rule.decision,
                        reason: rule.reason,
                        proximityCode: nil,
                        isByHand: false,
                        generation: device.generation,
                        due: due
                    )
                )
            }
        }
    }

    mutating func failLook(_ id: String, _ failure: DeviceFailure, at now: Milliseconds) {
        self.devices.update(id) { device in
            device.isBusy = false
            device.failure = failure.reason
            if case .unanswered = failure { device.nextLook = device.nextLook ?? now + Self.retryPause }
        }
    }

    /// Records the outcome of a decision.
    mutating func finish(_ operationID: String, of id: String, _ failure: DeviceFailure?, at now: Milliseconds) {
        self.devices.update(id) { device in
            device.isBusy = false
            device.change(operationID) { task in
                task.attempts += 1
                task.failure = failure?.reason
                switch failure {
                case nil: task.state = .done
                case .refused: task.state = .failed
                case .unanswered where !task.isByHand && task.attempts < Self.maximumAttempts:
                    (task.state, task.due) = (.waiting, now + Self.retryPause)
                case .unanswered: task.state = .failed
                }
            }
            device.forgetOldest()
        }
    }
}

extension DeviceRoster.Device {
    /// Its looks and open decisions; without a time while in progress.
    var pending: [(operationID: String?, due: Milliseconds?)] {
        let decisions = self.tasks.filter(\.isOpen).map { task in
            (operationID: Optional(task.operationID), due: task.state == .underWay ? nil : Optional(task.due))
        }
        let isLooking = self.isBusy && !self.tasks.contains { $0.state == .underWay }
        return (isLooking ? [(nil, nil)] : []) + (self.nextLook.map { [(nil, $0)] } ?? []) + decisions
    }

    /// Indicates whether a look for operations is in progress or due.
    func isLooking(at now: Milliseconds) -> Bool {
        self.pending.contains { $0.operationID == nil && ($0.due.map { $0 <= now } ?? true) }
    }

    fileprivate var openTaskCount: Int { self.tasks.count { $0.isOpen } }

    /// The next job to do now; `nil` if it is busy.
    fileprivate func nextJob(at now: Milliseconds) -> DeviceRoster.Job? {
        guard !self.isBusy else { return nil }
        if let look = self.nextLook, look <= now { return .look(deviceID: self.id) }
        let due = self.tasks.filter { $0.state == .waiting && $0.due <= now }
        return due.min { $0.due < $1.due }.map { .decide(deviceID: self.id, $0) }
    }

    /// Indicates whether the rule applies to an operation: it is not open, and this rule has not decided it.
    fileprivate func mayDecide(_ operation: String) -> Bool {
        guard self.openTaskCount < DeviceRoster.openTasks else { return false }
        return !self.tasks.contains { task in
            task.operationID == operation && (task.isOpen || task.generation == self.generation)
        }
    }

    fileprivate mutating func look(at now: Milliseconds) { self.nextLook = min(self.nextLook ?? now, now) }

    /// Changes the open task of an operation.
    fileprivate mutating func change(_ operationID: String, _ change: (inout DeviceRoster.Task) -> Void) {
        guard let index = self.tasks.firstIndex(where: { $0.operationID == operationID && $0.isOpen }) else { return }
        change(&self.tasks[index])
    }

    fileprivate mutating func forgetOldest() {
        var excess = self.tasks.count - self.openTaskCount - DeviceRoster.keptTasks
        guard excess > 0 else { return }
        self.tasks.removeAll { task in
            guard excess > 0, !task.isOpen else { return false }
            excess -= 1
            return true
        }
    }
}
