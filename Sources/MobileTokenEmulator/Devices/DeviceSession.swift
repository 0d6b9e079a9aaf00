import EmulatorBackend
import ExactJSON
import PowerAuthProtocol

/// The client's half of one activation: its keys and its counter. Each version of the protocol has its own.
protocol DeviceSession: Sendable {
    /// What a device knows of its application.
    associatedtype Application
    /// A key of the server, for what is encrypted before the activation has keys.
    associatedtype TemporaryKey

    var activationID: String { get }
    /// Its full name, such as `3.3`.
    static var version: String { get }

    /// Returns what a device must know before it activates.
    static func application(_ server: DeviceServer) throws -> Application

    /// Asks for the application's key.
    static func temporaryKeyExchange(_ application: Application) throws -> DeviceExchange<TemporaryKey>

    /// Activates with a code.
    static func activationExchange(_ device: NewDevice<Self>) throws -> DeviceExchange<Self>

    /// Does what comes between the commit of the activation and the first look at operations: once, until it succeeds.
    mutating func prepare(_ wire: DeviceWire) async throws(DeviceFailure)

    /// Returns the header of a request that shows a token.
    func tokenHeader(at now: Milliseconds) throws -> TokenHeader

    /// Signs a request, and moves the counter as a client must: before the request leaves.
    ///
    /// - Parameter hasWrongPassword: Whether the user has mistyped it.
    mutating func codeHeader(
        _ type: SignatureType,
        uriID: String,
        body: [UInt8],
        hasWrongPassword: Bool
    ) throws -> (name: String, value: String)
}

/// A device that is about to activate.
struct NewDevice<Session: DeviceSession> {
    let code: String
    let name: String
    let application: Session.Application
    let temporaryKey: Session.TemporaryKey
    let now: Milliseconds
}

private struct NoToken: Error {}

/// What a server tells devices before they activate.
struct DeviceServer: Sendable {
    let application: ApplicationDescription
    /// In version 4, the server's favorite first.
    let offeredSuites: [AlgorithmSuite]

    init(_ backend: Backend) {
        self.application = backend.defaultApplication
        self.offeredSuites = backend.protocolRules.offeredSuites
    }
}

extension DeviceSession {
    /// Activates with a code, over a wire.
    static func activate(
        with code: String,
        name: String,
        at server: DeviceServer,
        _ wire: DeviceWire
    ) async throws(DeviceFailure) -> Self {
        let application = try DeviceFailure.reading { try Self.application(server) }
        let keyExchange = try DeviceFailure.reading { try Self.temporaryKeyExchange(application) }
        let key = try await wire.perform(keyExchange)
        let now = await wire.now
        let exchange = try DeviceFailure.reading {
            try Self.activationExchange(
                NewDevice(code: code, name: name, application: application, temporaryKey: key, now: now)
            )
        }
        return try await wire.perform(exchange)
    }

    /// Activates with a code, within one change of the server's state.
    static func activate(
        with code: String,
        name: String,
        in state: inout EmulatorCore.Changeable,
        _ events: inout [BackendEvent]
    ) throws(DeviceFailure) -> Self {
        let server = DeviceServer(state.backend)
        let application = try DeviceFailure.reading { try Self.application(server) }
        let keyExchange = try DeviceFailure.reading { try Self.temporaryKeyExchange(application) }
        let key = try state.perform(keyExchange, &events)
        let now = state.time.now().milliseconds
        let exchange = try DeviceFailure.reading {
            try Self.activationExchange(
                NewDevice(code: code, name: name, application: application, temporaryKey: key, now: now)
            )
        }
        return try state.perform(exchange, &events)
    }

    /// Fetches the operations that wait for the user, newest first: the data of each, which an approval must repeat.
    mutating func operations(_ wire: DeviceWire) async throws(DeviceFailure) -> [(id: String, data: String)] {
        try await self.prepare(wire)
        let now = await wire.now
        let header = try DeviceFailure.reading { try self.tokenHeader(at: now) }
        let response = try await wire.send(
            "/api/auth/token/app/operation/list",
            headers: [(TokenHeader.name, header.value)],
            json: [:]
        )
        guard let list = response["responseObject"]?.array else {
            throw .unanswered(reason: "the response has no operations")
        }
        return list.compactMap { operation in
            guard let id = operation["id"]?.string, let data = operation["data"]?.string else { return nil }
            return (id, data)
        }
    }

    /// Returns the token, which ``prepare(_:)`` has made.
    static func required<Token>(_ token: Token?) throws -> Token {
        guard let token else { throw NoToken() }
        return token
    }

    /// Decides an operation.
    mutating func decide(_ task: DeviceRoster.Task, _ wire: DeviceWire) async throws(DeviceFailure) {
        guard let operation = try await self.operations(wire).first(where: { $0.id == task.operationID }) else {
            throw .refused(reason: "the operation is none of those that wait for the device")
        }
        switch task.decision.base {
        case .never: return
        case .reject:
            let request: JSONObject = ["id": .string(operation.id), "reason": .string(task.reason)]
            try await self.sendSigned(.possession, "cancel", request, wire)
        case .approve, .wrongPassword:
            var request: JSONObject = ["id": .string(operation.id), "data": .string(operation.data)]
            if let code = task.proximityCode {
                request["proximityCheck"] = ["otp": .string(code), "type": "QR_CODE"]
            }
            let hasWrongPassword = task.decision == .wrongPassword
            try await self.sendSigned(
                .possessionKnowledge,
                "authorize",
                request,
                wire,
                hasWrongPassword: hasWrongPassword
            )
        }
    }

    private mutating func sendSigned(
        _ type: SignatureType,
        _ action: String,
        _ request: JSONObject,
        _ wire: DeviceWire,
        hasWrongPassword: Bool = false
    ) async throws(DeviceFailure) {
        let body = JSONValue.object(["requestObject": .object(request)]).serialized()
        let header = try DeviceFailure.reading {
            try self.codeHeader(type, uriID: "/operation/\(action)", body: body, hasWrongPassword: hasWrongPassword)
        }
        wire.keep(self)
        let response = try await wire.send("/api/auth/token/app/operation/\(action)", headers: [header], body)
        guard let status = try? JSONValue(parsing: response)["status"]?.string, status == "OK" else {
            throw .unanswered(reason: "the response cannot be read")
        }
    }
}
