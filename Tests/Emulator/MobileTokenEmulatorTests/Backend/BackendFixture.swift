import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// A backend with a clock that stands still until it is moved.
struct BackendFixture {
    var backend: Backend
    var now = Date(milliseconds: 1_800_000_000_000)

    static var configuration: Emulator.Configuration {
        var configuration = Emulator.Configuration()
        (configuration.cloudUser, configuration.cloudPassword) = ("cloud", "secret")
        return configuration
    }

    /// - Parameter configure: Changes the configuration before the backend is made.
    init(seed: UInt64? = 1, _ configure: (inout Emulator.Configuration) -> Void = { _ in }) throws {
        var configuration = Self.configuration
        configure(&configuration)
        self.backend = try Backend(configuration: configuration.backend, randomness: SeededRandomness(seed: seed))
    }

    var milliseconds: Milliseconds { self.now.milliseconds }

    mutating func advance(seconds: Double) { self.now += seconds }

    // MARK: - Sending

    mutating func send(
        _ method: String = "POST",
        _ path: String,
        query: String = "",
        headers: [HeaderField] = [],
        body: [UInt8] = []
    ) -> Reply {
        var request = ReceivedRequest(method: method, path: path)
        request.rawQuery = query
        request.query = query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
            return (parts[0], parts.count > 1 ? parts[1].removingPercentEncoding ?? "" : "")
        }
        let hasType = headers.contains { $0.name.lowercased() == "content-type" }
        request.headers = headers + (hasType ? [] : [("Content-Type", "application/json")])
        request.body = body
        let reply = self.backend.reply(to: request, at: self.now)
        self.backend.expectDescribed(reply.response, to: request)
        return reply
    }

    mutating func send(_ path: String, headers: [HeaderField] = [], json: JSONValue) -> Reply {
        self.send("POST", path, headers: headers, body: json.serialized())
    }

    /// A call of the cloud API with the right credentials.
    mutating func cloud(_ method: String, _ path: String, query: String = "", _ json: JSONValue? = nil) -> Reply {
        let credentials = Base64.encode(Array("cloud:secret".utf8))
        return self.send(
            method,
            path,
            query: query,
            headers: [("Authorization", "Basic \(credentials)")],
            body: json?.serialized() ?? []
        )
    }

    /// Goes on from an exported state.
    mutating func replace(with document: [UInt8]) throws {
        self.backend = try Backend(importing: document, configuration: Self.configuration.backend)
    }

    /// The state as a document, to compare before and after.
    func exportedState() throws -> String { String(decoding: try self.backend.exported(), as: UTF8.self) }

    /// The state without the memory of token requests, which grows with each of them.
    func exportedStateBesidesReplays() throws -> JSONValue {
        guard var state = try JSONValue(parsing: self.backend.exported())["state"]?.object else { return .null }
        state["replays"] = nil
        return .object(state)
    }

    /// The state without what every request that opens leaves behind.
    func exportedStateBesidesKeys() throws -> JSONValue {
        guard var state = try self.exportedStateBesidesReplays().object else { return .null }
        for name in ["temporaryKeys", "randomness"] { state[name] = nil }
        return .object(state)
    }

    // MARK: - Devices

    /// A device that has exchanged keys and was committed.
    mutating func activeDevice(
        user: String = "alice",
        version: ProtocolVersion = .v3_3,
        flags: [String] = []
    ) throws -> TestDevice {
        var device = self.newDevice(version)
        try device.activate(self.activationCode(user: user, ["flags": .strings(flags)]), in: &self)
        let committed = self.cloud("POST", "/v2/registrations/\(device.activationID)/commit", ["externalUserId": "x"])
        try #require(committed.status == 200)
        return device
    }

    mutating func deviceWithToken(
        user: String = "alice",
        version: ProtocolVersion = .v3_3,
        flags: [String] = []
    ) throws -> TestDevice {
        var device = try self.activeDevice(user: user, version: version, flags: flags)
        try device.createToken(in: &self)
        return device
    }

    mutating func operation(
        _ template: String = "login",
        user: String? = "alice",
        _ more: JSONObject = [:]
    ) throws -> (id: String, data: String) {
        var request: JSONObject = ["template": .string(template)]
        request["userId"] = user.map { .string($0) }
        request.members += more.members
        let reply = self.cloud("POST", "/v2/operations", .object(request))
        return (try #require(reply.json["operationId"]?.string), try #require(reply.json["data"]?.string))
    }

    func status(ofActivation id: String) -> CloudClient.RegistrationStatus? {
        self.backend.activations.first { $0.id == id }?.status
    }

    func status(ofOperation id: String) -> CloudClient.OperationStatus? {
        self.backend.operations(at: .now).first { $0.id == id }?.status
    }
}

extension Reply {
    /// The body as JSON; null when it is none.
    var json: JSONValue { (try? JSONValue(parsing: self.body)) ?? .null }

    var object: JSONValue { self.json["responseObject"] ?? .null }

    var code: String? { self.json["status"]?.string == "ERROR" ? self.object["code"]?.string : nil }

    /// Status and code together, as tests compare them.
    var outcome: String { "\(self.status) \(self.code ?? self.json["status"]?.string ?? "")" }
}
