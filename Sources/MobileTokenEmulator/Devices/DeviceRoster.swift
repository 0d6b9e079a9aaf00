import EmulatorBackend

/// The virtual devices, and what each has to do.
///
/// It decides and does nothing: the owner does the jobs that ``takeJobs(at:)`` returns, and reports what became of them.
/// A device does one thing at a time. Times are those of the server's clock.
struct DeviceRoster: Sendable {
    /// One operation that a device has to decide, or has decided.
    struct Task: Sendable, Equatable, Codable {
        typealias State = Emulator.VirtualDevice.Task.State

        let operationID: String
        let decision: Emulator.DeviceDecision
        let reason: String
        /// The one-time code that the user has typed in or scanned.
        let proximityCode: String?
        /// Indicates whether a person asked for it, and not the rule.
        let isByHand: Bool
        fileprivate let generation: Int
        fileprivate(set) var state = State.waiting
        fileprivate(set) var due: Milliseconds
        /// The reason it failed, in the words of the server or of the device.
        fileprivate(set) var failure: String?
        fileprivate var attempts = 0

        /// Indicates whether an earlier attempt may have reached the server, though its answer was lost.
        var mayBeTaken: Bool { self.isOpen && self.attempts > 0 }

        var isOpen: Bool { self.state == .waiting || self.state == .underWay }
    }

    struct Device: Sendable, Codable {
        let id: String
        let name: String
        let version: String
        let created: Milliseconds
        fileprivate(set) var rule: Emulator.DeviceRule
        /// Oldest first.
        fileprivate(set) var tasks: [Task] = []
        /// The reason the device could not look what there is to decide; `nil` when it could.
        fileprivate(set) var failure: String?
        /// The time when it next asks the server for operations.
        fileprivate var nextLook: Milliseconds?
        fileprivate var isBusy = false
        /// Counts the rules it has had: what one rule has decided, the next may decide again.
        fileprivate var generation = 0
    }

    /// The next job of a device.
    enum Job: Sendable, Equatable {
        case look(deviceID: String)
        case decide(deviceID: String, Task)
    }

    /// The number of decided operations that are kept of each device.
    static let keptTasks = 100
    /// The number of operations that a device may have to decide at a time.
    static let openTasks = 1_000
    /// The pause before a device tries again what got no response.
    static let retryPause: Milliseconds = 10_000
    static let maximumAttempts = 5

    private var devices: [String: Device] = [:]
    private var order: [String] = []
    /// The devices that were added or changed since ``takeChanges()`` was last called.
    private var changed: Set<String> = []

    var count: Int { self.order.count }
    var newestFirst: [Device] { self.order.reversed().compactMap { self.devices[$0] } }

    subscript(id: String) -> Device? { self.devices[id] }

    // MARK: Changes

    /// Adds a device, which looks what there is to decide.
    mutating func add(
        _ id: String,
        name: String,
        version: String,
        _ rule: Emulator.DeviceRule,
        at now: Milliseconds
    ) {
        var device = Device(id: id, name: name, version: version, created: now, rule: rule)
        device.nextLook = now
        self.insert(device)
    }

    /// Adds a device as it was kept.
    mutating func insert(_ device: Device) {
        if self.devices[device.id] == nil { self.order.append(device.id) }
        self.set(device)
    }

    private mutating func set(_ device: Device) {
        self.devices[device.id] = device
        self.changed.insert(device.id)
    }

    /// Lets the next ``takeChanges()`` return all devices.
    mutating func markAllChanged() { self.changed = Set(self.order) }

    /// Returns the devices that were added or changed since this was last called.
    mutating func takeChanges() -> Set<String> {
        defer { self.changed = [] }
        return self.changed
    }

    mutating func remove(_ id: String) {
        self.devices[id] = nil
        self.changed.remove(id)
        self.order.removeAll { $0 == id }
    }

    /// Lets devices go on where they were: what they were doing begins anew, since nobody will note its outcome.
    ///
    /// - Parameter isLooking: `true` if those that decide by rule look, since the news of an operation may have been lost.
    mutating func resume(at now: Milliseconds, looking isLooking: Bool) {
        for id in self.order {
            self.change(id) { device in
                if device.isBusy || isLooking && device.rule.decision != .never {
                    device.nextLook = min(device.nextLook ?? now, now)
                }
                device.isBusy = false
                for index in device.tasks.indices where device.tasks[index].state == .underWay {
                    device.tasks[index].state = .waiting
                    device.tasks[index].attempts += 1
                }
            }
        }
    }

    /// Gives a device another rule, for what is not decided yet.
    mutating func setRule(_ rule: Emulator.DeviceRule, of id: String, at now: Milliseconds) {
        self.change(id) { device in
            device.rule = rule
            device.generation += 1
            device.tasks.removeAll { $0.state == .waiting && !$0.isByHand }
            device.nextLook = now
        }
    }

    /// Lets a device decide an operation now, whatever its rule says.
    ///
    /// - Returns: `false` when it is about to decide that operation, or has too much to decide.
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
        self.set(device)
        return true
    }

    /// Lets some devices look what there is to decide.
    mutating func look(at now: Milliseconds, where isMeant: (_ id: String) -> Bool) {
        for id in self.order where isMeant(id) {
            self.change(id) { $0.nextLook = min($0.nextLook ?? now, now) }
        }
    }

    /// Forgets an operation that nobody can decide any more, unless a device is about to, or a person wants to know.
    mutating func withdraw(_ operationID: String) {
        for id in self.order {
            self.change(id) { device in
                device.tasks.removeAll { $0.operationID == operationID && $0.state == .waiting && !$0.isByHand }
            }
        }
    }

    private mutating func change(_ id: String, _ change: (inout Device) -> Void) {
        guard var device = self.devices[id] else { return }
        change(&device)
        self.set(device)
    }

    // MARK: Jobs

    /// Indicates whether ``takeJobs(at:)`` would return any.
    func hasJobs(at now: Milliseconds) -> Bool {
        self.devices.values.contains { !$0.isBusy && $0.nextJob(at: now) != nil }
    }

    /// Indicates whether no device does anything, and none has to.
    func isIdle(at now: Milliseconds) -> Bool {
        self.devices.values.allSatisfy { !$0.isBusy && $0.nextJob(at: now) == nil }
    }

    /// Returns what is to be done now, at most one job for each device; oldest devices first.
    mutating func takeJobs(at now: Milliseconds) -> [Job] {
        self.order.compactMap { id in
            guard var device = self.devices[id], !device.isBusy, let job = device.nextJob(at: now) else { return nil }
            device.isBusy = true
            switch job {
            case .look: device.nextLook = nil
            case .decide(_, let task): device.change(task.operationID) { $0.state = .underWay }
            }
            self.set(device)
            return job
        }
    }

    /// Notes what a device found when it looked: the operations that wait for its user, newest first.
    ///
    /// - Parameter taken: The operations of which the server has the device's decision, though the device got no answer.
    mutating func finishLook(
        _ id: String,
        found operations: [String],
        taken: Set<String> = [],
        at now: Milliseconds
    ) {
        self.change(id) { device in
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

    /// Notes that a device could not look.
    mutating func failLook(_ id: String, _ failure: DeviceFailure, at now: Milliseconds) {
        self.change(id) { device in
            device.isBusy = false
            device.failure = failure.reason
            if case .unanswered = failure { device.nextLook = device.nextLook ?? now + Self.retryPause }
        }
    }

    /// Notes what became of a decision.
    mutating func finish(_ operationID: String, of id: String, _ failure: DeviceFailure?, at now: Milliseconds) {
        self.change(id) { device in
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
    /// Its looks for operations, and those that it decides; what is under way has no time.
    var pending: [(operationID: String?, due: Milliseconds?)] {
        let decisions = self.tasks.filter(\.isOpen).map { task in
            (operationID: Optional(task.operationID), due: task.state == .underWay ? nil : Optional(task.due))
        }
        let isLooking = self.isBusy && !self.tasks.contains { $0.state == .underWay }
        return (isLooking ? [(nil, nil)] : []) + (self.nextLook.map { [(nil, $0)] } ?? []) + decisions
    }

    fileprivate var openTaskCount: Int { self.tasks.count { $0.isOpen } }

    fileprivate func nextJob(at now: Milliseconds) -> DeviceRoster.Job? {
        if let look = self.nextLook, look <= now { return .look(deviceID: self.id) }
        let due = self.tasks.filter { $0.state == .waiting && $0.due <= now }
        return due.min { $0.due < $1.due }.map { .decide(deviceID: self.id, $0) }
    }

    /// Indicates whether the rule applies to an operation: neither is it to be decided already, nor did this rule decide it.
    fileprivate func mayDecide(_ operation: String) -> Bool {
        guard self.openTaskCount < DeviceRoster.openTasks else { return false }
        return !self.tasks.contains { task in
            task.operationID == operation && (task.isOpen || task.generation == self.generation)
        }
    }

    /// Changes the task of an operation that is not finished.
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
