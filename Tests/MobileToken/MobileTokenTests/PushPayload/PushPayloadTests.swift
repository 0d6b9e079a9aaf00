import ExactJSON
import MobileTokenNotifications
import Testing

@Suite struct PushPayloadTests {
    private static let created: JSONObject = [
        "messageType": "mtoken.operationInit", "operationId": "1", "operationName": "payment",
        "aps": ["alert": ["title": "T", "body": "B"]],
    ]
    private static let finished: JSONObject = [
        "messageType": "mtoken.operationFinished", "operationId": "1", "operationName": "payment",
        "mtokenOperationResult": "authentication.success",
    ]
    private static let inbox: JSONObject = ["messageType": "mtoken.inboxMessage.new", "inboxId": "666"]
    private static let status: JSONObject = ["messageType": "mtoken.statusChange", "activationId": "77"]

    /// Reads a payload both ways, which must agree.
    private func read(_ object: JSONObject) -> PushPayload? {
        let payload = PushPayload(parsing: JSONValue.object(object).serialized())
        #expect(
            payload
                == PushPayload(userInfo: Dictionary(uniqueKeysWithValues: object.members.map { ($0.key, $0.value) }))
        )
        return payload
    }

    private func with(_ object: JSONObject, _ name: String, _ value: JSONValue?) -> JSONObject {
        var object = object
        object[name] = value
        return object
    }

    @Test func readsTheFourKinds() {
        let content = PushPayload.Content(title: "T", message: "B")
        #expect(self.read(Self.created) == .operationCreated(id: "1", name: "payment", content: content))
        #expect(self.read(Self.finished) == .operationFinished(id: "1", name: "payment", result: .success))
        #expect(self.read(Self.inbox) == .inboxMessageReceived(id: "666"))
        #expect(self.read(Self.status) == .activationStatusChanged(activationID: "77"))
    }

    @Test(
        arguments: [
            nil, .null, 5, "text", [:], ["alert": nil], ["alert": "plain text"], ["alert": ["title": "T"]],
            ["alert": ["body": "B"]], ["alert": ["title": "T", "body": 5]], ["alert": []],
        ] as [JSONValue?]
    )
    func titleAndMessageOrNoContent(aps: JSONValue?) {
        #expect(
            self.read(self.with(Self.created, "aps", aps)) == .operationCreated(id: "1", name: "payment", content: nil)
        )
    }

    @Test(arguments: [
        ("authentication.success", PushPayload.OperationResult.success), ("authentication.fail", .failure),
        ("operation.timeout", .timeout), ("operation.canceled", .canceled),
        ("operation.methodNotAvailable", .methodNotAvailable), ("nonexistent", .unknown("nonexistent")),
        ("AUTHENTICATION.SUCCESS", .unknown("AUTHENTICATION.SUCCESS")), ("", .unknown("")),
    ])
    func resultsAreMatchedExactly(text: String, result: PushPayload.OperationResult) {
        #expect(
            self.read(self.with(Self.finished, "mtokenOperationResult", .string(text)))
                == .operationFinished(id: "1", name: "payment", result: result)
        )
    }

    @Test(arguments: [nil, .null, 5, [:], true] as [JSONValue?])
    func whatLacksAMemberIsNotOurs(value: JSONValue?) {
        for name in ["messageType", "operationId", "operationName"] {
            #expect(self.read(self.with(Self.created, name, value)) == nil)
            #expect(self.read(self.with(Self.finished, name, value)) == nil)
        }
        #expect(self.read(self.with(Self.finished, "mtokenOperationResult", value)) == nil)
        #expect(self.read(self.with(Self.inbox, "inboxId", value)) == nil)
        #expect(self.read(self.with(Self.status, "activationId", value)) == nil)
    }

    @Test func emptyIdentifiersRefuse() {
        #expect(self.read(self.with(Self.created, "operationId", "")) == nil)
        #expect(self.read(self.with(Self.finished, "operationId", "")) == nil)
        #expect(self.read(self.with(Self.inbox, "inboxId", "")) == nil)
        #expect(self.read(self.with(Self.status, "activationId", "")) == nil)
    }

    @Test(arguments: ["mtoken.operationinit", "statusChange", "", "other"])
    func otherMessagesAreNotOurs(type: String) {
        #expect(self.read(self.with(Self.created, "messageType", .string(type))) == nil)
    }

    @Test(arguments: [
        "", "null", "[]", "5", #""mtoken.operationInit""#, "{", #"{"messageType":"#,
        #"{"messageType":"mtoken.inboxMessage.new","inboxId":"1","inboxId":"2"}"#,
        #"{"messageType":"mtoken.inboxMessage.new","inboxId":"1","inboxId":"1"}"#,
        #"{"messageType":"mtoken.inboxMessage.new","messageType":"mtoken.inboxMessage.new","inboxId":"1"}"#,
        // At any depth that is read.
        created(aps: #"{"alert":{"title":"a","title":"b","body":"c"}}"#), created(aps: #"{"alert":{},"alert":{}}"#),
        created(aps: #"{"alert":{"title":"a","body":"b","bo\u0064y":"c"}}"#),
    ])
    func whatIsNoObjectOrRepeatsAMemberIsNotOurs(json: String) {
        #expect(PushPayload(parsing: [UInt8](json)) == nil)
    }

    private static func created(aps: String) -> String {
        #"{"messageType":"mtoken.operationInit","operationId":"1","operationName":"n","aps":\#(aps)}"#
    }

    @Test func aMemberThatIsNotReadMayBeAnything() {
        let inbox =
            #"{"messageType":"mtoken.inboxMessage.new","inboxId":"1","x":1,"x":"\ud800","aps":{"a":1,"a":2},"aps":5}"#
        #expect(PushPayload(parsing: [UInt8](inbox)) == .inboxMessageReceived(id: "1"))
        let created = Self.created(aps: #"{"badge":1,"badge":2,"alert":{"title":"a","body":"b","x":1,"x":2}}"#)
        #expect(
            PushPayload(parsing: [UInt8](created))
                == .operationCreated(id: "1", name: "n", content: .init(title: "a", message: "b"))
        )
    }
}
