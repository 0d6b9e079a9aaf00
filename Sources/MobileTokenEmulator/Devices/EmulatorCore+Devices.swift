import Coordination
import EmulatorBackend

extension EmulatorCore {
    /// Makes a device that activates: with the code of a registration, or with a registration of its own that is committed.
    func makeDevice(_ request: Emulator.NewDevice) async throws(EmulatorError) -> Emulator.VirtualDevice {
        try request.check()
        try self.devices.reserve()
        defer { self.devices.release() }
        let (name, epoch) = (request.displayName, self.devices.epoch)
        let session =
            switch request.origin {
            case .user(let userID): try await self.activate(forUser: userID, name, request.version)
            case .activationCode(let code): try await self.activate(with: code, name, request.version)
            }
        guard epoch == self.devices.epoch else {
            throw EmulatorError(.conflict, "The state was replaced before the device was active")
        }
        self.take(MadeDevice(session: session, name: name, rule: request.rule))
        return try self.device(session.activationID)
    }

    /// Takes over a device for which there is room.
    func take(_ device: MadeDevice) {
        self.devices.add(device, at: self.now.milliseconds)
        self.reportDevice(device.session.activationID)
    }

    private func activate(
        forUser userID: String,
        _ name: String,
        _ version: Emulator.NewDevice.Version
    ) async throws(EmulatorError) -> any DeviceSession {
        let cloud = Emulator.Cloud(core: self)
        let registration = try await cloud.register(userID: userID, protocolVersion: version.rawValue)
        do {
            let session = try await self.activate(with: registration.activationCode, name, version)
            try await cloud.commit(registration.id)
            return session
        } catch {
            // Nobody else knows its code. It was made a moment ago: what it could fail for is no matter of the caller.
            try? await self.administer(.remove(activationID: registration.id))
            throw error
        }
    }

    private func activate(
        with code: String,
        _ name: String,
        _ version: Emulator.NewDevice.Version
    ) async throws(EmulatorError) -> any DeviceSession {
        let wire = DeviceWire(core: self, name: name, epoch: self.devices.epoch)
        do {
            return try await version.session.activate(with: code, name: name, at: DeviceServer(self.backend), wire)
        } catch {
            throw error.preventingActivation
        }
    }

    /// All devices, newest first.
    var virtualDevices: [Emulator.VirtualDevice] { self.devices.roster.newestFirst.map(self.summary) }

    func device(_ id: String) throws(EmulatorError) -> Emulator.VirtualDevice {
        guard let device = self.devices.roster[id] else {
            throw EmulatorError(.notFound, "There is no such virtual device")
        }
        return self.summary(of: device)
    }

    private func summary(of device: DeviceRoster.Device) -> Emulator.VirtualDevice {
        let activation = self.backend.activation(device.id)
        return Emulator.VirtualDevice(device, userID: activation?.userID, status: activation?.status)
    }

    func setRule(_ rule: Emulator.DeviceRule, ofDevice id: String) throws(EmulatorError) {
        try rule.check()
        _ = try self.device(id)
        let now = self.now.milliseconds
        self.devices.change { $0.setRule(rule, of: id, at: now) }
        self.reportDevice(id)
    }

    /// Lets a device decide an operation now; returns when the server has answered, or when there was no answer.
    func decide(_ request: Emulator.DecisionRequest, by id: String) async throws(EmulatorError)
        -> Emulator.VirtualDevice
    {
        try request.check()
        _ = try self.device(id)
        let events = self.events.subscribe()  // before anything happens, so that nothing is missed
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
        guard isAccepted else { throw EmulatorError(.conflict, "The device is about to decide this operation") }
        repeat {
            let device = try self.device(id)
            let isOpen = self.devices.roster[id]?.tasks.contains { $0.operationID == request.operationID && $0.isOpen }
            if isOpen != true { return device }
        } while await events.next() != nil
        throw EmulatorError(.refused, "The server has stopped")
    }

    /// Removes a device, and its activation.
    func removeDevice(_ id: String) async throws(EmulatorError) {
        guard self.devices.remove(id) else { throw EmulatorError(.notFound, "There is no such virtual device") }
        self.send(.virtualDevice, id: id, status: "REMOVED")
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
}
