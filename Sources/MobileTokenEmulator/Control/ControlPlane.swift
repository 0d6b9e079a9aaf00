internal import Foundation

/// The control plane, `/_emulator/…`: what ``Emulator`` offers, over HTTP.
struct ControlPlane: Sendable {
    let core: EmulatorCore
    let address: ServerAddress
    let certificate: Emulator.Certificate?
    /// Whether the request showed the credentials.
    let isAuthenticated: Bool

    /// - Parameter path: The segments after `_emulator`.
    func respond(to request: ReceivedRequest, path: ArraySlice<String>) async -> ServerResponse {
        do {
            return try await self.answer(request, path: Array(path))
        } catch let refusal as ControlRefusal {
            return refusal.response
        } catch let error as EmulatorError {
            return error.response
        } catch {
            return .error(500, code: "ERROR_GENERIC", message: "The state could not be written")
        }
    }

    /// Whether what is read at a path holds keys or credentials: the exported state, the configuration, and the
    /// applications of the `/v2` API, whose password the control plane otherwise stands in for.
    ///
    /// - Parameter path: The segments after `_emulator`.
    static func holdsSecrets(_ path: [String]) -> Bool {
        switch path.first {
        case "export", "configuration": true
        case "cloud": path.dropFirst().first == "applications"
        default: false
        }
    }

    private func answer(_ request: ReceivedRequest, path: [String]) async throws -> ServerResponse {
        let method = request.method == "HEAD" ? "GET" : request.method
        switch (path.first, path.count) {
        case ("reset", 1):
            try allow(["POST"], method)
            try await self.core.reset()
            return .done
        case ("clock", 1):
            try allow(["GET", "PUT"], method)
            if method == "PUT" { try await self.setClock(request.decoded()) }
            return .json(ClockState(now: await self.core.now, mode: await self.core.timeMode))
        case ("faults", 1):
            try allow(["GET", "PUT", "POST", "DELETE"], method)
            switch method {
            case "PUT": try await self.setFaults(request.decoded(FaultRules.self).rules)
            case "POST": try await self.addFault(request.decoded())
            case "DELETE": await self.core.setFaults([])
            default: break
            }
            return .json(FaultRules(rules: await self.core.faultRules))
        case ("journal", 1):
            try allow(["GET"], method)
            return try await self.journal(request)
        case ("events", 1):
            try allow(["GET"], request.method)
            return try self.eventStream()
        case ("export", 1):
            try allow(["GET"], method)
            let document = try await self.core.exported()
            return ServerResponse(
                status: 200,
                headers: [("Content-Type", "application/json")],
                body: .bytes(document)
            )
        case ("import", 1):
            try allow(["POST"], method)
            try request.requireJSON()
            try await self.core.importState(request.body)
            return .done
        case ("access", 1):
            try allow(["GET"], method)
            return .json(["isAuthenticated": self.isAuthenticated])
        case ("configuration", 1):
            try allow(["GET"], method)
            return .json(ServerConfiguration(self.core, self.address, self.certificate))
        case ("activations", 3):
            try allow(["POST"], method)
            return try await self.administer(path[1], path[2], request)
        case ("activations", 2):
            try allow(["GET", "DELETE"], method)
            if method == "DELETE" { try await self.core.administer(.remove(activationID: path[1])) }
            return .json(try await self.activation(path[1]))
        case ("operations", 2):
            try allow(["GET"], method)
            return .json(try await self.operation(path[1]))
        case ("messages", 2):
            try allow(["GET"], method)
            return .json(try await self.message(path[1]))
        case ("activations", 1), ("operations", 1), ("messages", 1), ("templates", 1):
            try allow(["GET"], method)
            return try await self.list(path[0], request)
        case ("qr", 1):
            try allow(["GET"], method)
            return try QRCode.response(to: request)
        case ("cloud", 2...):
            var relayed = request
            relayed.path = "/v2/" + path.dropFirst().joined(separator: "/")
            return await self.core.relay(relayed)
        default:
            throw ControlRefusal(404, "ERROR_NOT_FOUND", "The control plane has no such path")
        }
    }

    private func allow(_ methods: [String], _ method: String) throws(ControlRefusal) {
        guard !methods.contains(method) else { return }
        var refusal = ControlRefusal(405, "METHOD_NOT_ALLOWED", "Allowed here: \(methods.joined(separator: ", "))")
        refusal.headers = [("Allow", methods.joined(separator: ", "))]
        throw refusal
    }

    // MARK: Clock

    private struct ClockState: Encodable {
        var now: Date
        var mode: VirtualTime.Mode
    }

    private struct ClockChange: Decodable {
        private enum CodingKeys: String, CodingKey, CaseIterable { case now, mode, advance }

        var now: Date?
        var mode: VirtualTime.Mode?
        /// In seconds.
        var advance: Double?

        init(from decoder: any Decoder) throws {
            try decoder.refuseMembers(except: CodingKeys.self)
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.now = try container.decodeIfPresent(Date.self, forKey: .now)
            self.mode = try container.decodeIfPresent(VirtualTime.Mode.self, forKey: .mode)
            self.advance = try container.decodeIfPresent(Double.self, forKey: .advance)
        }
    }

    private func setClock(_ change: ClockChange) async throws(ControlRefusal) {
        let isPossible = await self.core.changeTime { time in
            switch change.mode ?? time.mode {
            case .manual: time.stand(at: change.now ?? time.now())
            // Who asks for the machine's time, without another one, gets it, wherever the clock was moved to.
            case .real where change.now != nil || change.mode != nil: time.run(from: change.now)
            case .real: break
            }
            if let seconds = change.advance { time.advance(bySeconds: seconds) }
        }
        guard isPossible else {
            let name = change.advance == nil ? "now" : "advance"
            throw ControlRefusal(400, "INVALID_REQUEST", "\(name): The clock shows the years 1 to 9998")
        }
    }

    // MARK: Faults

    private struct FaultRules: Codable {
        var rules: [FaultRule]
    }

    private func setFaults(_ rules: [FaultRule]) async throws(ControlRefusal) {
        guard rules.count <= self.capacity.faultRules else { throw self.tooManyFaultRules }
        await self.core.setFaults(rules)
    }

    private func addFault(_ rule: FaultRule) async throws(ControlRefusal) {
        let isAdded = await self.core.addFault(rule, unlessThereAre: self.capacity.faultRules)
        guard isAdded else { throw self.tooManyFaultRules }
    }

    private var tooManyFaultRules: ControlRefusal {
        let message = "There is room for \(self.capacity.faultRules) fault rules"
        return ControlRefusal(507, "CAPACITY_EXCEEDED", message)
    }

    private var capacity: Emulator.Capacity { self.core.configuration.capacity }

    // MARK: Events

    private func eventStream() throws(ControlRefusal) -> ServerResponse {
        guard let events = self.core.events.subscribe(unlessThereAre: self.capacity.eventStreams) else {
            let message = "There are \(self.capacity.eventStreams) readers of the events already"
            throw ControlRefusal(503, "CAPACITY_EXCEEDED", message)
        }
        return .events(events)
    }

    // MARK: Journal

    private struct JournalPage: Encodable {
        var entries: [Emulator.JournalEntry]
        /// The number of the newest entry there is, for the next `since`.
        var last: UInt64
    }

    private func journal(_ request: ReceivedRequest) async throws -> ServerResponse {
        let limit = try request.number("limit", in: 1...10_000) ?? 1000
        let page =
            if let before = try request.number("before", in: 0...Int.max) {
                await self.core.journal(before: UInt64(before), limit: limit)
            } else {
                await self.core.journal(
                    since: UInt64(try request.number("since", in: 0...Int.max) ?? 0),
                    limit: limit
                )
            }
        return .json(JournalPage(entries: page.entries, last: page.lastID))
    }

    // MARK: Activations

    private struct CounterChange: Decodable {
        /// How many steps the counter moves ahead.
        var advance: UInt64
    }

    private func administer(_ id: String, _ action: String, _ request: ReceivedRequest) async throws -> ServerResponse {
        let change: AdministrativeChange =
            switch action {
            case "block": .block(activationID: id)
            case "unblock": .unblock(activationID: id)
            case "counter": .advanceCounter(activationID: id, by: try request.decoded(CounterChange.self).advance)
            default: throw ControlRefusal(404, "ERROR_NOT_FOUND", "The control plane has no such path")
            }
        try await self.core.administer(change)
        return .json(try await self.activation(id))
    }

    private func activation(_ id: String) async throws(ControlRefusal) -> Emulator.ActivationSummary {
        guard let activation = await self.core.snapshot.backend.activation(id) else {
            throw ControlRefusal(404, "ERROR_NOT_FOUND", "There is no such activation")
        }
        return activation
    }

    private func operation(_ id: String) async throws(ControlRefusal) -> Emulator.OperationSummary {
        let (backend, now) = await self.core.snapshot
        guard let operation = backend.operation(id, at: now) else {
            throw ControlRefusal(404, "ERROR_NOT_FOUND", "There is no such operation")
        }
        return operation
    }

    private func message(_ id: String) async throws(ControlRefusal) -> Emulator.MessageSummary {
        guard let message = await self.core.snapshot.backend.message(id) else {
            throw ControlRefusal(404, "ERROR_NOT_FOUND", "There is no such message")
        }
        return message
    }

    // MARK: Lists

    /// A page of what there is, newest first. It is made from a copy, so that the server does not stand meanwhile.
    private func list(_ name: String, _ request: ReceivedRequest) async throws -> ServerResponse {
        let offset = try request.number("offset", in: 0...Int.max) ?? 0
        let limit = try request.number("limit", in: 1...1000) ?? 100
        let status = request.queryValue("status")
        let (backend, now) = await self.core.snapshot
        return switch name {
        case "activations": .json(backend.activationPage(status: status, .init(offset: offset, limit: limit)))
        case "operations": .json(backend.operationPage(status: status, .init(offset: offset, limit: limit), at: now))
        case "messages": .json(backend.messagePage(.init(offset: offset, limit: limit)))
        default: .json(SummaryPage(backend.templates, .init(offset: offset, limit: limit)) { $0 })
        }
    }
}

/// What a client is configured with.
private struct ServerConfiguration: Encodable {
    var baseURL: String
    var sdkConfiguration: String
    var applicationId: String
    var applicationKey: String
    var applicationSecret: String
    var masterServerPublicKey: String
    var cloudUser: String
    var cloudPassword: String
    /// In PEM, when the server speaks TLS; and the pin of its key.
    var certificate: String?
    var publicKeyPin: String?

    init(_ core: EmulatorCore, _ address: ServerAddress, _ certificate: Emulator.Certificate?) {
        let application = core.application
        self.baseURL = address.origin + "/enrollment-server"
        self.sdkConfiguration = application.sdkConfiguration
        self.applicationId = application.id
        self.applicationKey = application.key
        self.applicationSecret = application.secret
        self.masterServerPublicKey = application.masterServerPublicKey
        self.cloudUser = core.configuration.cloudUser
        self.cloudPassword = core.configuration.cloudPassword ?? ""
        self.certificate = certificate?.pem
        self.publicKeyPin = certificate?.publicKeyPin
    }
}

extension ServerResponse {
    fileprivate static var done: ServerResponse {
        ServerResponse(
            status: 200,
            headers: [("Content-Type", "application/json")],
            body: .bytes(Array(#"{"status":"OK"}"#.utf8))
        )
    }
}
