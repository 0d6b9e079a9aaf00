import Coordination
import EmulatorBackend
import Foundation
import MobileTokenCloud

extension EmulatorCore {
    /// Makes a device that activates with a registration's code, or with its own registration, which is then committed.
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
        self.take(DeviceRecord(request, session.keys, at: self.now.milliseconds), session)
        guard await self.commit() == nil else { throw .notWritten }
        return try self.device(session.activationID)
    }

    /// Makes a device, and waits for its first look for operations: after that the clock may be moved.
    func makeReadyDevice(_ request: Emulator.NewDevice) async throws(EmulatorError) -> Emulator.VirtualDevice {
        let id = try await self.makeDevice(request).id
        _ = try? await self.waiting(.seconds(20), for: [.virtualDevice]) {
            let now = await self.now.milliseconds
            let isReady = self.devices.roster[id]?.isLooking(at: now) != true
            return (isReady, isReady)
        }
        return try self.device(id)
    }

    /// Adds a device, with room reserved for it.
    ///
    /// - Parameter session: The session of a device that has activated at this server, not in a trial.
    func take(_ record: DeviceRecord, _ session: DeviceSession? = nil) {
        self.devices.add(record, session)
        self.reportDevice(record.device.id)
    }

    private func activate(
        _ request: Emulator.NewDevice,
        forUser userID: String
    ) async throws(EmulatorError) -> DeviceSession {
        let caller = DeviceCaller(name: request.displayName, epoch: self.devices.epoch)
        let registration = try await self.calling(for: caller) {
            var registration = CloudClient.NewRegistration(userID: userID)
            (registration.applicationID, registration.protocolVersion) = (
                request.applicationID, request.version.rawValue
            )
            return try await $0.register(registration)
        }
        do {
            let session = try await self.activate(request, by: .code(registration.activationCode))
            _ = try await self.calling(for: caller) { try await $0.commitRegistration(registration.id) }
            // Before there are operations to be told of; what fails now is done when it looks for some.
            if request.push != nil { _ = try? await session.look() }
            return session
        } catch {
            // Only this call knows its code. It is new, so a failure to remove it does not concern the caller.
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

    /// Returns the environment of a device: this server while it exists, with its faults, journal and time.
    nonisolated func deviceSite(of caller: DeviceCaller) -> DeviceSite {
        DeviceSite(
            transport: DeviceTransport(clock: self.clock) { [weak self] in
                await self?.respond(to: $0, ofDevice: caller)
            },
            clock: DeviceClock(
                date: { [weak self] in self?.publishedNow ?? Date() },
                base: self.clock
            )
        )
    }

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

    /// Reports a device's change once it is durable.
    func commitDevice(_ id: String) async throws(EmulatorError) {
        guard await self.commit({ $0.reportDevice(id) }) == nil else { throw .notWritten }
    }

    // MARK: By hand

    /// Lets a device act now, and commits what that changed of its keys.
    func letDevice<Value: Sendable>(
        _ id: String,
        _ act: @Sendable (DeviceSession) async throws -> Value
    ) async throws(EmulatorError) -> Value {
        guard let session = self.devices.session(of: id, self.deviceSite(of:)) else { throw .unknownDevice }
        let value: Value
        let last = self.journal.lastID
        do { value = try await DeviceFailure.reading { try await act(session) } } catch {
            var refused = error.error
            refused.journalEntry = self.journal.lastRefusal(of: id, since: last)?.id
            throw refused
        }
        try await self.commitDevice(id)
        return value
    }

    /// Lets a device claim an operation created for no user; its rule then decides it.
    func claim(_ operationID: String, by id: String) async throws(EmulatorError) -> Emulator.VirtualDevice {
        try await self.letDevice(id) { try await $0.claim(operationID) }
        let now = self.now.milliseconds
        self.devices.change { $0.look(at: now) { $0 == id } }
        return try self.device(id)
    }

    /// Lets a device decide an operation now; returns after the server's response, or without one.
    func decide(_ request: Emulator.DecisionRequest, by id: String) async throws(EmulatorError)
        -> Emulator.VirtualDevice
    {
        try request.check()
        _ = try self.device(id)
        let last = self.journal.lastID
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
            if isOpen != true { return try self.checked(device, request, since: last) }
            if await events.next() != nil {
                hasEnded = false
            } else if hasEnded {
                throw EmulatorError(.refused, "The server has stopped")
            } else {
                hasEnded = true
            }
            // A new subscription: the old one ended because thousands of events were unread, while the server has not.
            events = self.events.subscribe()
        }
    }

    /// - Throws: The journal's reason, if the server refused the decision. A wrong password is meant to be refused.
    private func checked(
        _ device: Emulator.VirtualDevice,
        _ request: Emulator.DecisionRequest,
        since last: UInt64
    ) throws(EmulatorError) -> Emulator.VirtualDevice {
        let task = device.tasks.last { $0.operationID == request.operationID }
        guard task?.state == .failed, request.decision != .wrongPassword else { return device }
        let entry = self.journal.lastRefusal(of: device.id, about: request.operationID, since: last)
        var place = entry.map { "; see /_emulator/journal/\($0.id)" } ?? ""
        if entry == nil, let operation = self.backend.state.operations[request.operationID],
            operation.status != .pending
        {
            place = ": it is \(operation.status.rawValue)"
        }
        var error = EmulatorError(.refused, (task?.failure ?? "") + place)
        error.journalEntry = entry?.id
        throw error
    }

    /// Returns a failure with what the journal found out, if the server refused the request: devices are told less.
    ///
    /// - Parameter last: The journal's last entry before the decision.
    func explained(
        _ failure: DeviceFailure,
        of operationID: String,
        by id: String,
        since last: UInt64
    ) -> DeviceFailure {
        guard case .refused = failure,
            let finding = self.journal.lastRefusal(of: id, about: operationID, since: last)?.finding
        else { return failure }
        return .refused(reason: finding)
    }

    /// Returns the operations whose decision the server has, though the device got no response.
    func takenDecisions(of id: String) -> Set<String> {
        let tasks = self.devices.roster[id]?.tasks.filter(\.mayBeTaken) ?? []
        return Set(tasks.filter { self.backend.hasTaken($0, of: id) }.map(\.operationID))
    }

    /// Records the operations that a device found, without those decided or canceled since.
    func finishLook(_ work: VirtualDeviceStore.Work, found operations: [String]) {
        let id = work.job.deviceID
        let (taken, now) = (self.takenDecisions(of: id), self.now.milliseconds)
        let waiting = operations.filter { self.backend.state.operations[$0]?.status == .pending }
        self.devices.finish(work) { $0.finishLook(id, found: waiting, taken: taken, at: now) }
    }

    /// Removes a device and its activation.
    func removeDevice(_ id: String) async throws(EmulatorError) {
        guard self.devices.remove(id) else { throw .unknownDevice }
        self.backend.state.virtualDevices[id] = nil
        guard await self.commit({ $0.send(.virtualDevice, id: id, status: "REMOVED") }) == nil else {
            throw .notWritten
        }
        do { try await self.administer(.remove(activationID: id)) } catch  where error.code != .storage {
            // It is already gone.
        }
    }

    /// Lets the devices concerned by a change look for operations.
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
