import EmulatorBackend
import EmulatorMessages
import Foundation
import Synchronization

// The whole state: what a reset goes back to, what replaces it, and what the data file keeps of it.
extension EmulatorCore {
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
        // Their keys fit no activation of another state.
        self.devices.removeAll()
        self.unwritten.noteReplacement()
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
        var devices: NewDevices
    }

    /// Changes state, time and faults in one step. A change that throws leaves all of them as they were.
    ///
    /// - Parameter kind: What is told of beside what `body` returns.
    func change<Result: Sendable>(
        telling kind: Emulator.Event.Kind? = nil,
        _ body: @Sendable (inout Changeable) throws -> (result: Result, events: [BackendEvent])
    ) async throws -> Result {
        let rules = self.faults.rules
        var changed = Changeable(
            backend: self.backend,
            time: self.time,
            faults: self.faults,
            devices: NewDevices(room: self.devices)
        )
        let (result, events) = try body(&changed)
        let isTimeChanged = changed.time != self.time
        (self.backend, self.time, self.faults) = (changed.backend, changed.time, changed.faults)
        if isTimeChanged { self.send(.clock, status: self.time.mode.rawValue) }
        if self.faults.rules != rules { self.send(.faults) }
        if let kind { self.send(kind) }
        self.send(events)
        for device in changed.devices.made { self.take(device) }
        self.noteChanges()
        self.settle()
        if await self.persist() != nil { throw EmulatorError(.storage, "The state could not be written") }
        return result
    }

    // MARK: Data file

    /// Remembers what a change of the backend changed. Most requests change nothing, and nothing is written for them.
    func noteChanges() {
        self.unwritten.note(self.backend.state.takeChanges(), isKept: self.dataFile != nil)
    }

    /// Waits until the state as it is now is durable.
    ///
    /// - Returns: The response when that fails; `nil` when it succeeds.
    func persist() async -> Reply? {
        guard let dataFile = self.dataFile else {
            return self.configuration.dataFile == nil ? nil : .error(503, message: "The server has stopped")
        }
        do {
            try await dataFile.persist(version: self.unwritten.version) { try await self.takeUnwritten() }
            return nil
        } catch {
            return .error(500, message: "The state could not be written")
        }
    }

    /// Lets go of the data file, so that another server can have it. What changes from now on is refused.
    func closeDataFile() { self.dataFile = nil }

    private func takeUnwritten() throws -> (version: UInt64, changes: DataFile.Changes) {
        try self.unwritten.take(from: self.backend, initial: self.initialBackend)
    }

    /// What has been written to the data file since the start; `nil` without one.
    var dataFileStatistics: DataFile.Statistics? {
        get async { await self.dataFile?.statistics }
    }
}
