import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

// Encrypted requests, lists, and operations with a proximity code.

extension MobileCase {
    // MARK: - Encrypted requests

    func performOIDC() throws {
        let request = self.record["request"] ?? .null
        let device = try RecordedDevice(self.server)
        let call = try self.encryptedCall(request)
        let path = request["path"]?.string ?? ""
        guard request["authentication"] == "encryption" else {
            return self.keep(device.send(path, [], try self.body(request["body"], id: "", data: ""), call))
        }
        let content = (request["body"] ?? .null).serialized()
        let exchange = try device.encrypted(path, call, purpose: .genericApplication, content: content)
        self.keepContent(self.name == "oidc replayed" ? device.send(exchange.request) : exchange)
    }

    func performActivationCode() throws {
        let request = self.record["request"] ?? .null
        let path = request["path"]?.string ?? ""
        let text = String(decoding: (request["body"] ?? .null).serialized(), as: UTF8.self)
        let content = Array(text.replacing("<application>", with: self.server.application.id).utf8)
        let call = try self.encryptedCall(request)
        guard request["authentication"]?.string != nil else {
            return self.keep(try RecordedDevice(self.server).send(path, [], content, call))
        }
        let device = try self.phone(withToken: false)
        _ = try device.temporaryKey(.activation)
        self.mark(device)
        if self.name.hasSuffix("not encrypted") {
            self.keep(try device.signed(path, content, call))
        } else {
            self.keepContent(try device.sealed(path, content, call))
        }
        try self.note(device, nil)
    }

    /// Returns a call whose envelope has the mistakes of a recorded request.
    private func encryptedCall(_ request: JSONValue) throws -> RecordedCall {
        var call = try self.recordedCall(request)
        (call.contentType, call.common) = ("application/json", Self.call().common)
        let mistakes = request["mutation"]?.object ?? [:]
        for member in mistakes.members {
            let value = member.value.string ?? ""
            switch member.key {
            case "scope" where ["application", "activation"].contains(value), "uri": break
            case "plain": call.envelope.content = try CoreCase.plaintext(String(value.dropFirst()), count: 0)
            case "ts_offset": call.envelope.time = self.server.now.milliseconds + (Int64(value) ?? 0)
            case "enc_header" where value == "False": call.headers = []
            case "order" where value == "encrypt": call.signsContent = false
            case "bad_mac", "temp_key", "tamper_ecies":
                let wrong = try Self.wrongMember(member.key, value)
                call.envelope.change = { envelope in
                    var envelope = envelope
                    envelope[wrong.key] = wrong.value
                    return JSONValue.object(envelope).serialized()
                }
            default: throw NotPerformed(reason: "\(member.key) \(value)")
            }
        }
        return call
    }

    private static func wrongMember(_ mistake: String, _ value: String) throws -> (key: String, value: JSONValue?) {
        switch mistake {
        case "bad_mac": return ("mac", .string(Base64.encode([UInt8](repeating: 7, count: 32))))
        case "temp_key": return ("temporaryKeyId", .string(CoreCase.unknownID))
        default:
            guard let parts = value.wholeMatch(of: #/\{'(\w+)': (None|'x'|1)\}/#) else {
                throw NotPerformed(reason: "the envelope \(value)")
            }
            return (String(parts.1), parts.2 == "None" ? nil : parts.2 == "1" ? 1 : "x")
        }
    }

    /// Keeps what was decrypted: of its object, the kinds of the members.
    private func keepContent(_ exchange: RecordedExchange) {
        self.keep(exchange)
        guard exchange.reply.status == 200, var content = exchange.content?.object else { return }
        content["responseObject"] = content["responseObject"]?.object.map { .object($0.mapValues(Self.kind(of:))) }
        self.answer["answer"] = .object(content)
    }

    // MARK: - Lists

    func performList() throws {
        let device = try self.phone()
        switch self.name.split(separator: ": ").last {
        case "none": break
        case "of every kind":
            let kinds = [
                "pending", "approved", "rejected", "canceled with reason", "failed", "expired", "of nobody",
                "of another user",
                "bound to this activation", "bound to another activation",
                "with a flag that the activation lacks", "claimed by me",
            ]
            for kind in kinds { _ = try self.operation(in: kind, of: device) }
        default:
            guard let count = self.setup.firstMatch(of: #/^(\d+) /#).flatMap({ Int($0.1) }) else {
                throw NotPerformed(reason: "the operations \(self.setup)")
            }
            for number in 0..<count {
                let amount: JSONObject = ["amount": .string("\(number)"), "currency": "CZK"]
                _ = try self.operation(of: device, parameters: amount)
            }
        }
        self.keep(try self.make(self.name.prefix { $0 != ":" }, device, Operation(id: "", data: "")))
        guard var answer = self.answer["answer"]?.object, let shown = answer["responseObject"]?.array else { return }
        answer["responseObject"] = .array(
            shown.map { operation in
                let names = ["name", "data", "status"]
                return .object(
                    JSONObject(names.compactMap { name in operation[name].map { .init(key: name, value: $0) } })
                )
            }
        )
        self.answer["answer"] = .object(answer)
    }

    // MARK: - Proximity

    func performProximity() throws {
        let screen: JSONValue = ["type": "QR_SCAN", "heading": "Scan", "message": "Scan it", "items": []]
        let near = MobileTemplate.template(
            "mf_near",
            failures: 20,
            texts: [("en", "Near", "Scan")],
            more: ["proximityCheck": true, "ui": ["preApprovalScreen": screen]]
        )
        try self.server.add(near)
        let device = try self.phone()
        let asked = self.name.firstMatch(of: #/proximityCheckEnabled (True|False)/#).map { $0.1 == "True" }
        var more: JSONObject = [:]
        more["proximityCheckEnabled"] = asked.map { .bool($0) }
        let operation = try self.operation(of: device, self.name.hasSuffix("without it") ? "mf_pay2" : "mf_near", more)
        guard self.name.hasPrefix("proximity code ") else {
            return self.keep(try self.make(self.name.prefix { $0 != ":" }, device, operation))
        }
        guard ["right", "letters"].contains(self.name.split(separator: " ").last) else {
            throw NotPerformed(reason: "the code of another time")
        }
        let request = self.record["request"] ?? .null
        var text = String(decoding: (request["body"] ?? .null).serialized(), as: UTF8.self)
            .replacing("<uuid>", with: operation.id)
            .replacing(#/<date yyyy-MM-ddTHH:mm:ss(.*?)>/#) { "2024-01-01T00:00:00\($0.1)" }
        let right = try self.server.bank("GET", "/v2/operations/\(operation.id)")["proximityOtp"]?.string ?? ""
        if self.name.hasSuffix("right") { text = text.replacing(#/"otp":"\d+"/#, with: "\"otp\":\"\(right)\"") }
        self.mark(device)
        let path = Self.operations + "authorize"
        self.keep(try device.signed(path, Array(text.utf8), self.recordedCall(request)))
        try self.note(device, operation)
        guard !right.isEmpty else { return }
        let state = String(decoding: self.state.serialized(), as: UTF8.self).replacing(right, with: "<otp>")
        self.state = try JSONValue(parsing: state)
    }
}
