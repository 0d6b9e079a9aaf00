import Coordination
import EmulatorBackend
import Synchronization

/// The virtual devices, where those who have something for them and the one who operates them meet.
final class DeviceRoom: Sendable {
    /// A job, with the keys it takes.
    struct Work: Sendable {
        let job: DeviceRoster.Job
        var session: any DeviceSession
        let epoch: Int
    }

    /// The devices and their keys: what is copied and put back.
    struct Contents: Sendable {
        fileprivate(set) var roster = DeviceRoster()
        /// Those of devices that are doing something are as they were when their last request left.
        fileprivate var sessions: [String: any DeviceSession] = [:]
    }

    private struct State {
        var contents = Contents()
        /// Devices that are being made.
        var reserved = 0
        /// Counts how often all devices were replaced: what is done for one of before is not noted with one of after.
        var epoch = 0
    }

    private let capacity: Int
    private let state = Mutex(State())
    private let work = Signal()

    init(capacity: Int) { self.capacity = capacity }

    /// The devices at this moment, to read from.
    var roster: DeviceRoster { self.contents.roster }
    var contents: Contents { self.state.withLock { $0.contents } }
    var epoch: Int { self.state.withLock { $0.epoch } }

    /// Changes the devices, and lets the operator look at them.
    func change<Result: Sendable>(_ change: (inout DeviceRoster) -> Result) -> Result {
        defer { self.work.raise() }
        return self.state.withLock { change(&$0.contents.roster) }
    }

    /// For how many more devices there is room.
    var room: Int { self.state.withLock { max(0, self.capacity - $0.contents.roster.count - $0.reserved) } }

    /// Makes room for one device until ``release()``.
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

    /// Takes over a device for which there is room.
    func add(_ device: MadeDevice, at now: Milliseconds) {
        let id = device.session.activationID
        let version = type(of: device.session).version
        self.state.withLock { state in
            state.contents.sessions[id] = device.session
            state.contents.roster.add(id, name: device.name, version: version, device.rule, at: now)
        }
        self.work.raise()
    }

    /// - Returns: Whether there was one.
    func remove(_ id: String) -> Bool {
        self.state.withLock { state in
            state.contents.sessions[id] = nil
            guard state.contents.roster[id] != nil else { return false }
            state.contents.roster.remove(id)
            return true
        }
    }

    /// Puts other devices in the place of these.
    func replace(with contents: Contents, at now: Milliseconds) {
        self.state.withLock { state in
            state.contents = contents
            state.contents.roster.interrupt(at: now)
            state.epoch += 1
        }
        self.work.raise()
    }

    // MARK: For the operator

    /// Lets the operator look, if there is something to do by now.
    func wakeIfDue(at now: Milliseconds) {
        if self.state.withLock({ $0.contents.roster.hasJobs(at: now) }) { self.work.raise() }
    }

    /// Waits until there may be something to do.
    ///
    /// - Returns: `false` when the calling task was canceled.
    func waitForWork() async -> Bool { await self.work.wait() }

    /// Returns what is to be done now.
    func takeWork(at now: Milliseconds) -> [Work] {
        self.state.withLock { state in
            state.contents.roster.takeJobs(at: now).compactMap { job in
                guard let session = state.contents.sessions[job.deviceID] else { return nil }
                return Work(job: job, session: session, epoch: state.epoch)
            }
        }
    }

    /// Keeps the keys of a device that is doing something.
    func keep(_ session: any DeviceSession, in epoch: Int) {
        self.state.withLock { state in
            guard state.epoch == epoch, state.contents.roster[session.activationID] != nil else { return }
            state.contents.sessions[session.activationID] = session
        }
    }

    /// Notes what became of a job, and takes back the keys.
    func finish(_ work: Work, _ note: (inout DeviceRoster) -> Void) {
        self.state.withLock { state in
            guard state.epoch == work.epoch, state.contents.roster[work.job.deviceID] != nil else { return }
            state.contents.sessions[work.job.deviceID] = work.session
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
