import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthProtocol
import Testing
import WireFacts

/// Lives of users with devices and a bank, step by step: each step is answered, and changes the state, as at the official servers.
@Suite(.wireFact("recordings/sequences.jsonl"))
struct SequenceRecordings {
    @Test func `every step is answered and changes the state as at the official servers`() async throws {
        try await RecordingRun(suite: .sequences, stride: 6, unperformedPercentage: 0).run { recorded in
            do { return try RecordedLife().outcome(of: recorded.record["steps"]?.array ?? []) } catch {
                return .notPerformed("\(error)")
            }
        }
    }
}

/// The things that a sequence has made so far: devices by the letter of their place, activations and operations by name.
final class RecordedLife {
    private struct Operation {
        let id: String
        let data: String
        let expires: Date?
    }

    /// There is nothing yet that this step could be done with.
    private typealias Nothing = RecordedDevice.Nothing
    /// The recording has a step that the performer does not know.
    private struct Unknown: Error {
        let step: String
    }

    private let server: RecordedServer
    private let user: String
    private let otherUser: String
    private var devices: [String: RecordedDevice] = [:]
    private var tokens: [String: [JSONValue]] = [:]
    private var codesExpire: [String: Date] = [:]
    private var activations: [(name: String, id: String)] = []
    private var operations: [(name: String, operation: Operation)] = []
    private var names: [String: String] = [:]

    init() throws {
        self.server = try RecordedServer(templates: Self.templates)
        (self.user, self.otherUser) = (self.server.newUser(), self.server.newUser())
        self.names = [self.server.application.id: "<application>", self.user: "<user>", self.otherUser: "<other user>"]
    }

    private static let templates: [JSONValue] = [
        ("seq_1fa", ["possession"], 5), ("seq_2fa", ["possession_knowledge", "possession_biometry"], 5),
        ("seq_knowledge", ["possession_knowledge"], 5), ("seq_biometry", ["possession_biometry"], 5),
        ("seq_any", ["possession", "possession_knowledge", "possession_biometry"], 5),
        ("seq_max1", ["possession_knowledge"], 1),
        ("seq_max2", ["possession_knowledge", "possession_biometry"], 2), ("seq_max3", ["possession_knowledge"], 3),
    ].map { name, factors, failures in
        [
            "name": .string(name), "operationType": .string(name), "data": "A1*A${amount}CZK", "expiresIn": 300,
            "maxFailureCount": .number(JSONNumber(failures)), "parameters": ["amount": "100"],
            "allowedSignatureType": [
                "type": factors.contains("possession") ? "1FA" : "2FA", "variants": .array(factors.map { .string($0) }),
            ],
            "texts": ["en": ["title": "Payment", "message": "Confirm"]],
            "formData": ["title": "@{title}", "message": "@{message}", "attributes": []],
        ]
    }

    // MARK: - Performing

    /// Performs the steps until the first one that differs.
    func outcome(of steps: [JSONValue]) throws -> RecordingOutcome {
        var (official, before) = (JSONObject(), JSONObject())
        for (number, recorded) in zip(1..., steps) {
            let step = recorded["step"] ?? .null
            let answer = try self.answer(to: step)
            var state = before
            if answer != nil { state = self.state() }
            for member in recorded["state"]?.object?.members ?? [] { official[member.key] = member.value }
            let differences =
                RecordingComparison.differences(recorded["real"], answer.map { .object($0) }, at: "")
                + RecordingComparison.differences(.object(official), .object(state), at: "state")
            guard differences.isEmpty else {
                let place = "\(number) \(String(decoding: step.serialized(), as: UTF8.self)), "
                return .differs(
                    differences.map { .init(place: place + $0.place, official: $0.official, ours: $0.ours) }
                )
            }
            before = state
        }
        return .agrees
    }

    /// Returns what a step was answered; `nil` when there was nothing to do it with.
    private func answer(to step: JSONValue) throws -> JSONObject? {
        let exchange: RecordedExchange?
        do {
            exchange = try self.perform(step)
        } catch is Nothing {
            return nil
        } catch let refusal as RecordedServer.Refused {
            return ["status": .string(refusal.status < 500 ? "refused" : "refused with \(refusal.status)")]
        } catch let refusal as RecordedDevice.Refused {
            exchange = refusal.exchange
        }
        guard let exchange else { return ["status": "done"] }
        var answer = exchange.answer(named: self.named)
        if step["do"] == "again", var body = answer["answer"]?.object, body["encryptedData"] != nil {
            body["encryptedData"] = "<base64>"
            answer["answer"] = .object(body)
        }
        return answer
    }

    private func perform(_ step: JSONValue) throws -> RecordedExchange? {
        let what = step["do"]?.string ?? ""
        switch what {
        case "register": try self.register(step)
        case "commit": try self.server.commit(self.device(step).id, otp: self.otp(step))
        case "block", "unblock": try self.server.change(self.device(step).id, what.uppercased())
        case "remove": try self.server.remove(self.device(step).id)
        case "add flags", "remove flags":
            let path = "/v2/registrations/\(try self.device(step).id)/flags"
            try self.server.bank(what == "add flags" ? "POST" : "DELETE", path, ["flags": step["flags"] ?? []])
        case "create": try self.create(step)
        case "cancel":
            let reason = step["reason"]?.string?.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            let query = reason.map { "?statusReason=\($0)" } ?? ""
            try self.server.bank("DELETE", "/v2/operations/\(try self.operation(step).id)\(query)")
        case "wait for expiry": try self.waitForExpiry(step)
        default: return try self.call(what, step)
        }
        return nil
    }

    private func call(_ what: String, _ step: JSONValue) throws -> RecordedExchange {
        if what == "status" { return try self.status(step) }
        let device = try self.device(step)
        if what == "again" { return try device.send((device.log.last ?? { throw Nothing() }()).request) }
        let version = step["version"]?.string.flatMap(ProtocolVersion.init(rawValue:)) ?? .v3_3
        if what == "activate" {
            let activation = device.activation(name: step["name"]?.string ?? "phone", otp: self.otp(step))
            return try device.activate(activation, RecordedCall(version: version))
        }
        guard device.keys != nil else { throw Nothing() }
        let (path, call) = ("/api/auth/token/app/operation/", RecordedCall(version: version))
        switch what {
        case "user info": return try device.encrypted("/pa/v3/user/info", call)
        case "detail":
            device.token = try self.token(step, device)
            return try device.encrypted("/pa/v3/activation/detail", call, withToken: true)
        case "list", "show", "claim":
            let name = ["list": "list", "show": "detail", "claim": "detail/claim"][what] ?? ""
            let object: JSONValue? = try step["operation"].map { _ in ["id": .string(try self.operation(step).id)] }
            device.token = try self.token(step, device)
            let body: JSONValue = object.map { ["requestObject": $0] } ?? [:]
            return try device.withToken(path + name, body.serialized(), call)
        default: return try self.signedCall(what, step, device, version, path)
        }
    }

    private func signedCall(
        _ what: String,
        _ step: JSONValue,
        _ device: RecordedDevice,
        _ version: ProtocolVersion,
        _ path: String
    ) throws -> RecordedExchange {
        let factors = step["factors"]?.string.flatMap(SignatureType.init(rawValue:)) ?? .possessionKnowledge
        var call = RecordedCall(factors, version: version)
        call.ahead = Int(step["ahead"]?.int64 ?? 0)
        call.isWrong = step["wrong"]?.bool ?? false
        let body: JSONValue
        switch what {
        case "approve":
            let operation = try self.operation(step)
            let data = operation.data + (step["data"] == "wrong" ? "x" : "")
            body = ["requestObject": ["id": .string(operation.id), "data": .string(data)]]
        case "reject":
            var object: JSONObject = ["id": .string(try self.operation(step).id)]
            object["reason"] = step["reason"]
            body = ["requestObject": .object(object)]
        case "token remove":
            body = ["requestObject": ["tokenId": try self.token(step, device)["tokenId"] ?? .null]]
        case "vault": body = ["reason": "SIGN"]
        case "rename": body = ["activationName": step["name"] ?? ""]
        default: body = [:]
        }
        let bytes = body.serialized()
        let signed = [
            "approve": path + "authorize", "reject": path + "cancel", "history": path + "history",
            "token remove": "/pa/v3/token/remove", "leave": "/pa/v3/activation/remove",
            "validate": "/pa/v3/signature/validate",
        ]
        if let path = signed[what] { return try device.signed(path, bytes, call) }
        let sealed = [
            "vault": "/pa/v3/vault/unlock", "rename": "/pa/v3/activation/rename", "token create": "/pa/v3/token/create",
        ]
        guard let path = sealed[what] else { throw Unknown(step: what) }
        let exchange = try device.sealed(path, bytes, call)
        if what == "token create", let token = exchange.content, token["tokenId"] != nil {
            self.tokens[step["device"]?.string ?? "", default: []].append(token)
        }
        return exchange
    }

    private func status(_ step: JSONValue) throws -> RecordedExchange {
        let device = try self.device(step)
        let exchange = device.status()
        // As clients do, the device goes on at the counter of the server.
        if step["follow"]?.bool == true, let counter = exchange.blob?["counterAt"]?.int64 {
            device.position = Int(counter)
        }
        return exchange
    }

    // MARK: - Steps of the bank

    private func register(_ step: JSONValue) throws {
        let place = step["device"]?.string ?? ""
        let seconds = step["seconds"]?.decimal.map { NSDecimalNumber(decimal: $0).doubleValue }
        let expires = seconds.map { self.server.now.addingTimeInterval($0) }
        var request: JSONObject = ["userId": .string(step["user"] == "other" ? self.otherUser : self.user)]
        request["commitPhase"] = step["phase"]
        if let otp = self.otp(step) { (request["otp"], request["otpValidation"]) = (.string(otp), step["phase"]) }
        request["flags"] = step["flags"]
        request["timestampRegistrationExpire"] = expires.map { .number(JSONNumber($0.milliseconds)) }
        let made = try self.server.bank("POST", "/v2/registrations", .object(request))
        let (id, code) = (made["registrationId"]?.string ?? "", made["activationCode"]?.string ?? "")
        let name = "\(place)\(self.activations.count { $0.name.hasPrefix(place) } + 1)"
        self.activations.append((name, id))
        self.names[id] = "<\(name)>"
        self.devices[place] = try RecordedDevice(self.server, id: id, code: code)
        (self.tokens[place], self.codesExpire[place]) = ([], expires)
    }

    private func create(_ step: JSONValue) throws {
        let (name, amount) = (step["operation"]?.string ?? "", "\(100 + self.operations.count)")
        let seconds = step["seconds"]?.decimal.map { NSDecimalNumber(decimal: $0).doubleValue }
        let expires = seconds.map { self.server.now.addingTimeInterval($0) }
        var request: JSONObject = ["parameters": ["amount": .string(amount)]]
        request["template"] = step["template"]
        if step["user"] != "none" { request["userId"] = .string(step["user"] == "other" ? self.otherUser : self.user) }
        request["flag"] = step["flag"]
        if let place = step["activation"] { request["registrationId"] = .string(try self.device(["device": place]).id) }
        request["timestampExpires"] = expires.map { .number(JSONNumber($0.milliseconds)) }
        let id = try self.server.bank("POST", "/v2/operations", .object(request))["operationId"]?.string ?? ""
        self.operations.append((name, Operation(id: id, data: "A1*A\(amount)CZK", expires: expires)))
        self.names[id] = "<\(name)>"
    }

    private func waitForExpiry(_ step: JSONValue) throws {
        let end: Date?
        if step["operation"] != nil {
            end = try self.operation(step).expires
        } else {
            end = self.codesExpire.removeValue(forKey: step["device"]?.string ?? "")
        }
        self.server.now = max(self.server.now, try (end ?? { throw Nothing() }()).addingTimeInterval(0.5))
    }

    // MARK: - Things by name

    private func device(_ step: JSONValue) throws -> RecordedDevice {
        guard let device = self.devices[step["device"]?.string ?? ""] else { throw Nothing() }
        if step["renew"]?.bool == true { device.temporaryKeys = [:] }
        return device
    }

    private func operation(_ step: JSONValue) throws -> Operation {
        let name = step["operation"]?.string
        return try self.operations.last { $0.name == name }?.operation ?? { throw Nothing() }()
    }

    /// Returns the newest token; the one before it, and so on; or that of another device. Removed ones are kept.
    private func token(_ step: JSONValue, _ device: RecordedDevice) throws -> JSONValue {
        let tokens = self.tokens[step["of"]?.string ?? step["device"]?.string ?? ""] ?? []
        let older = Int(step["older"]?.int64 ?? 0)
        guard tokens.count > older else { throw Nothing() }
        return tokens[tokens.count - 1 - older]
    }

    private func otp(_ step: JSONValue) -> String? { step["otp"].map { $0 == "right" ? "1234567890" : "0987654321" } }

    /// Replaces the identifiers of what the sequence has made by their names.
    private func named(_ value: JSONValue) -> JSONValue {
        value.mapping { value in
            guard let string = value.string else { return value }
            if let name = self.names[string] { return .string(name) }
            let text = self.names.reduce(string) { text, name in
                text.utf8.count > name.key.utf8.count && text.contains(name.key)
                    ? text.replacing(name.key, with: name.value) : text
            }
            return .string(text)
        }
    }

    private func state() -> JSONObject {
        let activations = self.activations.map { name, id in
            JSONObject.Member(key: name, value: self.state(ofActivation: id))
        }
        let operations = self.operations.map { name, operation in
            JSONObject.Member(key: name, value: self.state(ofOperation: operation.id))
        }
        let state = self.named(.object(JSONObject(activations + operations)))
        return RecordingComparison.normalized(state).object ?? [:]
    }

    private func state(ofActivation id: String) -> JSONValue {
        let activation = (try? self.server.bank("GET", "/v2/registrations/\(id)")) ?? .null
        var state: JSONObject = [
            "status": activation["registrationStatus"] ?? .null, "failed": activation["failedAttempts"] ?? .null,
            "reason": activation["blockedReason"] ?? .null,
        ]
        guard state["status"] != "REMOVED" else { return .object(state) }
        state["counter"] = self.server.counter(ofActivation: id)
        state["name"] = activation["name"] ?? .null
        let flags = (activation["flags"]?.array ?? []).compactMap(\.string).sorted()
        state["flags"] = .array(flags.map { .string($0) })
        return .object(state)
    }

    private func state(ofOperation id: String) -> JSONValue {
        let operation = (try? self.server.bank("GET", "/v2/operations/\(id)")) ?? .null
        return [
            "status": operation["status"] ?? .null, "failed": operation["failureCount"] ?? .null,
            "reason": operation["statusReason"] ?? .null, "user": operation["userId"] ?? .null,
            "more": operation["additionalData"] ?? [:],
        ]
    }
}
