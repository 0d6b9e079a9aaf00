import EmulatorBackend
import ExactJSON
import Foundation

// Cases whose operations and messages are prepared in a way of their own.

extension MobileCase {
    // MARK: - Decisions

    func performPreparedDecision() throws {
        let device = try self.phone()
        let request = self.record["request"] ?? .null
        if let seconds = self.name.wholeMatch(of: #/expires in (\d+) s/#).flatMap({ Double($0.1) }) {
            return try self.performExpiration(device, after: seconds)
        }
        if self.name.hasPrefix("ipAddress with ") || self.name.hasPrefix("approve: {") {
            let operation = try self.operation(of: device)
            self.keep(try self.approve(device, operation, self.recordedCall(request)))
            try self.note(device, operation)
            guard self.name.hasPrefix("ipAddress") else { return }
            self.state = ["ipAddress": self.state["operation"]?["additionalData"]?["ipAddress"] ?? .null]
            return
        }
        if self.name.hasPrefix("approve: User-Agent ") {
            let operation = try self.operation(of: device)
            let told = self.record["real"]?["state"]?["operation"]?["additionalData"]?["userAgent"]?.string
            var call = Self.call()
            call.common[2].value = told ?? ""
            self.keep(try self.approve(device, operation, call))
            return try self.note(device, operation)
        }
        let form = #/(approve|reject|claim): (of nobody|bound to another activation).*/#
        if let parts = self.name.wholeMatch(of: form), !self.name.contains("application"), !self.name.contains("flag") {
            let operation = try self.operation(in: String(parts.2), of: device)
            if parts.2 == "bound to another activation" { self.mark(device) }
            self.keep(try self.make(parts.1, device, operation))
            return try self.note(device, operation)
        }
        try self.performFailedAttempt(device)
    }

    private func performExpiration(_ device: RecordedDevice, after seconds: Double) throws {
        let operation = try self.operation(of: device, seconds: seconds)
        self.keep(try self.byToken(device, "detail", operation))
        let made = self.server.backend.state.operations[operation.id]
        let lifetime = made.map { Double($0.expires - $0.created) / 2000 } ?? 0
        self.state = ["seconds": .number(JSONNumber(Int(lifetime.rounded()) * 2))]
    }

    private func performFailedAttempt(_ device: RecordedDevice) throws {
        let isOfNobody = self.name.hasSuffix("of an operation of nobody")
        let operation = try self.operation(of: isOfNobody ? nil : device)
        if !self.name.hasPrefix("unsigned") { _ = try self.approve(device, operation, data: "X") }
        switch self.name {
        case "unsigned approval of an operation of nobody":
            self.keep(try self.make("approve unsigned", device, operation))
        case "failed approval of an operation of nobody": self.keep(try self.byToken(device, "detail", operation))
        case "approve after one failure": self.keep(try self.approve(device, operation))
        case "reject after one failed approval": self.keep(try self.reject(device, operation))
        case "cancel after one failed approval":
            try self.server.bank("DELETE", "/v2/operations/\(operation.id)?statusReason=R")
            self.keep(try self.byToken(device, "detail", operation))
        default: throw NotPerformed(reason: "hidden steps")
        }
        try self.note(device, operation)
    }

    // MARK: - Parameters

    /// A value of a parameter that stands in the data and in a note.
    func performParameter() throws {
        let note: JSONValue = ["type": "NOTE", "id": "k", "label": "K", "note": "${v}"]
        let template = MobileTemplate.template(
            "mf_data",
            data: "A1*N${v}",
            parameters: ["v": "x"],
            texts: [("en", "T", "M")],
            attributes: [note]
        )
        try self.server.add(template)
        let shown = self.record["real"]?["answer"]?["responseObject"]?["formData"]?["attributes"]?[0]?["note"]
        let special: [String: JSONObject] = [
            "creation with parameter boolean": ["v": true], "creation with parameter number": ["v": 5],
            "creation with parameter list": ["v": ["a"]], "creation with parameter null": ["v": nil],
            "creation with unknown parameter": ["v": "x", "zz": "y"],
        ]
        let device = try self.phone()
        let value = special[self.name] ?? shown.map { ["v": $0] }
        guard let value else { throw NotPerformed(reason: "a value that is not shown") }
        do {
            let operation = try self.operation(of: device, "mf_data", parameters: value)
            self.keep(try self.byToken(device, "detail", operation, self.recordedCall(self.record["request"] ?? .null)))
        } catch let refused as RecordedServer.Refused {
            self.answer = ["status": "the back end refuses", "answer": .null]
            self.state = ["status": .number(JSONNumber(refused.status))]
        }
    }

    // MARK: - Messages

    /// The messages that others have, or of other forms.
    func performOtherMessage() throws {
        let device = try self.phone()
        let isHTML = self.name.hasSuffix("html")
        guard isHTML || self.name.hasSuffix("of another user") else { throw NotPerformed(reason: "other messages") }
        let made = try self.server.bank(
            "POST",
            "/v2/inbox/messages",
            [
                "userId": .string(isHTML ? self.user(of: device) : "mf-other"), "subject": "Subject ě",
                "summary": "Summary 漢字", "body": "<b>Body</b> & 😀 \"x\"", "type": "html",
            ]
        )
        let request = self.record["request"] ?? .null
        let body = try self.body(request["body"], id: made["id"]?.string ?? "", data: "")
        self.keep(try device.withToken(request["path"]?.string ?? "", body, self.recordedCall(request)))
        let messages = self.server.backend.state.inbox.newestFirst.filter { $0.userID == self.user(of: device) }
        self.state = ["messages": .array(messages.map { [.string($0.subject), .bool($0.isRead)] })]
    }
}
