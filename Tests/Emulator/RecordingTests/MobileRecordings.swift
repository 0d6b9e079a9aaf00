import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthProtocol
import Testing
import WireFacts

/// Requests of the Mobile Token API, each on a server of its own.
@Suite(.wireFact("recordings/mobile.jsonl"))
struct MobileRecordings {
    @Test func `every request is answered and changes the state as at the official servers`() async throws {
        try await RecordingRun(suite: .mobile, stride: 25, unperformedPercentage: 10).run { recorded in
            do { return try MobileCase(recorded).outcome() } catch let unknown as CoreCase.NotPerformed {
                return .notPerformed(unknown.reason)
            } catch { return .notPerformed("\(error)") }
        }
    }

    /// As "oidc empty plaintext" and "info plaintext b'{"a":'": a reader gives no request for `null`, and refuses blanks.
    @Test(arguments: [("null", 500), (" ", 400), ("\"x\"", 400)])
    func anEnvelopeWithoutARequestFails(content: String, status: Int) throws {
        let device = try RecordedDevice(RecordedServer())
        let (call, content) = (RecordedCall(), Array(content.utf8))
        let exchange = try device.encrypted("/api/config/oidc", call, purpose: .genericApplication, content: content)
        #expect(exchange.reply.status == status)
    }
}

/// A case of the Mobile Token API: its name and setup say what there is, its recorded request what is sent.
final class MobileCase {
    typealias NotPerformed = CoreCase.NotPerformed

    struct Operation {
        let id: String
        let data: String
    }

    static let operations = "/api/auth/token/app/operation/"

    let name: String
    let area: String
    let setup: String
    let record: JSONValue
    let server: RecordedServer
    /// The answer that is compared, and the state after it.
    var answer: JSONObject = [:]
    var state: JSONValue = [:]
    /// The counters from which those in the state are counted.
    private var counters: [String: Int64] = [:]
    private var users: [String: String] = [:]

    init(_ recorded: RecordedCase) throws {
        (self.name, self.area, self.record) = (recorded.name, recorded.area, recorded.record)
        self.setup = recorded.record["setup"]?.string ?? ""
        self.server = try RecordedServer(templates: MobileTemplate.usual)
    }

    func outcome() throws -> RecordingOutcome {
        switch self.area {
        case "token", "http": try self.performToken()
        case "states", "flags": try self.performState()
        case "failures": try self.performFailures()
        case "signature": try self.performSignature()
        case "decisions": try self.performDecision()
        case "signatureType": try self.performSignatureType()
        case "language": try self.performLanguage()
        case "money": try self.performMoney()
        case "inbox": try self.performInbox()
        case "push": try self.performPush()
        case "formData", "ui", "configuration": try self.performForm()
        case "oidc": try self.performOIDC()
        case "activation code": try self.performActivationCode()
        case "lists": try self.performList()
        case "proximity": try self.performProximity()
        default: throw NotPerformed(reason: "the area \(self.area)")
        }
        var official = self.record["real"]?.object ?? [:]
        let officialState = official["state"] ?? [:]
        official["state"] = nil
        let differences =
            RecordingComparison.differences(.object(official), .object(self.answer), at: "")
            + RecordingComparison.differences(officialState, self.state, at: "state")
        return differences.isEmpty ? .agrees : .differs(differences)
    }

    /// Keeps an exchange as the answer that is compared.
    func keep(_ exchange: RecordedExchange, isBrief: Bool = false) {
        let json = (try? JSONValue(parsing: exchange.reply.body)).map(RecordingComparison.normalizedForMobile)
        var answer: JSONObject = ["status": .number(JSONNumber(exchange.reply.status))]
        if json?["status"] == "ERROR" {
            for name in ["code", "message"] {
                answer[name] = json?["responseObject"]?[name].flatMap { $0.isNull ? nil : $0 }
            }
        }
        answer["answer"] =
            json?.isNull == false ? json : .string(String(decoding: exchange.reply.body.prefix(300), as: UTF8.self))
        if isBrief, exchange.reply.status == 200, var body = json?.object, let object = body["responseObject"] {
            body["responseObject"] = Self.kind(of: object)
            answer["answer"] = .object(body)
        }
        var headers: JSONObject = [:]
        for (name, value) in exchange.reply.headers
        where RecordingComparison.headers.contains(name.lowercased()) && name.lowercased() != "retry-after" {
            headers[name.lowercased()] = .string(value)
        }
        answer["headers"] = .object(headers)
        self.answer = answer
    }

    static func kind(of value: JSONValue) -> JSONValue {
        switch value {
        case .object: "dict"
        case .array: "list"
        case .string: "str"
        case .bool: "bool"
        case .number: "int"
        case .null: "NoneType"
        }
    }

    // MARK: - Devices and operations

    /// A device with a token of possession.
    func phone(user: String? = nil, flags: [String] = [], commit: Bool = true, withToken: Bool = true) throws
        -> RecordedDevice
    {
        let user = user ?? "mf-00000-e\(self.users.count + 1)"
        var request: JSONObject = ["userId": .string(user), "commitPhase": commit ? "ON_KEY_EXCHANGE" : "ON_COMMIT"]
        if !flags.isEmpty { request["flags"] = .array(flags.map { .string($0) }) }
        let made = try self.server.bank("POST", "/v2/registrations", .object(request))
        let device = try RecordedDevice(self.server, code: made["activationCode"]?.string ?? "")
        try device.activate(device.activation(), Self.call())
        self.users[device.id] = user
        if commit, withToken { try self.makeToken(device) }
        return device
    }

    @discardableResult
    func makeToken(_ device: RecordedDevice, _ factors: SignatureType = .possession) throws -> JSONValue {
        try device.sealed("/pa/v3/token/create", Array("{}".utf8), Self.call(factors))
        return device.token ?? .null
    }

    static func call(_ factors: SignatureType = .possessionKnowledge) -> RecordedCall {
        var call = RecordedCall(factors)
        call.common[2].value = "pa-peer/1.0 (python)"
        return call
    }

    func operation(
        of device: RecordedDevice?,
        _ template: String = "mf_pay",
        _ more: JSONObject = [:],
        parameters: JSONObject? = nil,
        seconds: Double? = nil
    ) throws -> Operation {
        let usual: JSONObject = template == "mf_pay" ? ["amount": "100", "currency": "CZK"] : [:]
        var request: JSONObject = ["template": .string(template), "parameters": .object(parameters ?? usual)]
        request["userId"] = device.flatMap { self.users[$0.id] }.map { .string($0) }
        request["timestampExpires"] = seconds.map {
            .number(JSONNumber(self.server.now.addingTimeInterval($0).milliseconds))
        }
        for member in more.members { request[member.key] = member.value }
        let made = try self.server.bank("POST", "/v2/operations", .object(request))
        let id = made["operationId"]?.string ?? ""
        let data = try made["data"] ?? self.server.bank("GET", "/v2/operations/\(id)")["data"]
        return Operation(id: id, data: data?.string ?? "")
    }

    // MARK: - Calls

    func approve(_ device: RecordedDevice, _ operation: Operation, data: String? = nil, _ call: RecordedCall = call())
        throws
        -> RecordedExchange
    {
        let object: JSONValue = ["id": .string(operation.id), "data": .string(data ?? operation.data)]
        let body: JSONValue = ["requestObject": object]
        return try device.signed(Self.operations + "authorize", body.serialized(), call)
    }

    func reject(
        _ device: RecordedDevice,
        _ operation: Operation,
        reason: String? = "UNEXPECTED_OPERATION",
        _ call: RecordedCall = call(.possession)
    ) throws -> RecordedExchange {
        var object: JSONObject = ["id": .string(operation.id)]
        object["reason"] = reason.map { .string($0) }
        let body: JSONValue = ["requestObject": .object(object)]
        return try device.signed(Self.operations + "cancel", body.serialized(), call)
    }

    func byToken(_ device: RecordedDevice, _ path: String, _ operation: Operation?, _ call: RecordedCall = call())
        throws
        -> RecordedExchange
    {
        let body: JSONValue = operation.map { ["requestObject": ["id": .string($0.id)]] } ?? [:]
        return try device.withToken(Self.operations + path, body.serialized(), call)
    }

    /// Makes one of the calls that cases name.
    func make(_ name: Substring, _ device: RecordedDevice, _ operation: Operation) throws -> RecordedExchange {
        var wrong = Self.call(name.hasPrefix("reject") ? .possession : .possessionKnowledge)
        wrong.secret = ApplicationSecret(base64: "AAAAAAAAAAAAAAAAAAAAAA==")
        switch name {
        case "detail": return try self.byToken(device, "detail", operation)
        case "claim": return try self.byToken(device, "detail/claim", operation)
        case "list": return try self.byToken(device, "list", nil)
        case "approve": return try self.approve(device, operation)
        case "approve wrong data": return try self.approve(device, operation, data: operation.data + "x")
        case "approve wrong code": return try self.approve(device, operation, wrong)
        case "approve unsigned":
            let body: JSONValue = ["requestObject": ["id": .string(operation.id), "data": .string(operation.data)]]
            return device.send(Self.operations + "authorize", [], body.serialized(), Self.call())
        case "reject": return try self.reject(device, operation)
        case "reject wrong code": return try self.reject(device, operation, wrong)
        case "history": return try device.signed(Self.operations + "history", Array("{}".utf8), Self.call())
        default: throw NotPerformed(reason: "the call \(name)")
        }
    }

    // MARK: - States

    func mark(_ device: RecordedDevice) {
        self.counters[device.id] = self.server.counter(ofActivation: device.id).int64
    }

    func note(_ device: RecordedDevice?, _ operation: Operation?) throws {
        var state: JSONObject = [:]
        if let operation {
            let found = try self.server.bank("GET", "/v2/operations/\(operation.id)")
            var more = found["additionalData"]?.object ?? [:]
            if more["applicationId"] != nil { more["applicationId"] = "<application>" }
            state["operation"] = [
                "status": found["status"] ?? .null, "failureCount": found["failureCount"] ?? .null,
                "user": found["userId"] ?? .null, "statusReason": found["statusReason"] ?? .null,
                "additionalData": .object(more),
            ]
        }
        if let device {
            let found = try self.server.bank("GET", "/v2/registrations/\(device.id)")
            let counter = (self.server.counter(ofActivation: device.id).int64 ?? 0) - (self.counters[device.id] ?? 0)
            state["activation"] = [
                "status": found["registrationStatus"] ?? .null, "failedAttempts": found["failedAttempts"] ?? .null,
                "counter": .number(JSONNumber(counter)), "blockedReason": found["blockedReason"] ?? .null,
            ]
        }
        self.state = RecordingComparison.normalizedForMobile(.object(state))
    }

    /// Leaves of the operation's additional data the factors alone, under a name.
    func keepFactors(as name: String?) {
        guard var state = self.state.object, var operation = state["operation"]?.object else { return }
        let factors = operation["additionalData"]?["authFactor"] ?? .null
        operation["additionalData"] = nil
        if let name { operation[name] = factors }
        state["operation"] = .object(operation)
        self.state = .object(state)
    }
}
