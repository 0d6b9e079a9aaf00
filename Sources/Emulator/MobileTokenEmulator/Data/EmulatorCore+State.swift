import EmulatorBackend
import Foundation
import Synchronization

// The whole state: its reset, its replacement, and its part in the data file.
extension EmulatorCore {
    /// The application that clients are configured for; an import may change it.
    nonisolated var application: ApplicationDescription { self.publishedApplication.withLock { $0 } }
    var snapshot: (backend: Backend, time: Date) { (self.backend, self.now) }

    /// Restores the state at the start, or of the last import.
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

    /// Copies the virtual devices that changed since the last call into the state.
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

    /// The parts that one atomic change may touch.
    struct MutableState: Sendable {
        var backend: Backend
        var time: VirtualTime
        var faults: FaultInjector
        /// The newly made virtual devices, and the number of further ones allowed.
        var made: [DeviceRecord] = []
        let room: Int
        /// The error if there are too many.
        let isFull: EmulatorError
    }

    var mutableState: MutableState {
        MutableState(
            backend: self.backend,
            time: self.time,
            faults: self.faults,
            room: self.devices.room,
            isFull: self.devices.isFull
        )
    }

    /// The part of the state that a trial depends on.
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

    /// Changes state, time and faults atomically. If `body` throws, none of them changes.
    ///
    /// - Parameter kind: The kind of an event to send in addition to those that `body` returns.
    func change<Result: Sendable>(
        telling kind: Emulator.Event.Kind? = nil,
        _ body: @Sendable (inout MutableState) throws -> (result: Result, events: [BackendEvent])
    ) async throws -> Result {
        let former = self.mutableState
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
            // The data file restores the rest.
            (self.time, self.faults) = (former.time, former.faults)
            self.backend.adoptRules(of: former.backend)
            throw EmulatorError.notWritten
        }
        await self.settle()
        return result
    }

    // MARK: Data file

    /// Closes the data file, so that another server can open it. Later changes are refused.
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
