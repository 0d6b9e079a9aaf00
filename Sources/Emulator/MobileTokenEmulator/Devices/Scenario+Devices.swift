import APIDescriptions
import EmulatorBackend
import ExactJSON

extension Scenario {
    /// Makes a virtual device with a committed activation, or one that waits for the commit of the registration with its code.
    func makeDevice(
        _ body: JSONValue,
        _ trial: Trial,
        _ clock: any Clock<Duration>,
        at place: [Int]
    ) async throws(Refusal) -> JSONValue {
        let request = try self.read(body, as: Emulator.NewDevice.self, at: place)
        do { try request.check() } catch { throw self.refusal(error.refusal, at: place) }
        let earlierEvents = try trial.change { (content) throws(Refusal) in
            guard content.state.made.count < content.state.room else {
                throw self.refusal(content.state.isFull.refusal, at: place)
            }
            return content.events.count
        }
        let keys: DeviceKeys
        switch request.origin {
        case .activationCode(let code):
            keys = try await self.activate(request, by: .code(code, otp: request.otp), trial, clock, at: place).keys
        case .openID(let provider, let userID):
            let way = DeviceSession.Way.openID(provider: provider) { url in
                try trial.change { content in
                    try content.state.backend.signIn(userID, at: url, content.state.time.now())
                }
            }
            keys = try await self.activate(request, by: way, trial, clock, at: place).keys
        case .user(let userID):
            var content: JSONObject = [
                "userId": .string(userID), "protocolVersion": .string(request.version.rawValue),
            ]
            if let id = request.applicationID { content["appId"] = .string(id) }
            let path = "/v2/registrations"
            let registration = try self.send(.object(content), to: path, trial, at: place)
            let code = registration["activationCode"]?.string ?? ""
            let session = try await self.activate(request, by: .code(code), trial, clock, at: place)
            _ = try self.send([:], to: "\(path)/\(session.activationID)/commit", trial, at: place)
            // Before there are operations to notify it of.
            if request.push != nil { _ = try? await session.look() }
            keys = session.keys
        }
        return trial.change { content in
            content.coalesceEvents(ofActivation: keys.activationID, after: earlierEvents)
            let made = DeviceRecord(request, keys, at: content.state.time.now().milliseconds)
            content.state.made.append(made)
            return Emulator.VirtualDevice(made.device, content.state.backend.activation(keys.activationID)).json
        }
    }

    private func activate(
        _ request: Emulator.NewDevice,
        by way: DeviceSession.Way,
        _ trial: Trial,
        _ clock: any Clock<Duration>,
        at place: [Int]
    ) async throws(Refusal) -> DeviceSession {
        let site = DeviceSite(
            transport: DeviceTransport { trial.respond(to: $0) },
            clock: DeviceClock(date: { trial.content.state.time.now() }, base: clock)
        )
        do {
            let model = try DeviceKeys.Model(request, trial.content.state.backend)
            return try await DeviceSession.activate(by: way, name: request.displayName, model, at: site)
        } catch {
            throw self.refusal(error.preventingActivation.refusal, at: place)
        }
    }
}

extension Trial.Content {
    /// Coalesces consecutive events of an activation into the last one.
    fileprivate mutating func coalesceEvents(ofActivation id: String, after earlier: Int) {
        let last = self.events.lastIndex { $0.isOfActivation(id) }
        self.events = self.events.indices.filter { index in
            index < earlier || index == last || !self.events[index].isOfActivation(id)
        }.map { self.events[$0] }
    }
}

extension BackendEvent {
    fileprivate func isOfActivation(_ id: String) -> Bool { self.subject == .activation && self.id == id }
}
