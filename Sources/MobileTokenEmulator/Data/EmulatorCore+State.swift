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

    /// Back to the state at the start, or that of the last import.
    func reset() async throws(EmulatorError) {
        try await self.restore(self.initial) { core in
            core.journal.removeAll()
            core.pushes.removeAll()
        }
    }

    func exported() throws -> [UInt8] {
        self.keepDevices()
        return try self.backend.exported()
    }

    /// Lets the state hold what the virtual devices keep.
    func keepDevices() {
        for record in self.devices.takeChanges() {
            self.backend.state.virtualDevices[record.device.id] = record.document
        }
    }

    /// Replaces all state. A document that does not decode changes nothing.
    func importState(_ document: [UInt8]) async throws(EmulatorError) {
        let imported = try Backend(document: document, self.configuration)
        let whole = try WholeState(imported, self.configuration)
        self.initial = whole
        try await self.replaceState(with: imported, whole.devices)
    }

    func administer(_ change: AdministrativeChange) async throws(EmulatorError) {
        let events: [BackendEvent]
        do { events = try self.backend.administer(change, at: self.now) } catch { throw EmulatorError(error) }
        try await self.commit(events)
    }

    /// The parts that one change may touch together.
    struct Changeable: Sendable {
        var backend: Backend
        var time: VirtualTime
        var faults: FaultInjector
        /// The virtual devices that were made, and how many more there is room for.
        var made: [MadeDevice] = []
        let room: Int
        /// The error for one more.
        let isFull: EmulatorError
    }

    /// The parts that a change may touch, as they are now.
    var changeable: Changeable {
        Changeable(
            backend: self.backend,
            time: self.time,
            faults: self.faults,
            room: self.devices.room,
            isFull: self.devices.isFull
        )
    }

    /// The state in so far as a trial depends on it.
    struct Revision: Equatable {
        let state: UInt64
        let change: UInt64
        let epoch: Int
        let time: VirtualTime
        let faultRules: [FaultRule]
        let protocolRules: EmulatorProtocolRules
    }

    var revision: Revision {
        Revision(
            state: self.unwritten.version,
            change: self.changeCount,
            epoch: self.devices.epoch,
            time: self.time,
            faultRules: self.faults.rules,
            protocolRules: self.backend.protocolRules
        )
    }

    /// Changes state, time and faults in one step. A change that throws leaves all of them as they were.
    ///
    /// - Parameter kind: The kind of an event that is sent in addition to those that `body` returns.
    func change<Result: Sendable>(
        telling kind: Emulator.Event.Kind? = nil,
        _ body: @Sendable (inout Changeable) throws -> (result: Result, events: [BackendEvent])
    ) async throws -> Result {
        let former = self.changeable
        var changed = former
        let (result, events) = try body(&changed)
        (self.backend, self.time, self.faults) = (changed.backend, changed.time, changed.faults)
        self.changeCount += 1
        let announcements = events.map(self.backend.announcement(of:))
        let failure = await self.commit { [changed] core in
            if changed.time != former.time { core.send(.clock, status: changed.time.mode.rawValue) }
            if changed.faults.rules != former.faults.rules { core.send(.faults) }
            if let kind { core.send(kind) }
            core.tell(announcements)
            for device in changed.made { core.take(device) }
        }
        guard failure == nil else {
            // The rest is what the data file holds.
            (self.time, self.faults) = (former.time, former.faults)
            self.backend.adoptRules(of: former.backend)
            throw EmulatorError.notWritten
        }
        await self.settle()
        return result
    }

    // MARK: Data file

    /// Lets go of the data file, so that another server can have it. What changes from now on is refused.
    func closeDataFile() async {
        let writing = self.writing
        self.dataFile = nil
        await writing?.value
    }

    /// The statistics of the data file since the start; `nil` without one.
    var dataFileStatistics: DataFile.Statistics? {
        get async { await self.dataFile?.statistics }
    }
}
