import Coordination
import DecisionReceipts
import EmulatorBackend
import Synchronization

/// Thread-safe store of the virtual devices, shared by API calls and the device operator.
final class VirtualDeviceStore: Sendable {
    struct Work: Sendable {
        let job: DeviceRoster.Job
        let session: DeviceSession
        let epoch: Int
    }

    /// The devices and their keys, for copying and restoring.
    struct Contents: Sendable {
        fileprivate(set) var roster = DeviceRoster()
        fileprivate var keys: [String: DeviceKeys] = [:]
        /// Indicates whether they come from a document, which may lack notifications of its operations.
        fileprivate var areRead = false

        init() {}

        fileprivate init(roster: DeviceRoster, keys: [String: DeviceKeys]) {
            (self.roster, self.keys) = (roster, keys)
        }

        /// The records in order of creation.
        var records: [DeviceRecord] {
            self.roster.newestFirst.reversed().compactMap { device in
                self.keys[device.id].map { DeviceRecord(device: device, keys: $0) }
            }
        }

        /// Reads the devices in a state.
        ///
        /// - Throws: `invalidDocument`, or `capacityExceeded` if there are too many.
        init(of backend: Backend, capacity: Int) throws(EmulatorError) {
            self.areRead = true
            let table = backend.state.virtualDevices
            for id in table.keysInOrder {
                guard let document = table[id] else { continue }
                let record = try DeviceRecord(document)
                guard record.device.id.utf8.elementsEqual(id.utf8) else {
                    throw EmulatorError(.invalidDocument, "A virtual device is that of another activation")
                }
                self.roster.insert(record.device)
                self.keys[id] = record.keys
            }
            guard self.roster.count <= capacity else {
                throw EmulatorError(.capacityExceeded, "There is no room for so many virtual devices (\(capacity))")
            }
        }
    }

    private struct State {
        var roster = DeviceRoster()
        /// The keys of idle devices; the others have them in their sessions.
        var keys: [String: DeviceKeys] = [:]
        /// The devices that have acted since they were last replaced.
        var sessions: [String: DeviceSession] = [:]
        /// The number of devices being made.
        var reserved = 0
        /// The tags of the keys in the state.
        var keptTags: [String: WriteTag] = [:]
        /// The number of replacements of all devices, so that work for an earlier device is not recorded for a later one.
        var epoch = 0

        var contents: Contents {
            Contents(roster: self.roster, keys: self.keys.merging(self.sessions.mapValues(\.keys)) { $1 })
        }

        mutating func session(of id: String, _ site: (DeviceCaller) -> DeviceSite) -> DeviceSession? {
            if let session = self.sessions[id] { return session }
            guard let keys = self.keys[id], let device = self.roster[id] else { return nil }
            let session = DeviceSession(keys, at: site(DeviceCaller(name: device.name, epoch: self.epoch)))
            self.sessions[id] = session
            return session
        }
    }

    private let capacity: Int
    private let state = Mutex(State())
    private let work = Signal()

    init(capacity: Int) { self.capacity = capacity }

    /// A snapshot of the devices.
    var roster: DeviceRoster { self.state.withLock { $0.roster } }
    var contents: Contents { self.state.withLock { $0.contents } }
    var epoch: Int { self.state.withLock { $0.epoch } }

    /// Changes the devices, and wakes the operator.
    func change<Result: Sendable>(_ change: (inout DeviceRoster) -> Result) -> Result {
        defer { self.work.raise() }
        return self.state.withLock { change(&$0.roster) }
    }

    /// The number of further devices allowed.
    var room: Int { self.state.withLock { max(0, self.capacity - $0.roster.count - $0.reserved) } }

    /// Reserves room for one device until ``release()``.
    func reserve() throws(EmulatorError) {
        let hasRoom = self.state.withLock { state in
            guard state.roster.count + state.reserved < self.capacity else { return false }
            state.reserved += 1
            return true
        }
        guard hasRoom else { throw self.isFull }
    }

    func release() { self.state.withLock { $0.reserved -= 1 } }

    var isFull: EmulatorError {
        EmulatorError(.capacityExceeded, "There is no room for more virtual devices (\(self.capacity)); remove some")
    }

    /// Adds a device, with room reserved for it.
    func add(_ device: MadeDevice, at now: Milliseconds) {
        let (id, version) = (device.keys.activationID, device.keys.model.version.rawValue)
        self.state.withLock { state in
            state.keys[id] = device.keys
            state.sessions[id] = device.session
            state.roster.add(id, name: device.name, version: version, device.rule, at: now)
        }
        self.work.raise()
    }

    /// - Returns: `true` if there was one.
    func remove(_ id: String) -> Bool {
        self.state.withLock { state in
            (state.keys[id], state.sessions[id], state.keptTags[id]) = (nil, nil, nil)
            guard state.roster[id] != nil else { return false }
            state.roster.remove(id)
            return true
        }
    }

    func replace(with contents: Contents, at now: Milliseconds) {
        self.state.withLock { state in
            (state.roster, state.keys, state.sessions) = (contents.roster, contents.keys, [:])
            state.roster.resume(at: now, looking: contents.areRead)
            state.roster.markAllChanged()
            state.epoch += 1
        }
        self.work.raise()
    }

    // MARK: State

    /// Lets the next ``takeChanges()`` return all devices, because the state was replaced.
    func markAllChanged() { self.state.withLock { $0.roster.markAllChanged() } }

    /// Returns the devices that changed since the last call, in order of creation.
    func takeChanges() -> [DeviceRecord] {
        self.state.withLock { state in
            var changed = state.roster.takeChanges()
            for (id, session) in state.sessions {
                let tag = session.tag
                if state.keptTags[id] != tag { changed.insert(id) }
                state.keptTags[id] = tag
            }
            return state.roster.newestFirst.reversed().compactMap { device in
                guard changed.contains(device.id) else { return nil }
                guard let keys = state.sessions[device.id]?.keys ?? state.keys[device.id] else { return nil }
                return DeviceRecord(device: device, keys: keys)
            }
        }
    }

    // MARK: Sessions

    /// Returns a device's session; `nil` if there is no such device.
    func session(of id: String, _ site: (DeviceCaller) -> DeviceSite) -> DeviceSession? {
        self.state.withLock { $0.session(of: id, site) }
    }

    // MARK: Operator

    func wakeIfDue(at now: Milliseconds) {
        if self.state.withLock({ $0.roster.hasJobs(at: now) }) { self.work.raise() }
    }

    /// Waits until a job may be due.
    ///
    /// - Returns: `false` if the calling task was canceled.
    func waitForWork() async -> Bool { await self.work.wait() }

    /// Returns the jobs to do now.
    ///
    /// - Parameter site: Returns the environment of a device that has not acted yet.
    func takeWork(at now: Milliseconds, _ site: (DeviceCaller) -> DeviceSite) -> [Work] {
        self.state.withLock { state in
            state.roster.takeJobs(at: now).compactMap { job in
                let id = job.deviceID
                guard let session = state.session(of: id, site) else { return nil }
                return Work(job: job, session: session, epoch: state.epoch)
            }
        }
    }

    /// Records the outcome of a job.
    func finish(_ work: Work, _ note: (inout DeviceRoster) -> Void) {
        self.state.withLock { state in
            guard state.epoch == work.epoch, state.roster[work.job.deviceID] != nil else { return }
            note(&state.roster)
        }
        self.work.raise()
    }
}

extension DeviceRoster.Job {
    var deviceID: String {
        switch self {
        case .look(let id), .decide(let id, _): id
        }
    }
}
