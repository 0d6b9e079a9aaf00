import EmulatorBackend
import ExactJSON
import Foundation

// Messages, push registrations, and the forms of operations.

extension MobileCase {
    // MARK: - Inbox

    func performInbox() throws {
        let isOther = self.name.contains("another") || self.name.contains("html") || self.name.hasSuffix("subject")
        guard !isOther else { return try self.performOtherMessage() }
        guard !self.name.contains("list of 130, ") else { throw NotPerformed(reason: "other messages") }
        let device = try self.phone()
        let wanted = self.setup.firstMatch(of: #/^(\d+) messages/#).flatMap { Int($0.1) }
        let isRead = self.setup.hasSuffix("read") || self.name.contains("read twice")
        let count = wanted ?? (isRead ? 3 : self.name.hasSuffix("upper case") ? 1 : 0)
        var ids: [String] = []
        for number in 0..<count {
            let text = String(format: "%03d", number)
            let made = try self.server.bank(
                "POST",
                "/v2/inbox/messages",
                [
                    "userId": .string(self.user(of: device)), "subject": .string("Subject \(text)"),
                    "summary": .string("Summary \(text)"), "body": .string("Body of \(text)"), "type": "text",
                ]
            )
            ids.append(made["id"]?.string ?? "")
        }
        let second = ids.count > 1 ? ids[1] : ids.first ?? CoreCase.unknownID
        if isRead {
            let body: JSONValue = ["requestObject": ["id": .string(second)]]
            try device.withToken("/api/inbox/message/read", body.serialized(), Self.call())
        }
        let request = self.record["request"] ?? .null
        let body = try self.body(request["body"], id: second, data: "")
        self.keep(try device.withToken(request["path"]?.string ?? "", body, self.recordedCall(request)))
        if self.name.hasPrefix("inbox of 130"), var answer = self.answer["answer"]?.object, self.answer["status"] == 200
        {
            let list = answer["responseObject"]?.array ?? []
            answer["responseObject"] = [
                "count": .number(JSONNumber(list.count)), "first": list.first?["subject"] ?? .null,
                "last": list.last?["subject"] ?? .null,
            ]
            self.answer["answer"] = .object(answer)
            return
        }
        let user = self.user(of: device)
        let messages = self.server.backend.state.inbox.newestFirst.filter { $0.userID == user }
        let states = messages.map { ($0.subject, $0.isRead) }.sorted { $0.0 < $1.0 }
        self.state = ["messages": .array(states.map { [.string($0.0), .bool($0.1)] })]
    }

    // MARK: - Push registrations

    func performPush() throws {
        guard !self.name.hasPrefix("push:") else { throw NotPerformed(reason: "hidden steps") }
        let device = try self.phone()
        let before = [
            "push twice": ("ios", "token-tw"), "push another token": ("ios", "token-t1"),
            "push another platform": ("ios", "token-t3"), "push token of another activation": ("ios", "token-sh"),
        ]
        if let (platform, token) = before[self.name] {
            let owner = self.name.hasSuffix("another activation") ? try self.phone() : device
            let body: JSONValue = ["requestObject": ["platform": .string(platform), "token": .string(token)]]
            try owner.withToken("/api/push/device/register/token", body.serialized(), Self.call())
        }
        let request = self.record["request"] ?? .null
        let body = try self.body(request["body"], id: "", data: "")
        self.keep(try device.withToken(request["path"]?.string ?? "", body, self.recordedCall(request)))
        let push = try self.server.bank("GET", "/v2/registrations/\(device.id)")["push"]?.object
        let registered: JSONValue = push.map { [$0["platform"] ?? .null, $0["token"] ?? .null] } ?? .null
        self.state = ["registered": push == nil ? [] : [RecordingComparison.normalizedForMobile(registered)]]
    }

    // MARK: - Forms

    /// The values of parameters that an operation is not created with.
    private static let defaults: [String: String] = [
        "amount": "1949.00", "currency": "CZK", "iban": "CZ5508", "note": "Utility Bill", "v": "value", "sa": "100",
        "sc": "USD",
        "ta": "2199.4", "tc": "CZK", "d": "true", "lvl": "2", "ty": "WARNING", "ti": "Title", "me": "Message",
        "th": "https://example.com/t.png", "or": "https://example.com/o.png", "lo": "https://example.com/l.svg",
        "nm": "Shop",
        "de": "About", "we": "https://example.com",
    ]

    func performForm() throws {
        if self.name.hasPrefix("data parameter ") || self.name.hasPrefix("creation with ") {
            return try self.performParameter()
        }
        if let row = Row(ofCase: self.name) { return try self.performRow(row) }
        let form = #/es_operation_template attributes (.*), parameters (\{.*?\})(?:, ui (\{.*\}))?/#
        guard let parts = self.setup.wholeMatch(of: form),
            let attributes = try? JSONValue(parsing: String(parts.1)),
            let given = try? JSONValue(parsing: String(parts.2)).object
        else { throw NotPerformed(reason: "no such template") }
        let made = try (attributes.array ?? []).map(self.attribute)
        var names = Set(given.keys)
        for attribute in attributes.array ?? [] {
            names.formUnion((attribute["params"]?.object ?? [:]).members.compactMap(\.value.string))
        }
        if self.name.hasPrefix("ui ") { names.insert("v") }
        let parameters = names.sorted().map { name in
            // A template is checked with the values that it has itself; its level is a number.
            let own = name == "lvl" ? nil : given[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
            let value = own ?? Self.defaults[name] ?? "1"
            return JSONObject.Member(key: name, value: .string(value))
        }
        let name = "mf_" + self.name.lowercased().replacing(#/[^a-z0-9]+/#, with: "_").prefix(50)
        var more: JSONObject = [:]
        more["ui"] = try parts.3.map { try JSONValue(parsing: String($0)) }
        let template = MobileTemplate.template(
            name,
            parameters: JSONObject(parameters),
            texts: [("en", "T", "M")],
            attributes: made,
            more: more
        )
        do { try self.server.add(template) } catch { throw NotPerformed(reason: "no such template") }
        let device = try self.phone()
        let operation: Operation
        do { operation = try self.operation(of: device, name, parameters: given) } catch {
            throw NotPerformed(reason: "the server takes no such parameters")
        }
        self.keep(try self.byToken(device, "detail", operation, self.recordedCall(self.record["request"] ?? .null)))
    }

    /// Returns an attribute of the official servers' templates as the development server writes it.
    private func attribute(_ official: JSONValue) throws -> JSONValue {
        let parameters = official["params"]?.object ?? [:]
        let kind = official["type"]?.string ?? ""
        guard !kind.isEmpty else { throw NotPerformed(reason: "no such template") }
        func reference(_ name: String, isNumber: Bool = false) -> JSONValue? {
            parameters[name]?.string.map { .string("${\($0)\(isNumber ? ":number" : "")}") }
        }
        var attribute: JSONObject = ["type": .string(kind)]
        attribute["id"] = official["id"]
        attribute["label"] = official["text"]
        let members: [String: [String]] = [
            "AMOUNT": ["amount", "currency"], "KEY_VALUE": ["value"], "NOTE": ["note"], "ALERT": ["title", "message"],
            "AMOUNT_CONVERSION": ["sourceAmount", "sourceCurrency", "targetAmount", "targetCurrency"],
            "IMAGE": ["thumbnailUrl", "originalUrl"], "HEADING": [], "PARTY_INFO": [],
        ]
        for name in members[kind] ?? ["value"] { attribute[name] = reference(name, isNumber: name.hasSuffix("mount")) }
        switch kind {
        case "AMOUNT_CONVERSION": attribute["dynamic"] = reference("dynamic")
        case "HEADING": attribute["level"] = reference("level")
        case "ALERT": attribute["alertType"] = reference("type")
        case "PARTY_INFO":
            let names = ["logoUrl", "name", "description", "websiteUrl"]
            let info = names.compactMap { name in reference(name).map { JSONObject.Member(key: name, value: $0) } }
            attribute["partyInfo"] = .object(JSONObject(info))
        default: break
        }
        return .object(attribute)
    }
}
