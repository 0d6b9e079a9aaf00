import EmulatorBackend
import EmulatorMessages
import ExactJSON

/// A device that has activated.
struct MadeDevice: Sendable {
    let session: any DeviceSession
    let name: String
    let rule: Emulator.DeviceRule
}

/// The virtual devices that one change of the server makes, no more than there is room for.
struct NewDevices: Sendable {
    private let room: Int
    private let isFull: EmulatorError
    private(set) var made: [MadeDevice] = []

    init(room: DeviceRoom) {
        self.room = room.room
        self.isFull = room.isFull
    }

    func requireRoom() throws(EmulatorError) {
        guard self.made.count < self.room else { throw self.isFull }
    }

    mutating func append(_ device: MadeDevice) { self.made.append(device) }
}

extension EmulatorCore.Changeable {
    /// Lets a device send a request within this change: past the journal and the faults.
    mutating func perform<Outcome>(
        _ exchange: DeviceExchange<Outcome>,
        _ events: inout [BackendEvent]
    ) throws(DeviceFailure) -> Outcome {
        let request = DeviceWire.request(exchange.path, exchange.headers, exchange.body)
        let now = self.time.now()
        let reply = self.backend.reply(to: request, at: now)
        events += reply.events
        try DeviceFailure.check(reply.status, reply.body)
        return try DeviceFailure.reading { try exchange.read(reply.body, now.milliseconds) }
    }
}

extension Scenario {
    /// Makes a virtual device whose activation is committed, or waits for the commit of the registration whose code it has.
    func makeDevice(
        _ body: JSONValue,
        _ state: inout EmulatorCore.Changeable,
        _ events: inout [BackendEvent],
        at place: [Int]
    ) throws(Refusal) -> JSONValue {
        let request = try self.read(body, as: Emulator.NewDevice.self, at: place)
        do {
            try request.check()
            try state.devices.requireRoom()
        } catch {
            throw self.refusal(error.refusal, at: place)
        }
        let session: any DeviceSession
        var own: [BackendEvent] = []
        switch request.origin {
        case .activationCode(let code):
            session = try self.activate(request, with: code, &state, &own, at: place)
        case .user(let userID):
            let content: JSONValue = [
                "userId": .string(userID), "protocolVersion": .string(request.version.rawValue),
            ]
            let path = "/v2/registrations"
            let registration = try self.send(content, to: path, &state, &own, at: place)
            let code = registration["activationCode"]?.string ?? ""
            session = try self.activate(request, with: code, &state, &own, at: place)
            let commit = "\(path)/\(session.activationID)/commit"
            _ = try self.send([:], to: commit, &state, &own, at: place)
        }
        // What happens at once is told once: as it is afterwards.
        let last = own.lastIndex { $0.isOfActivation(session.activationID) }
        events += own.indices.filter { $0 == last || !own[$0].isOfActivation(session.activationID) }.map { own[$0] }
        let made = MadeDevice(session: session, name: request.displayName, rule: request.rule)
        state.devices.append(made)
        return Self.shown(made, state)
    }

    private func activate(
        _ request: Emulator.NewDevice,
        with code: String,
        _ state: inout EmulatorCore.Changeable,
        _ events: inout [BackendEvent],
        at place: [Int]
    ) throws(Refusal) -> any DeviceSession {
        do {
            return try request.version.session.activate(with: code, name: request.displayName, in: &state, &events)
        } catch {
            throw self.refusal(error.preventingActivation.refusal, at: place)
        }
    }

    /// As `GET /_emulator/devices/{id}` will show it.
    private static func shown(_ device: MadeDevice, _ state: EmulatorCore.Changeable) -> JSONValue {
        var roster = DeviceRoster()
        let id = device.session.activationID
        let version = type(of: device.session).version
        roster.add(id, name: device.name, version: version, device.rule, at: state.time.now().milliseconds)
        return roster[id].flatMap { entry in
            let activation = state.backend.activation(id)
            return Emulator.VirtualDevice(entry, userID: activation?.userID, status: activation?.status).json
        } ?? .null
    }
}

extension BackendEvent {
    fileprivate func isOfActivation(_ id: String) -> Bool { self.subject == .activation && self.id == id }
}
