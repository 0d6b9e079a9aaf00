import APIDescriptions
import EmulatorBackend
import Synchronization

/// Everything that a server or a space holds, but what has passed: the journal and the push messages.
///
/// It is a value, taken and put back as one: what a reset goes back to, what a snapshot keeps, what a copy begins with.
struct WholeState: Sendable {
    /// Templates and rules of the protocol included.
    var backend: Backend
    var time = VirtualTime()
    var faults = FaultInjector()
    var faultRandomness: Randomness
    /// With their keys.
    var devices = DeviceRoom.Contents()
    var outbox = Outbox()

    /// Takes up a backend, with the virtual devices that it holds.
    init(_ backend: Backend, _ configuration: Emulator.Configuration) throws(EmulatorError) {
        (self.backend, self.faultRandomness) = (backend, Randomness(seed: configuration.seed))
        self.devices = try DeviceRoom.Contents(of: backend, capacity: configuration.capacity.devices)
    }

    fileprivate init(_ core: isolated EmulatorCore) {
        (self.backend, self.time, self.faults) = (core.backend, core.time, core.faults)
        self.faultRandomness = core.faultRandomness
        // Those beside the backend are what counts.
        self.backend.state.virtualDevices.removeAll { _ in true }
    }

    /// Returns the document of the state and the devices.
    func exported() throws -> [UInt8] {
        var backend = self.backend
        for record in self.devices.records { backend.state.virtualDevices[record.device.id] = record.document }
        return try backend.exported()
    }

    /// Returns the same for a server of another configuration.
    func copied(for configuration: Emulator.Configuration) throws(EmulatorError) -> Self {
        var copy = self
        copy.backend = try Backend(copying: self.backend, configuration)
        return copy
    }
}

extension EmulatorCore {
    /// Returns all that there is at this moment, once it is durable.
    func wholeState() async throws(EmulatorError) -> WholeState {
        var whole = WholeState(self)
        // The consequences of the changes so far are there when they are written, and nothing of later ones.
        let followed = Mutex((devices: whole.devices, outbox: whole.outbox))
        let failure = await self.commit { core in
            followed.withLock { $0 = (core.devices.contents, core.mailroom.outbox) }
        }
        guard failure == nil else { throw .notWritten }
        (whole.devices, whole.outbox) = followed.withLock { $0 }
        return whole
    }

    /// Puts a whole state back, as one change: what is under way for those of before is not noted afterwards.
    ///
    /// - Parameter effects: Further effects of the change, carried out before anybody is told of it.
    func restore(_ whole: WholeState, _ effects: @escaping Effects = { _ in }) async throws(EmulatorError) {
        let former = (self.time, self.faults, self.faultRandomness)
        (self.time, self.faults, self.faultRandomness) = (whole.time, whole.faults, whole.faultRandomness)
        do {
            try await self.replaceState(with: whole.backend, whole.devices) { core in
                core.mailroom.change { $0.replace(with: whole.outbox) }
                effects(core)
            }
        } catch {
            (self.time, self.faults, self.faultRandomness) = former
            throw error
        }
        await self.settle()
    }

    /// Replaces the state and the devices, whose keys fit no activation of another state.
    func replaceState(
        with backend: Backend,
        _ devices: DeviceRoom.Contents = .init(),
        _ effects: @escaping Effects = { _ in }
    ) async throws(EmulatorError) {
        let (former, formerDevices) = (self.backend, self.devices.contents)
        self.backend = backend
        // From now on what these devices keep, and nothing else.
        self.backend.state.virtualDevices.removeAll { _ in true }
        self.unwritten.noteReplacement()
        self.devices.replace(with: devices, at: self.now.milliseconds)
        let failure = await self.commit { core in
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
    /// A whole state as a document.
    static let exportedState = Self.named(
        "ExportedState",
        .open([.required("format", .string), .required("version", .count, unit: .version), .required("state", .open())])
    )
}
