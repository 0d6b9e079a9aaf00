import CloudCalls
import Coordination
import EmulatorBackend
import Foundation
import Synchronization

/// A device that has activated.
struct MadeDevice: Sendable {
    let keys: DeviceKeys
    let name: String
    let rule: Emulator.DeviceRule
    /// Returns the record that it goes on with, if it has activated at the server that it now works for.
    let session: DeviceSession?

    init(_ request: Emulator.NewDevice, _ keys: DeviceKeys, _ session: DeviceSession? = nil) {
        (self.keys, self.session) = (keys, session)
        (self.name, self.rule) = (request.displayName, request.rule)
    }
}

extension EmulatorCore {
    /// Makes a device that activates: with the code of a registration, or with a registration of its own that is committed.
    func makeDevice(_ request: Emulator.NewDevice) async throws(EmulatorError) -> Emulator.VirtualDevice {
        try request.check()
        try self.devices.reserve()
        defer { self.devices.release() }
        let epoch = self.devices.epoch
        let session =
            switch request.origin {
            case .user(let userID): try await self.activate(request, forUser: userID)
            case .activationCode(let code): try await self.activate(request, by: .code(code, otp: request.otp))
            case .openID(let provider, let userID):
                try await self.activate(
                    request,
                    by: .openID(provider: provider) { url in
                        try await self.signIn(SignIn(authorizeURL: url, userID: userID))
                    }
                )
            }
        guard epoch == self.devices.epoch else {
            throw EmulatorError(.conflict, "The state was replaced before the device was active")
        }
        self.take(MadeDevice(request, session.keys, session))
        guard await self.commit() == nil else { throw .notWritten }
        return try self.device(session.activationID)
    }

    /// Takes over a device for which there is room.
    func take(_ device: MadeDevice) {
        self.devices.add(device, at: self.now.milliseconds)
        self.reportDevice(device.keys.activationID)
    }

    private func activate(
        _ request: Emulator.NewDevice,
        forUser userID: String
    ) async throws(EmulatorError) -> DeviceSession {
        let registration = try await self.calling {
            try await $0.register(userID: userID, protocolVersion: request.version.rawValue)
        }
        do {
            let session = try await self.activate(request, by: .code(registration.activationCode))
            _ = try await self.calling { try await $0.commitRegistration(registration.id) }
            // Before there are operations to be told of; what fails now is done when it looks for some.
            if request.push != nil { _ = try? await session.look() }
            return session
        } catch {
            // Nobody else knows its code. It was made a moment ago: what it could fail for is no matter of the caller.
            try? await self.administer(.remove(activationID: registration.id))
            throw error
        }
    }

    private func activate(
        _ request: Emulator.NewDevice,
        by way: DeviceSession.Way
    ) async throws(EmulatorError) -> DeviceSession {
        let site = self.deviceSite(of: DeviceCaller(name: request.displayName, epoch: self.devices.epoch))
        do {
            let model = try DeviceKeys.Model(request, self.backend)
            return try await .activate(by: way, name: request.displayName, model, at: site)
        } catch {
            throw error.preventingActivation
        }
    }

    /// Returns the surroundings of a device: this server, for as long as it is there, with its faults, its journal and its time.
    nonisolated func deviceSite(of caller: DeviceCaller) -> DeviceSite {
        DeviceSite(
            transport: DeviceTransport(clock: self.clock) { [weak self] in
                await self?.respond(to: $0, ofDevice: caller)
            },
            clock: DeviceClock(
                date: { [weak self] in self?.publishedTime.withLock { $0.now() } ?? Date() },
                base: self.clock
            )
        )
    }

    /// All devices, newest first.
    var virtualDevices: [Emulator.VirtualDevice] { self.devices.roster.newestFirst.map(self.summary) }

    func device(_ id: String) throws(EmulatorError) -> Emulator.VirtualDevice {
        guard let device = self.devices.roster[id] else {
            throw .unknownDevice
        }
        return self.summary(of: device)
    }

    private func summary(of device: DeviceRoster.Device) -> Emulator.VirtualDevice {
        Emulator.VirtualDevice(device, self.backend.activation(device.id))
    }

    func setRule(_ rule: Emulator.DeviceRule, ofDevice id: String) async throws(EmulatorError) {
        try rule.check()
        _ = try self.device(id)
        let now = self.now.milliseconds
        self.devices.change { $0.setRule(rule, of: id, at: now) }
        try await self.commitDevice(id)
    }

    /// Tells of a change of a device, once the data file holds it.
    func commitDevice(_ id: String) async throws(EmulatorError) {
        guard await self.commit({ $0.reportDevice(id) }) == nil else { throw .notWritten }
    }

    // MARK: By hand

    /// Lets a device do something at the server.
    private func letDevice<Value: Sendable>(
        _ id: String,
        _ act: (DeviceSession) async throws(DeviceFailure) -> Value
    ) async throws(EmulatorError) -> Value {
        guard let session = self.devices.session(of: id, self.deviceSite(of:)) else { throw .unknownDevice }
        let value: Value
        do { value = try await act(session) } catch { throw error.error }
        try await self.commitDevice(id)
        return value
    }

    /// Lets a device take an operation that was meant for nobody in particular; its rule decides it then.
    func claim(_ operationID: String, by id: String) async throws(EmulatorError) -> Emulator.VirtualDevice {
        try await self.letDevice(id) { (session) throws(DeviceFailure) in try await session.claim(operationID) }
        let now = self.now.milliseconds
        self.devices.change { $0.look(at: now) { $0 == id } }
        return try self.device(id)
    }

    func offlineCode(for content: String, by id: String) async throws(EmulatorError) -> String {
        try await self.letDevice(id) { (session) throws(DeviceFailure) in try await session.offlineCode(for: content) }
    }

    func inbox(ofDevice id: String) async throws(EmulatorError) -> Emulator.DeviceInbox {
        try await self.letDevice(id) { (session) throws(DeviceFailure) in try await session.inbox() }
    }

    func readMessage(_ messageID: String, by id: String) async throws(EmulatorError) -> Emulator.DeviceMessage {
        try await self.letDevice(id) { (session) throws(DeviceFailure) in try await session.readMessage(messageID) }
    }

    /// Lets a device decide an operation now; returns when the server has answered, or when there was no answer.
    func decide(_ request: Emulator.DecisionRequest, by id: String) async throws(EmulatorError)
        -> Emulator.VirtualDevice
    {
        try request.check()
        _ = try self.device(id)
        var events = self.events.subscribe()  // before anything happens, so that nothing is missed
        let now = self.now.milliseconds
        let isAccepted = self.devices.change { roster in
            roster.decide(
                request.operationID,
                request.decision,
                reason: request.reason,
                proximityCode: request.proximityCode,
                by: id,
                at: now
            )
        }
        guard isAccepted else {
            let message = "The device is deciding this operation at this moment, or has too many to decide"
            throw EmulatorError(.conflict, message)
        }
        var hasEnded = false
        while true {
            let device = try self.device(id)
            let isOpen = self.devices.roster[id]?.tasks.contains { $0.operationID == request.operationID && $0.isOpen }
            if isOpen != true { return device }
            if await events.next() != nil {
                hasEnded = false
            } else if hasEnded {
                throw EmulatorError(.refused, "The server has stopped")
            } else {
                hasEnded = true
            }
            // Anew: a subscription that was not read through thousands of events has ended, and the server has not.
            events = self.events.subscribe()
        }
    }

    /// Returns the operations of which the server has the decision that a device got no answer to.
    func takenDecisions(of id: String) -> Set<String> {
        let tasks = self.devices.roster[id]?.tasks.filter(\.mayBeTaken) ?? []
        return Set(tasks.filter { self.backend.hasTaken($0, of: id) }.map(\.operationID))
    }

    /// Notes what a device found when it looked, without what was decided or canceled since.
    func finishLook(_ work: DeviceRoom.Work, found operations: [String]) {
        let id = work.job.deviceID
        let (taken, now) = (self.takenDecisions(of: id), self.now.milliseconds)
        let waiting = operations.filter { self.backend.state.operations[$0]?.status == .pending }
        self.devices.finish(work) { $0.finishLook(id, found: waiting, taken: taken, at: now) }
    }

    /// Removes a device, and its activation.
    func removeDevice(_ id: String) async throws(EmulatorError) {
        guard self.devices.remove(id) else { throw .unknownDevice }
        self.backend.state.virtualDevices[id] = nil
        guard await self.commit({ $0.send(.virtualDevice, id: id, status: "REMOVED") }) == nil else {
            throw .notWritten
        }
        do { try await self.administer(.remove(activationID: id)) } catch  where error.code != .storage {
            // It is gone already.
        }
    }

    /// Lets those devices look at their operations that something has changed for.
    func wakeDevices(by event: BackendEvent) {
        let devices = self.devices
        guard devices.roster.count > 0 else { return }
        let now = self.now.milliseconds
        let backend = self.backend
        switch event.subject {
        case .operation where event.isNew:
            guard let userID = backend.operationUser(event.id) else { return }
            devices.change { $0.look(at: now) { backend.activation($0)?.userID == userID } }
        case .operation where event.status != "PENDING":
            devices.change { $0.withdraw(event.id) }
        case .activation where event.status == "ACTIVE":
            devices.change { $0.look(at: now) { $0 == event.id } }
        default: break
        }
    }
}

extension Backend {
    fileprivate func operationUser(_ id: String) -> String? { self.state.operations[id]?.userID }

    fileprivate func hasTaken(_ task: DeviceRoster.Task, of activationID: String) -> Bool {
        guard let operation = self.state.operations[task.operationID], operation.decidingActivationID == activationID
        else { return false }
        return operation.status == .approved && task.decision.base == .approve
            || operation.status == .rejected && task.decision.base == .reject
    }
}

extension EmulatorError {
    static let unknownDevice = Self(.noSuch("virtual device"))
}
