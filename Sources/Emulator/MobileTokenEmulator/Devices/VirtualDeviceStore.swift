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
        fileprivate var roster = DeviceRoster()
        fileprivate var keys: [String: DeviceKeys] = [:]
        /// Indicates whether they come from a document, which may lack notifications of its operations.
        fileprivate var areRead = false

        init() {}

        /// The records in order of creation.
        var records: [DeviceRecord] {
            self.roster.newestFirst.reversed().compactMap { device in
                self.keys[device.id].map { DeviceRecord(device: device, keys: $0) }
            }
        }

        fileprivate mutating func insert(_ record: DeviceRecord) {
            (self.roster[record.device.id], self.keys[record.device.id]) = (record.device, record.keys)
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
                self.insert(record)
            }
            guard self.roster.count <= capacity else {
                throw EmulatorError(.capacityExceeded, "There is no room for so many virtual devices (\(capacity))")
            }
        }
    }

    private struct State {
        /// The devices; the keys of those with sessions are older than theirs.
        var contents = Contents()
        /// The devices that have acted since they were last replaced.
        var sessions: [String: DeviceSession] = [:]
        /// The number of devices being made.
        var reserved = 0
        /// The tags of the keys in the state.
        var keptTags: [String: WriteTag] = [:]
        /// The number of replacements of all devices, so that work for an earlier device is not recorded for a later one.
        var epoch = 0

        /// The contents with the keys of the sessions.
        var current: Contents {
            var contents = self.contents
            for (id, session) in self.sessions { contents.keys[id] = session.keys }
            contents.areRead = false
            return contents
        }

        mutating func session(of id: String, _ site: (DeviceCaller) -> DeviceSite) -> DeviceSession? {
            if let session = self.sessions[id] { return session }
            guard let keys = self.contents.keys[id], let device = self.contents.roster[id] else { return nil }
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
    var roster: DeviceRoster { self.state.withLock { $0.contents.roster } }
    var contents: Contents { self.state.withLock { $0.current } }
    var epoch: Int { self.state.withLock { $0.epoch } }

    /// Changes the devices, and wakes the operator.
    func change<Result: Sendable>(_ change: (inout DeviceRoster) -> Result) -> Result {
        defer { self.work.raise() }
        return self.state.withLock { change(&$0.contents.roster) }
    }

    /// The number of further devices allowed.
    var room: Int { self.state.withLock { max(0, self.capacity - $0.contents.roster.count - $0.reserved) } }

    /// Reserves room for one device until ``release()``.
    func reserve() throws(EmulatorError) {
        let hasRoom = self.state.withLock { state in
            guard state.contents.roster.count + state.reserved < self.capacity else { return false }
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
    func add(_ record: DeviceRecord, _ session: DeviceSession?) {
        self.state.withLock { state in
            state.contents.insert(record)
            state.sessions[record.device.id] = session
        }
        self.work.raise()
    }

    /// - Returns: `true` if there was one.
    func remove(_ id: String) -> Bool {
        self.state.withLock { state in
            let isKnown = state.contents.roster[id] != nil
            (state.contents.roster[id], state.contents.keys[id]) = (nil, nil)
            (state.sessions[id], state.keptTags[id]) = (nil, nil)
            return isKnown
        }
    }

    func replace(with contents: Contents, at now: Milliseconds) {
        self.state.withLock { state in
            (state.contents, state.sessions) = (contents, [:])
            // Marks all of them as changed, too.
            state.contents.roster.resume(at: now, looking: contents.areRead)
            state.epoch += 1
        }
        self.work.raise()
    }

    // MARK: State

    /// Lets the next ``takeChanges()`` return all devices, because the state was replaced.
    func markAllChanged() { self.state.withLock { $0.contents.roster.markAllChanged() } }

    /// Returns the devices that changed since the last call, in order of creation.
    func takeChanges() -> [DeviceRecord] {
        self.state.withLock { state in
            var changed = state.contents.roster.takeChanges()
            for (id, session) in state.sessions {
                let tag = session.tag
                if state.keptTags[id] != tag { changed.insert(id) }
                state.keptTags[id] = tag
                if changed.contains(id) { state.contents.keys[id] = session.keys }
            }
            return changed.isEmpty ? [] : state.contents.records.filter { changed.contains($0.device.id) }
        }
    }

    // MARK: Sessions

    /// Returns a device's session; `nil` if there is no such device.
    func session(of id: String, _ site: (DeviceCaller) -> DeviceSite) -> DeviceSession? {
        self.state.withLock { $0.session(of: id, site) }
    }

    // MARK: Operator

    func wakeIfDue(at now: Milliseconds) {
        if self.state.withLock({ $0.contents.roster.hasJobs(at: now) }) { self.work.raise() }
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
            state.contents.roster.takeJobs(at: now).compactMap { job in
                let id = job.deviceID
                guard let session = state.session(of: id, site) else { return nil }
                return Work(job: job, session: session, epoch: state.epoch)
            }
        }
    }

    /// Records the outcome of a job.
    func finish(_ work: Work, _ note: (inout DeviceRoster) -> Void) {
        self.state.withLock { state in
            guard state.epoch == work.epoch else { return }
            note(&state.contents.roster)
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
