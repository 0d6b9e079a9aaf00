import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthProtocol
import Synchronization

// The kinds of cases of the Mobile Token API.

extension MobileCase {
    // MARK: - Operations in every state

    func performState() throws {
        if let parts = self.name.wholeMatch(of: #/([a-z ]+): operation (.*)/#) {
            let device = try self.phone()
            let operation = try self.operation(in: String(parts.2), of: device)
            self.mark(device)
            self.keep(try self.make(parts.1, device, operation))
            let exists = !["unknown", "no uuid"].contains(parts.2)
            try self.note(device, exists ? operation : nil)
        } else if let parts = self.name.wholeMatch(of: #/([a-z ]+): activation flags \[(.*)\], operation flag (\w+)/#) {
            let flags = parts.2.split(separator: ", ").map { $0.trimmingCharacters(in: ["'"]) }
            let device = try self.phone(flags: flags)
            let operation = try self.operation(
                of: device,
                "mf_pay",
                parts.3 == "None" ? [:] : ["flag": .string(String(parts.3))]
            )
            self.mark(device)
            self.keep(try self.make(parts.1, device, operation))
            try self.note(device, operation)
        } else {
            throw NotPerformed(reason: "hidden steps")
        }
    }

    func operation(in state: String, of device: RecordedDevice) throws -> Operation {
        switch state {
        case "pending": return try self.operation(of: device)
        case "approved", "once failed", "failed":
            let operation = try self.operation(of: device, state == "failed" ? "mf_pay1" : "mf_pay")
            _ = try self.approve(device, operation, data: state == "approved" ? nil : "X")
            return operation
        case "rejected", "rejected without reason":
            let operation = try self.operation(of: device)
            _ = try self.reject(device, operation, reason: state == "rejected" ? "UNEXPECTED_OPERATION" : nil)
            return operation
        case "canceled", "canceled with reason":
            let operation = try self.operation(of: device)
            let query = state == "canceled" ? "" : "?statusReason=FRAUD_DETECTED"
            try self.server.bank("DELETE", "/v2/operations/\(operation.id)\(query)")
            return operation
        case "expired", "expired of nobody", "expired of another user":
            let other: JSONObject = state == "expired of another user" ? ["userId": "mf-other"] : [:]
            let operation = try self.operation(of: state == "expired" ? device : nil, "mf_pay", other, seconds: 0.6)
            self.server.now += 1.2
            return operation
        case "of nobody": return try self.operation(of: nil)
        case "of another user": return try self.operation(of: nil, "mf_pay", ["userId": "mf-other"])
        case "bound to this activation":
            return try self.operation(of: device, "mf_pay", ["registrationId": .string(device.id)])
        case "bound to another activation":
            let other = try self.phone(user: self.user(of: device), withToken: false)
            return try self.operation(of: device, "mf_pay", ["registrationId": .string(other.id)])
        case "with a flag that the activation lacks": return try self.operation(of: device, "mf_pay", ["flag": "VIP"])
        case "template gone":
            try self.server.add(MobileTemplate.template("mf_gone"))
            let operation = try self.operation(of: device, "mf_gone")
            try self.server.forget(template: "mf_gone")
            return operation
        case "unknown": return Operation(id: CoreCase.unknownID, data: "A2")
        case "no uuid": return Operation(id: "nonsense", data: "A2")
        case "approved of another user", "canceled of another user":
            let other = try self.phone(withToken: false)
            let operation = try self.operation(of: other)
            if state.hasPrefix("approved") {
                _ = try self.approve(other, operation)
            } else {
                try self.server.bank("DELETE", "/v2/operations/\(operation.id)")
            }
            return operation
        case "claimed by another", "claimed by me":
            let claimer = state == "claimed by me" ? device : try self.phone()
            let operation = try self.operation(of: nil)
            _ = try self.byToken(claimer, "detail/claim", operation)
            return operation
        default: throw NotPerformed(reason: "the operation \(state)")
        }
    }

    // MARK: - Decisions

    func performFailures() throws {
        guard let parts = self.name.wholeMatch(of: #/failure (\d+) by ([a-z ]+), at most (\d)/#) else {
            throw NotPerformed(reason: "hidden steps")
        }
        let device = try self.phone()
        let operation = try self.operation(of: device, ["1": "mf_pay1", "2": "mf_pay2"][parts.3] ?? "mf_pay")
        for _ in 0..<(Int(parts.1) ?? 0) {
            self.mark(device)
            var call = Self.call(
                ["wrong code", "wrong factors"].contains(parts.2) ? .possession : .possessionKnowledge
            )
            call.isWrong = parts.2 == "wrong password"
            if parts.2 == "wrong code" { call.secret = ApplicationSecret(base64: "AAAAAAAAAAAAAAAAAAAAAA==") }
            switch parts.2 {
            case "unsigned": self.keep(try self.make("approve unsigned", device, operation))
            case "wrong data": self.keep(try self.approve(device, operation, data: "X", call))
            default: self.keep(try self.approve(device, operation, call))
            }
        }
        try self.note(device, operation)
    }

    func performDecision() throws {
        let request = self.record["request"] ?? .null
        let isUsual = self.setup.hasPrefix("pending operation") || self.name.hasPrefix("history by")
        let isSecond = self.name.contains(#/ after (approve|reject)$/#)
        guard isUsual || isSecond else { return try self.performPreparedDecision() }
        let path = request["path"]?.string ?? ""
        let device = try self.phone()
        let operation = try self.operation(of: device)
        if let parts = self.name.wholeMatch(of: #/(approve|reject|claim|detail) after (approve|reject)/#) {
            _ = try self.make(parts.2, device, operation)
            self.mark(device)
            self.keep(try self.make(parts.1, device, operation))
            return try self.note(device, operation)
        }
        self.mark(device)
        let call = try self.recordedCall(request)
        let body = try self.body(request["body"], id: operation.id, data: operation.data)
        self.keep(try device.signed(path, body, call))
        try self.note(device, self.name.hasPrefix("history by") ? nil : operation)
    }

    func performSignature() throws {
        guard let parts = self.name.wholeMatch(of: #/(authorize|cancel|history): (.*)/#) else {
            throw NotPerformed(reason: "hidden steps")
        }
        let label = String(parts.2)
        let request = self.record["request"] ?? .null
        let device = try self.phone(commit: label != "activation pending commit")
        let operation = try self.operation(of: device)
        if label.hasPrefix("activation "), label != "activation pending commit" {
            _ = try self.changeActivation(label, device)
        }
        if label == "counter -1" { try device.validate(Self.call()) }
        if label == "five wrong, then right" {
            var wrong = Self.call()
            wrong.isWrong = true
            for _ in 0..<5 { try device.validate(wrong) }
        }
        var call = try self.recordedCall(request)
        if label == "token of two factors in place" { try self.makeToken(device, .possessionKnowledge) }
        if label == "sent twice", parts.1 == "cancel" { call.factors = .possession }
        self.mark(device)
        let path = request["path"]?.string ?? ""
        var uri = "/operation/\(parts.1)"
        let body = try self.body(request["body"], id: operation.id, data: operation.data)
        try self.changeSignature(&call, &uri, label, path, body)
        let exchange: RecordedExchange
        if request["headers"]?["X-PowerAuth-Token"] != nil {
            exchange = try device.withToken(path, body ?? [], call)
        } else if request["headers"]?["X-PowerAuth-Authorization"] == nil {
            exchange = device.send(path, [], body, call)
        } else {
            let first = try device.signed(path, uriID: uri, body, call)
            exchange = label == "sent twice" ? device.send(first.request) : first
        }
        let isVersion = label.hasPrefix("signature of version")
        self.keep(exchange, isBrief: !isVersion)
        if isVersion, exchange.reply.status == 200 { self.answer["answer"] = ["status": "OK"] }
        try self.note(device, operation)
        if label != "activation pending commit" { self.keepFactors(as: isVersion ? nil : "authFactor") }
    }

    private func changeSignature(
        _ call: inout RecordedCall,
        _ uri: inout String,
        _ label: String,
        _ path: String,
        _ body: [UInt8]?
    ) throws {
        if let parts = label.wholeMatch(of: #/header (\w+) (missing|'.*')/#) {
            let value = parts.2.trimmingCharacters(in: ["'"])
            if parts.2 == "missing" { call.missing = [String(parts.1)] } else { call.values[String(parts.1)] = value }
        } else if let ahead = label.wholeMatch(of: #/counter ([-+]\d+)/#)?.1 {
            call.ahead = Int(ahead) ?? 0
        } else if let parts = label.wholeMatch(of: #/signature of version (3\.\d) in (\w+) form/#) {
            call.version = ProtocolVersion(rawValue: String(parts.1))
            if parts.2 == "decimal" { throw NotPerformed(reason: "a decimal signature") }
        }
        switch label {
        case "wrong password": call.isWrong = call.factors != .possession
        case "wrong application secret": call.secret = ApplicationSecret(base64: "AAAAAAAAAAAAAAAAAAAAAA==")
        case "wrong uriId": uri += "x"
        case "signed the full path": uri = path
        case "signed as GET": call.signedMethod = "GET"
        case "method PUT signed as POST": call.signedMethod = "POST"
        case "body changed after signing": (call.signedBody, call.tamper) = (body, { $0 + [0x20] })
        default: break
        }
        if call.method == "GET" { call.signedBody = [] }
    }

    func performSignatureType() throws {
        let kinds = self.setup.firstMatch(of: #/signatureType \[(.*)\]/#)?.1 ?? ""
        let factors = kinds.split(separator: ", ").map { $0.trimmingCharacters(in: ["'"]).lowercased() }
        do {
            try self.server.add(MobileTemplate.template("mf_sig", factors: factors, texts: [("en", "T", "M")]))
        } catch { throw NotPerformed(reason: "no such template") }
        let device = try self.phone()
        let operation = try self.operation(of: device, "mf_sig")
        if let parts = self.name.wholeMatch(of: #/authorize (\w+) by (\w+)/#) {
            self.mark(device)
            self.keep(
                try self.approve(device, operation, Self.call(SignatureType(rawValue: String(parts.2)) ?? .possession))
            )
            try self.note(device, operation)
            self.keepFactors(as: "additionalData")
            let found = self.state["activation"] ?? .null
            var state = self.state.object ?? [:]
            state["activation"] = [
                "status": found["status"] ?? .null, "failed": found["failedAttempts"] ?? .null,
                "counterMoved": found["counter"] ?? .null,
            ]
            self.state = .object(state)
        } else {
            self.keep(try self.byToken(device, "detail", operation))
            self.rename("mf_sig", to: "mf_sig_" + (self.name.split(separator: " ").last ?? ""))
        }
    }

    /// Gives the operation in the answer the name of the recorded template.
    private func rename(_ name: String, to recorded: String) {
        guard var answer = self.answer["answer"]?.object, var operation = answer["responseObject"]?.object,
            operation["name"] == .string(name)
        else { return }
        operation["name"] = .string(recorded)
        answer["responseObject"] = .object(operation)
        self.answer["answer"] = .object(answer)
    }

    // MARK: - Languages and amounts

    func performLanguage() throws {
        guard let parts = self.name.wholeMatch(of: #/language (\w+) Accept-Language '(.*)' (detail|list)/#) else {
            throw NotPerformed(reason: "a row of its own for each language")
        }
        guard parts.1 != "none" else {
            let device = try self.phone()
            let operation = try self.operation(in: "template gone", of: device)
            let call = try self.recordedCall(self.record["request"] ?? .null)
            return self.keep(try self.byToken(device, String(parts.3), operation, call))
        }
        let languages = parts.1.split(separator: "_").map(String.init)
        let texts = languages.contains("en") ? languages : languages + ["en"]
        let first = languages.contains("en") ? "en" : languages[0]
        let words = texts.map { language in
            let named = languages.contains(language) ? language : first
            return JSONObject.Member(
                key: language,
                value: [
                    "title": .string("Title \(named)"), "message": .string("Message \(named)"),
                    "r_success": .string("Done \(named)"), "a0": .string("Key \(named)"),
                    "a1": .string("Amount \(named)"),
                ]
            )
        }
        let isOne = languages.count == 1
        let value: JSONValue = [
            "type": "KEY_VALUE", "id": "k", "label": isOne ? .string("Key \(first)") : "@{a0}", "value": "${v}",
        ]
        let amount = MobileTemplate.amount("a", isOne ? "Amount \(first)" : "@{a1}", "n", "c")
        try self.server.add(
            MobileTemplate.template(
                "mf_lang_\(parts.1)",
                parameters: ["v": "1", "n": "1", "c": "CZK"],
                more: [
                    "texts": .object(JSONObject(words)),
                    "formData": [
                        "title": "@{title}", "message": "@{message}", "attributes": [value, amount],
                        "resultTexts": ["success": isOne ? .string("Done \(first)") : "@{r_success}"],
                    ],
                ]
            )
        )
        let device = try self.phone()
        let parameters: JSONObject = ["v": "x", "n": "1949.5", "c": "CZK"]
        let operation = try self.operation(of: device, "mf_lang_\(parts.1)", parameters: parameters, seconds: 3000)
        let path = String(parts.3)
        self.keep(try self.byToken(device, path, operation, self.recordedCall(self.record["request"] ?? .null)))
    }

    /// The amounts that the server takes as parameters, and those that it does not.
    private static let takenAmounts = Mutex<[String: Bool]>([:])

    func performMoney() throws {
        if self.name.hasPrefix("money not a number") { return try self.performRow(.notANumber) }
        guard let parts = self.name.wholeMatch(of: #/money (\w+) (\S+)/#),
            let list = self.setup.firstMatch(of: #/with amounts \[(.*?)\]/#)?.1
        else { throw NotPerformed(reason: "no such template") }
        let amounts = list.split(separator: ", ").map { $0.trimmingCharacters(in: ["'"]) }
        let languages = [
            "ar", "cs", "de", "en", "es", "fr", "hi", "hu", "ja", "pl", "pt", "ru", "sk", "sv", "xx", "zh",
        ]
        var parameters: JSONObject = ["c": "CZK"]
        for index in amounts.indices { parameters["a\(index)"] = "1" }
        let attributes = amounts.indices.map { MobileTemplate.amount(amounts[$0], "A", "a\($0)", "c") }
        let texts = languages.map { (language: $0, title: "T", message: "M") }
        try self.server.add(
            MobileTemplate.template("mf_money", parameters: parameters, texts: texts, attributes: attributes)
        )
        let device = try self.phone()
        var (refused, given): (Set<String>, JSONObject) = ([], ["c": .string(String(parts.1))])
        for (index, amount) in zip(0..., amounts) {
            let isTaken = Self.takenAmounts.withLock { known in
                if let isTaken = known[amount] { return isTaken }
                let made = try? self.operation(of: device, "mf_money", parameters: ["a\(index)": .string(amount)])
                known[amount] = made != nil
                return made != nil
            }
            given["a\(index)"] = .string(isTaken ? amount : "777")
            if !isTaken { refused.insert(amount) }
        }
        let operation = try self.operation(of: device, "mf_money", parameters: given, seconds: 3000)
        self.keep(try self.byToken(device, "detail", operation, self.recordedCall(self.record["request"] ?? .null)))
        guard self.answer["status"] == 200 else { return }
        let shown = self.answer["answer"]?["responseObject"]?["formData"]?["attributes"]?.array ?? []
        let official = self.record["real"]?["answer"]
        let members = shown.map { attribute in
            let id = attribute["id"]?.string ?? ""
            let rest = (attribute.object ?? [:]).members.filter { !["id", "type", "label"].contains($0.key) }
            return JSONObject.Member(
                key: id,
                value: refused.contains(id) ? official?[id] ?? .null : .object(JSONObject(rest))
            )
        }
        self.answer["answer"] = .object(JSONObject(members))
    }
}
