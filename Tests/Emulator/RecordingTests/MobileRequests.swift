import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

// Requests with tokens, and the requests that recorded ones stand for.

extension MobileCase {
    // MARK: - Requests of tokens

    func performToken() throws {
        let form = #/(list|detail|claim|push2?|inbox (?:count|list|detail|read-all|read)): (.*)/#
        guard let parts = self.name.wholeMatch(of: form) else { throw NotPerformed(reason: "hidden steps") }
        let label = String(parts.2)
        let device = try self.phone()
        let operation = try self.operation(of: device, seconds: 3000)
        let message = try self.server.bank(
            "POST",
            "/v2/inbox/messages",
            [
                "userId": .string(self.user(of: device)), "subject": "Subject one", "summary": "Summary one",
                "body": "Body of one", "type": "text",
            ]
        )
        let request = self.record["request"] ?? .null
        let path = request["path"]?.string ?? ""
        let id = path.contains("/inbox/") ? message["id"]?.string ?? "" : operation.id
        let body = try self.body(request["body"], id: id, data: "")
        var call = try self.recordedCall(request)
        let changes = label.hasPrefix("activation ") ? try self.changeActivation(label, device) : false
        try self.changeToken(&call, label, device)
        let exchange: RecordedExchange
        if label == "signature in place of a token" {
            exchange = try device.signed(path, uriID: path, body, call)
        } else if request["headers"]?["X-PowerAuth-Token"] == nil {
            exchange = device.send(path, [], body, call)
        } else if label == "header garbage" || label == "header empty" {
            exchange = device.send(path, [("X-PowerAuth-Token", label == "header empty" ? "" : "garbage")], body, call)
        } else if label == "both headers" {
            throw NotPerformed(reason: "a signature beside the token")
        } else {
            let first = try device.withToken(path, body, call)
            exchange = label == "nonce twice" ? device.send(first.request) : first
        }
        self.keep(exchange, isBrief: true)
        guard changes else { return }
        try self.note(device, nil)
        var activation = self.state["activation"]?.object ?? [:]
        activation["counter"] = nil
        self.state = ["activation": .object(activation)]
    }

    func user(of device: RecordedDevice) -> String { self.server.backend.state.activations[device.id]?.userID ?? "" }

    /// Returns a call with the headers of a recorded request that are no header of the protocol.
    func recordedCall(_ request: JSONValue) throws -> RecordedCall {
        var call = Self.call()
        call.method = request["method"]?.string ?? "POST"
        call.contentType = nil
        call.common = []
        for member in request["headers"]?.object?.members ?? []
        where member.value.string?.hasPrefix("PowerAuth ") != true {
            guard let value = member.value.string, !member.key.hasPrefix("X-PowerAuth") else { continue }
            call.common.append((member.key, value))
        }
        if !self.name.contains("User-Agent") { call.common.append(("User-Agent", "pa-peer/1.0 (python)")) }
        if let agent = self.name.wholeMatch(of: #/.*: User-Agent (.*)/#)?.1 {
            guard agent == "official" else { throw NotPerformed(reason: "the agent \(agent)") }
            call.common.append(
                (
                    "User-Agent",
                    "PowerAuthNetworking/1.1.7 (en; cellular) com.wultra.app.MobileToken.wtest/2.0.0 (Apple; iOS/16.6.1; iphone12,3)"
                )
            )
        }
        if let factors = request["authentication"]?.string?.wholeMatch(of: #/signature (\w+).*/#)?.1 {
            call.factors = SignatureType(rawValue: String(factors)) ?? .possessionKnowledge
        }
        return call
    }

    /// Returns the bytes of a recorded body; `nil` for none.
    func body(_ body: JSONValue?, id: String, data: String) throws -> [UInt8]? {
        if let literal = self.setup.wholeMatch(of: #/body b(['"].*['"])/#)?.1 {
            let bytes = try CoreCase.plaintext(String(literal), count: 0)
            return bytes
        }
        guard let body, !body.isNull else { return nil }
        let lost = ["not UTF-8", "UTF-16", "duplicate member", "huge", "byte order mark"]
        guard !lost.contains(where: { self.name.hasSuffix($0) }) else {
            throw NotPerformed(reason: "bytes that do not show")
        }
        let bytes: [UInt8] = body.string.map { Array($0.utf8) } ?? body.serialized()
        let text = String(decoding: bytes, as: UTF8.self)
            .replacing("<uuid>", with: id)
            .replacing(#/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/#, with: id)
            .replacing(#/[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/#, with: id.uppercased())
            .replacing(#/<date yyyy-MM-ddTHH:mm:ss(.*?)>/#) { "2024-01-01T00:00:00\($0.1)" }
            .replacing("\"<milliseconds>\"", with: "1700000000000")
            .replacing(#/\{"\$number":"(.*?)"\}/#) { $0.1 }
        return Array(text.utf8)
    }

    func changeActivation(_ label: String, _ device: RecordedDevice) throws -> Bool {
        switch label {
        case "activation blocked": try self.server.change(device.id, "BLOCK")
        case "activation unblocked":
            try self.server.change(device.id, "BLOCK")
            try self.server.change(device.id, "UNBLOCK")
        case "activation removed": try self.server.remove(device.id)
        case "activation blocked by failures":
            let operation = try self.operation(of: device)
            var wrong = Self.call()
            wrong.isWrong = true
            for _ in 0..<5 { _ = try self.approve(device, operation, wrong) }
        case "activation token removed":
            let body: JSONValue = ["requestObject": ["tokenId": device.token?["tokenId"] ?? .null]]
            try device.signed("/pa/v3/token/remove", body.serialized(), Self.call(.possession))
        default: throw NotPerformed(reason: label)
        }
        return true
    }

    private func changeToken(_ call: inout RecordedCall, _ label: String, _ device: RecordedDevice) throws {
        let now = self.server.now.milliseconds
        if let factors = label.wholeMatch(of: #/token of (\w+)/#)?.1 {
            try self.makeToken(device, SignatureType(rawValue: String(factors)) ?? .possession)
        } else if let style = label.wholeMatch(of: #/header style (\w+)/#)?.1 {
            call.style = String(style)
        } else if let time = label.wholeMatch(of: #/timestamp ([-+]\d+ (?:min|s))/#)?.1 {
            call.tokenTime = now + (try CoreCase.offset(String(time)))
        } else if let version = label.wholeMatch(of: #/header version (.*)/#)?.1 {
            if let known = ProtocolVersion(rawValue: String(version)), known != .v4_0 {
                call.version = known
            } else {
                // The digest of any other version is that of 3.1, which does not cover it.
                call.version = version == "None" ? .v3_3 : .v3_1
                if version == "None" { call.missing = ["version"] } else { call.values["version"] = String(version) }
            }
        } else if let field = label.wholeMatch(of: #/header without (\w+)/#)?.1 {
            call.missing = [String(field)]
        } else if let field = label.wholeMatch(of: #/header with bad (\w+)/#)?.1 {
            call.values[String(field)] = "x"
        } else if label == "wrong secret" {
            device.token = [
                "tokenId": device.token?["tokenId"] ?? .null,
                "tokenSecret": .string(Base64.encode([UInt8](repeating: 0, count: 16))),
            ]
        } else if label == "unknown token" {
            device.token = [
                "tokenId": .string(CoreCase.unknownID), "tokenSecret": device.token?["tokenSecret"] ?? .null,
            ]
        } else if label == "nonce of 8 bytes" {
            call.nonce = Array("12345678".utf8)
        }
    }
}
