import APIDescriptions
import EmulatorBackend
import Synchronization

/// Everything that a server or a space holds, except its history: the journal and the push messages.
///
/// A value that is copied and restored as one, for resets and copies.
struct WholeState: Sendable {
    /// The backend, including templates and protocol rules.
    var backend: Backend
    var time = VirtualTime()
    var faults = FaultInjector()
    var faultRandomness: SeededRandomness
    /// The virtual devices with their keys.
    var devices = VirtualDeviceStore.Contents()
    var outbox = Outbox()

    /// Creates the state of a backend and the virtual devices it holds.
    init(_ backend: Backend, _ configuration: Emulator.Configuration) throws(EmulatorError) {
        (self.backend, self.faultRandomness) = (backend, SeededRandomness(seed: configuration.seed))
        self.devices = try VirtualDeviceStore.Contents(of: backend, capacity: configuration.capacity.devices)
    }

    fileprivate init(_ core: isolated EmulatorCore) {
        (self.backend, self.time, self.faults) = (core.backend, core.time, core.faults)
        self.faultRandomness = core.faultRandomness
        // The separate copy of the devices counts.
        self.backend.state.virtualDevices.removeAll { _ in true }
    }

    /// Returns a document of the state and the devices.
    func exported() throws -> [UInt8] {
        var backend = self.backend
        for record in self.devices.records { backend.state.virtualDevices[record.device.id] = record.document }
        return try backend.exported()
    }

    /// Returns a copy for a server with another configuration.
    func copied(for configuration: Emulator.Configuration) throws(EmulatorError) -> Self {
        var copy = self
        copy.backend = try Backend(copying: self.backend, configuration)
        return copy
    }
}

extension EmulatorCore {
    /// Returns the current state once it is durable.
    func wholeState() async throws(EmulatorError) -> WholeState {
        var whole = WholeState(self)
        // When written, the effects of the changes so far are complete, and later ones are excluded.
        let followed = Mutex((devices: whole.devices, outbox: whole.outbox))
        let failure = await self.commit { core in
            followed.withLock { $0 = (core.devices.contents, core.callbackQueue.outbox) }
        }
        guard failure == nil else { throw .notWritten }
        (whole.devices, whole.outbox) = followed.withLock { $0 }
        return whole
    }

    /// Restores a whole state as one change; work in progress for the previous state is not recorded afterwards.
    ///
    /// - Parameter effects: Further effects, run before the change is reported.
    func restore(_ whole: WholeState, _ effects: @escaping Effects = { _ in }) async throws(EmulatorError) {
        let former = (self.time, self.faults, self.faultRandomness)
        (self.time, self.faults, self.faultRandomness) = (whole.time, whole.faults, whole.faultRandomness)
        do {
            try await self.replaceState(with: whole.backend, whole.devices) { core in
                core.callbackQueue.change { $0.replace(with: whole.outbox) }
                effects(core)
            }
        } catch {
            (self.time, self.faults, self.faultRandomness) = former
            throw error
        }
        await self.settle()
    }

    /// Replaces the state and the devices, whose keys fit only their own state.
    func replaceState(
        with backend: Backend,
        _ devices: VirtualDeviceStore.Contents = .init(),
        _ effects: @escaping Effects = { _ in }
    ) async throws(EmulatorError) {
        let (former, formerDevices) = (self.backend, self.devices.contents)
        self.backend = backend
        // From now on only these devices are kept.
        self.backend.state.virtualDevices.removeAll { _ in true }
        self.unwritten.noteReplacement()
        self.devices.replace(with: devices, at: self.now.milliseconds)
        let failure = await self.commit { core in
            core.forgetPostponed()
            effects(core)
            core.publishedApplication.withLock { $0 = backend.defaultApplication }
            core.toldStatuses = backend.activationStatuses
            core.send(.reset)
        }
        guard failure != nil else { return }
        self.backend.adoptRules(of: former)
        self.devices.replace(with: formerDevices, at: self.now.milliseconds)
        throw .notWritten
    }
}

extension Schema {
    static let exportedState = Self.named(
        "ExportedState",
        .open([.required("format", .string), .required("version", .count, unit: .version), .required("state", .open())])
    )
}
