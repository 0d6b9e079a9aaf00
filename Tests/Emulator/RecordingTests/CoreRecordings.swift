import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

@testable import EmulatorBackend

/// Requests of the standard endpoints, right ones and wrong ones, each on a server of its own.
@Suite(.wireFact("recordings/core.jsonl"))
struct CoreRecordings {
    @Test func `every request is answered and changes the state as at the official servers`() async throws {
        try await RecordingRun(suite: .core, stride: 10, unperformedPercentage: 5).run { recorded in
            do {
                var outcome = try CoreCase(recorded).outcome()
                // A flipped nonce deciphers the first bytes as any others: in one case of sixteen with a NUL, which nothing counts.
                for _ in 0..<(recorded.name.contains("envelope nonce flipped") ? 5 : 0) {
                    guard case .differs = outcome else { break }
                    outcome = try CoreCase(recorded).outcome()
                }
                return outcome
            } catch let unknown as CoreCase.NotPerformed {
                return .notPerformed(unknown.reason)
            } catch { return .notPerformed("\(error)") }
        }
    }
}

/// A case of the standard endpoints. Its requests are rebuilt from the recording: headers and contents are templates, whose
/// placeholders stand for right values; the case's name says which of them are wrong, and what is wrong where it does not show.
final class CoreCase {
    struct NotPerformed: Error {
        let reason: String
    }

    static let unknownID = "d6561669-34d6-4fee-8913-89477687a5cb"
    static let list = "/api/auth/token/app/operation/list"

    let name: String
    let area: String
    /// The activation's setup: its state, and what else there is.
    let setup: String
    let record: JSONValue
    let steps: [JSONValue]
    let server: RecordedServer
    var device: RecordedDevice
    /// The values that the case looked at beside the answers.
    var notes: JSONValue = .null
    var foreignApplication: (key: String, secret: ApplicationSecret)?

    init(_ recorded: RecordedCase) throws {
        (self.name, self.area, self.record) = (recorded.name, recorded.area, recorded.record)
        self.setup = (recorded.record["setup"]?.string ?? "").replacing("recovery on for the application; ", with: "")
        let first = recorded.record["real"]?["status"].map { _ in [recorded.record] } ?? []
        self.steps = first + (recorded.record["more"]?.array ?? [])
        self.server = try RecordedServer()
        self.device = try RecordedDevice(self.server)
    }

    func outcome() throws -> RecordingOutcome {
        switch self.area {
        case "otp": try self.performOTP()
        case "keystore": try self.performKeystore()
        case "bank": try self.performBank()
        case "users": try self.performUser()
        case "recovery": try self.performRecovery()
        default:
            try self.setUp()
            if self.area == "application versions" { try self.switchVersionOff() }
            for index in self.steps.indices {
                try self.perform(index)
                self.hide(index)
            }
            if self.area == "answer envelope", let answer = self.device.log.last?.reply.json.object {
                self.notes = .object(answer.mapValues { $0.string == nil ? "int" : "str" })
            }
        }
        guard
            self.notes != .null || self.area == "keystore" && self.record["real"]?["notes"]?["claims"] != nil
                || (self.record["real"]?["notes"] ?? .null).isNull
        else {
            throw NotPerformed(reason: "it looks at something beside the answers")
        }
        let differences = self.differences()
        return differences.isEmpty ? .agrees : .differs(differences)
    }

    // MARK: - Setting up

    var isWithoutDevice: Bool { ["", "nothing", "no authentication"].contains(self.setup) }
    var state: Substring { self.setup.prefix { $0.isLetter || $0 == "_" } }

    var setupVersion: ProtocolVersion {
        let inName = self.area == "encryption header" ? "" : self.name
        let named = self.setup.firstMatch(of: #/3\.[123]/#) ?? inName.firstMatch(of: #/3\.[123]/#)
        return named.flatMap { ProtocolVersion(rawValue: String($0.0)) } ?? .v3_3
    }

    func register(_ request: JSONObject = ["commitPhase": "ON_KEY_EXCHANGE"], user: String? = nil) throws {
        var request = request
        request["userId"] = .string(user ?? self.server.newUser())
        let made = try self.server.bank("POST", "/v2/registrations", .object(request))
        (self.device.id, self.device.code) = (
            made["registrationId"]?.string ?? "", made["activationCode"]?.string ?? ""
        )
    }

    func setUp() throws {
        guard !self.isWithoutDevice else { return }
        self.device.version = self.setupVersion
        var request: JSONObject = ["commitPhase": self.state == "PENDING" ? "ON_COMMIT" : "ON_KEY_EXCHANGE"]
        if let flags = self.name.wholeMatch(of: #/flags \[(.*)\]/#)?.1 {
            request["flags"] = .array(flags.split(separator: ", ").map { .string($0.trimmingCharacters(in: ["'"])) })
        }
        if self.name == "create registered with no phase" { request = [:] }
        if self.name == "create registered with ON_COMMIT" { request["commitPhase"] = "ON_COMMIT" }
        if self.name == "create registered with flags" { request["flags"] = ["A", "B"] }
        try self.register(request)
        let startsWithActivation = self.steps.first?["request"]?["path"] == "/pa/v3/activation/create"
        guard self.state != "CREATED", !startsWithActivation else { return }
        try self.device.activate(self.device.activation())
        if self.needsToken { try self.makeToken() }
        try self.bringAbout(String(self.state))
        self.device.log = []
    }

    private var needsToken: Bool {
        if self.setup.contains("token of") || self.name.contains("expired temporary key") { return true }
        if self.area == "answer envelope" { return true }
        let uses = self.steps.firstIndex { step in
            let headers = step["request"]?["headers"]?.array ?? []
            return headers.contains { $0.string?.contains("token_id=") ?? false }
                || self.area == "token" && step["request"]?["path"] == "/pa/v3/token/remove"
        }
        let creates = self.steps.firstIndex { $0["request"]?["path"] == "/pa/v3/token/create" }
        return uses.map { use in creates.map { use < $0 } ?? true } ?? false
    }

    private func makeToken() throws {
        guard self.state != "PENDING" else {
            self.device.token = ["tokenId": .string(Self.unknownID), "tokenSecret": .string(Self.ones(16))]
            return
        }
        let factors = self.name.wholeMatch(of: #/token of ([a-z_]+) at detail/#).flatMap {
            SignatureType(rawValue: String($0.1))
        }
        try self.device.sealed("/pa/v3/token/create", Array("{}".utf8), RecordedCall(factors ?? .possessionKnowledge))
    }

    private func bringAbout(_ state: String) throws {
        if self.setup.contains("temporary key fetched"), self.device.version == .v3_3 {
            if state == "PENDING" {
                let key = try self.device.serverKey ?? { throw RecordedDevice.Nothing() }()
                self.device.temporaryKeys[.activation] = (Self.unknownID, key)
            } else {
                _ = try self.device.temporaryKey(.activation)
            }
        }
        if state == "BLOCKED" || self.name.contains("upgrade/start blocked") {
            if self.area == "upgrade" { _ = try self.device.temporaryKey(.activation) }
            try self.server.change(self.device.id, "BLOCK")
        }
        if state == "REMOVED" { try self.server.remove(self.device.id) }
    }

    /// Switches the version of the application off, after the device has got the keys of its envelopes.
    private func switchVersionOff() throws {
        _ = try self.device.temporaryKey(.application)
        if self.device.keys != nil { _ = try self.device.temporaryKey(.activation) }
        self.server.backend.protocolRules.unsupportedApplications = [self.server.backend.defaultApplicationID]
    }

    private func askForKey(_ isOfApplication: Bool) throws {
        self.device.temporaryKeys = [:]
        do {
            _ = try self.device.temporaryKey(isOfApplication ? .application : .activation)
        } catch let error as RecordedDevice.Refused { self.device.log.append(error.exchange) }
    }

    // MARK: - Performing

    private func perform(_ index: Int) throws {
        let request = self.steps[index]["request"] ?? .null
        let path = request["path"]?.string ?? ""
        let what = request["what"]?.string ?? ""
        if what.contains("the same request again") || what == "the same again" && self.area == "keystore" {
            self.device.send((try self.device.log.last ?? { throw NotPerformed(reason: "nothing was sent") }()).request)
            return
        }
        var call = self.call(of: request, what)
        if what == "the same envelope, a new code" {
            let envelope = self.device.log.last?.request.body ?? []
            try self.device.signed(path, envelope, call)
            return
        }
        try self.change(&call, index)
        let body = try self.content(request["body"], path)
        let content = body ?? Array("{}".utf8)
        switch path.split(separator: "?").first.map(String.init) ?? path {
        case _ where self.isWithoutDevice:
            let headers = (request["headers"]?.array ?? []).compactMap(\.string).map { line in
                let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
                return (name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : "")
            }
            self.device.send(path, headers, body, call)
        case "/pa/v3/activation/create": try self.activate(request, call)
        case "/pa/v3/signature/validate", "/pa/v3/token/remove", "/pa/v3/activation/remove", "/pa/v3/upgrade/commit":
            try self.device.signed(path, body, call)
        case "/pa/v3/token/create", "/pa/v3/vault/unlock", "/pa/v3/recovery/confirm", "/pa/v3/activation/rename":
            try self.device.sealed(path, content, call)
        case "/pa/v3/user/info": try self.device.encrypted(path, call, content: content)
        case "/pa/v3/activation/detail": try self.device.encrypted(path, call, content: content, withToken: true)
        case "/pa/v3/keystore/create": try self.askForKey(request["body"]?["claims"]?["activationId"] == nil)
        case "/pa/v3/upgrade/start": try self.device.encrypted(path, call, purpose: .upgrade)
        case Self.list: try self.device.withToken(path, content, call)
        case "/pa/v3/activation/status":
            let isRight = request["body"] == ["requestObject": ["activationId": "<uuid>", "challenge": "<base64:16>"]]
            if isRight, self.area != "status" || self.setup != "ACTIVE 3.3" {
                self.device.status()
            } else {
                self.device.send(path, [], content, call)
            }
        default: throw NotPerformed(reason: "the path \(path)")
        }
    }

    /// Leaves of what was read in an answer what is recorded: of some only the length, and not whether the vault's key is right.
    private func hide(_ index: Int) {
        guard let recorded = self.steps[index]["real"]?["answer"], var exchange = self.device.log.popLast() else {
            return
        }
        if recorded["encryptedData"] != nil { exchange.content = nil }
        if var vault = exchange.content?.object, recorded["decrypted"]?["_key"] == nil {
            vault["_key"] = nil
            exchange.content = .object(vault)
        }
        self.device.log.append(exchange)
    }

    func call(of request: JSONValue, _ what: String) -> RecordedCall {
        var call = RecordedCall()
        let lines = (request["headers"]?.array ?? []).compactMap(\.string)
        let text = lines.joined(separator: "\n")
        call.headers = lines
        call.method = request["method"]?.string ?? "POST"
        call.contentType = request["contentType"]?.string
        call.isWrong = what.hasSuffix(" wrong")
        let factors = text.firstMatch(of: #/pa_signature_type\s?=\s?["']*([a-z_]+)/#)?.1
        let named = what.split(separator: " ").dropFirst().first
        let path = request["path"]?.string ?? ""
        let usual: SignatureType = path.hasSuffix("/upgrade/commit") ? .possession : .possessionKnowledge
        // The type in the header is what is wrong with it, in some cases.
        let shown = self.name.contains(" / type ") ? nil : factors.flatMap { SignatureType(rawValue: String($0)) }
        call.factors = shown ?? named.flatMap { SignatureType(rawValue: String($0)) } ?? usual
        let isVersionWrong =
            ["header", "state", "encryption header"].contains(self.area) || self.name.contains(" named")
        if !isVersionWrong, let version = text.firstMatch(of: #/version\s?=\s?["']*(3\.[123])/#)?.1 {
            call.version = ProtocolVersion(rawValue: String(version))
        }
        return call
    }

    private func activate(_ request: JSONValue, _ call: RecordedCall) throws {
        var activation = self.device.activation()
        let body = request["body"] ?? .null
        let (key, path) = (activation.inner["devicePublicKey"], "/pa/v3/activation/create")
        activation.outer = self.filled(body["outer"] ?? [:], path).object ?? [:]
        activation.inner = self.filled(body["inner"] ?? [:], path).object ?? [:]
        if activation.inner["devicePublicKey"] == "<key>" { activation.inner["devicePublicKey"] = key }
        try self.change(&activation)
        let id = self.device.id
        try self.device.activate(activation, call)
        if self.device.id.isEmpty { self.device.id = id }
    }

    // MARK: - Comparing

    private func differences() -> [RecordingDifference] {
        let answers = self.device.log.map { exchange in self.cleaned(.object(exchange.answer())) }
        var differences: [RecordingDifference] = []
        for index in 0..<max(self.steps.count, answers.count) {
            var official = self.steps.indices.contains(index) ? self.steps[index]["real"]?.object : nil
            for member in ["stateAfter", "notes"] { official?[member] = nil }
            if let answer = official?["answer"] { official?["answer"] = RecordingComparison.puttingAside(answer) }
            let ours = answers.indices.contains(index) ? answers[index] : nil
            differences += RecordingComparison.differences(official.map { .object($0) }, ours, at: "\(index + 1)")
        }
        var (official, ours) = (self.record["real"]?["stateAfter"] ?? .null, self.cleaned(self.stateAfter))
        if official["status"] == "REMOVED", ours["status"] == "REMOVED" {
            // Of a removed activation, the servers keep no more than these.
            (official, ours) = (Self.kept(of: official), Self.kept(of: ours))
        }
        differences += RecordingComparison.differences(official, ours, at: "state")
        let notes = RecordingComparison.normalized(self.notes)
        return differences + RecordingComparison.differences(self.record["real"]?["notes"] ?? .null, notes, at: "notes")
    }

    private static func kept(of state: JSONValue) -> JSONValue {
        .object(JSONObject((state.object ?? [:]).members.filter { ["status", "failed", "reason"].contains($0.key) }))
    }

    var stateAfter: JSONValue { self.state(ofActivation: self.device.id) }

    func state(ofActivation id: String) -> JSONValue {
        guard !id.isEmpty, let activation = try? self.server.bank("GET", "/v2/registrations/\(id)") else {
            return .null
        }
        let isRemoved = activation["registrationStatus"] == "REMOVED"
        let state: JSONValue = [
            "status": activation["registrationStatus"] ?? .null, "failed": activation["failedAttempts"] ?? .null,
            "max": activation["maxFailedAttempts"] ?? .null,
            "counter": isRemoved ? .null : self.server.counter(ofActivation: id),
            "reason": activation["blockedReason"] ?? .null, "name": activation["name"] ?? .null,
            "platform": activation["platform"] ?? .null, "device": activation["deviceInfo"] ?? .null,
            "flags": activation["flags"] ?? [],
        ]
        return RecordingComparison.normalized(state)
    }

    /// Writes values as the recordings do: long ones by their length, a zero byte as a backslash and a zero.
    private func cleaned(_ value: JSONValue) -> JSONValue {
        let isLong = ["create", "size", "vault"].contains(self.area)
        return value.mapping { value in
            switch value {
            case "<base64:192>" where isLong: "<256 × x>"
            case "<base64:3000>" where isLong: "<4000 × x>"
            case .string(let string): .string(string.replacing("\0", with: #"\0"#))
            default: value
            }
        }
    }

    /// Bytes that are all 1, in Base64: what the recordings put in the place of a right value.
    static func ones(_ count: Int) -> String { Base64.encode([UInt8](repeating: 1, count: count)) }
}
