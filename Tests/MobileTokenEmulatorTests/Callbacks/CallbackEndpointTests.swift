import ExactJSON
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Callbacks as the bank sets them up, and what they tell.
@Suite struct CallbackEndpointTests {
    private static let callback: JSONObject = [
        "name": "bot", "type": "OPERATION", "callbackUrl": "http://127.0.0.1:1/hook",
        "attributes": ["userId", "status"],
        "authentication": ["httpBasic": ["username": "emu", "password": "top secret"]], "maxAttempts": 3,
    ]

    private static func changed(_ members: (String, JSONValue)...) -> JSONValue {
        var object = Self.callback
        for (name, value) in members { object[name] = value }
        return .object(object)
    }

    @Test func aCallbackIsMadeShownReplacedAndRemoved() throws {
        var fixture = try BackendFixture()
        let created = fixture.cloud("POST", "/v2/callbacks", .object(Self.callback)).json
        let id = try #require(created["callbackId"]?.string)
        #expect(created["attributes"] == ["userId", "status"] && created["maxAttempts"] == 3)
        #expect(created["authentication"] == ["httpBasic": ["username": "emu"]])
        #expect(fixture.cloud("GET", "/v2/callbacks/\(id)").json == created)
        #expect(fixture.cloud("GET", "/v2/callbacks").json == ["callbacks": [created]])
        let replaced = fixture.cloud(
            "PUT",
            "/v2/callbacks/\(id)",
            Self.changed(("type", "ACTIVATION"), ("attributes", []))
        )
        #expect(replaced.json["type"] == "ACTIVATION" && replaced.json["callbackId"]?.string == id)
        #expect(fixture.cloud("DELETE", "/v2/callbacks/\(id)").status == 200)
        for method in ["GET", "DELETE"] {
            #expect(fixture.cloud(method, "/v2/callbacks/\(id)").outcome == "404 CALLBACK_NOT_FOUND")
        }
        #expect(fixture.cloud("GET", "/v2/callbacks").json == ["callbacks": []])
    }

    @Test(
        arguments: [
            ("type", "MESSAGE", "'type' is none of OPERATION, ACTIVATION"),
            ("callbackUrl", "ftp://bank/hook", "'callbackUrl' is not an address of http or https"),
            ("callbackUrl", "hook", "'callbackUrl' is not an address of http or https"),
            ("callbackUrl", "http://", "'callbackUrl' is not an address of http or https"),
            ("callbackUrl", "http://emu:pass@bank/", "'callbackUrl' holds credentials, which belong beside it"),
            ("maxAttempts", 0, "'maxAttempts' is not 1 to 100"),
            ("nme", "x", "'nme' is not known here; did you mean 'name'?"),
            ("authentication", ["httpBasic": ["username": "x"]], "'authentication.httpBasic.password' is missing"),
        ] as [(String, JSONValue, String)]
    )
    func whatCannotBeACallbackIsRefused(name: String, value: JSONValue, message: String) throws {
        var fixture = try BackendFixture()
        let state = try fixture.exportedState()
        let reply = fixture.cloud("POST", "/v2/callbacks", Self.changed((name, value)))
        #expect(reply.outcome == "400 INVALID_REQUEST")
        #expect(reply.object["message"]?.string == message)
        #expect(try fixture.exportedState() == state)
    }

    @Test func attributesAreThoseOfTheType() throws {
        var fixture = try BackendFixture()
        let reply = fixture.cloud("POST", "/v2/callbacks", Self.changed(("attributes", ["activationName"])))
        #expect(reply.object["message"]?.string?.contains("'attributes' of OPERATION are userId, applications") == true)
        #expect(
            fixture.cloud("POST", "/v2/callbacks", Self.changed(("appId", "nothing"))).outcome
                == "404 APPLICATION_NOT_FOUND"
        )
    }

    @Test func itTellsWhatWasAskedForInTheWordsOfTheRealServers() throws {
        var fixture = try BackendFixture()
        _ = fixture.cloud("POST", "/v2/callbacks", .object(Self.callback))
        let operation = try fixture.operation()
        let event = BackendEvent(subject: .operation, id: operation.id, status: "PENDING")
        let message = try #require(fixture.backend.callbackMessages(of: event).first)
        #expect(
            try JSONValue(parsing: message.body)
                == ["type": "OPERATION", "operationId": .string(operation.id), "userId": "alice", "status": "PENDING"]
        )
        #expect(message.authorization == "Basic ZW11OnRvcCBzZWNyZXQ=" && message.maximumAttempts == 3)

        // All that there is, and of another application nothing.
        let all = JSONValue.strings(Callback.Kind.activation.attributes)
        let request = Self.changed(("type", "ACTIVATION"), ("attributes", all), ("authentication", .null))
        _ = fixture.cloud("POST", "/v2/callbacks", request)
        let device = try fixture.activeDevice(flags: ["VIP"])
        let told = fixture.backend.callbackMessages(of: .init(subject: .activation, id: device.activationID))
        let content = try JSONValue(parsing: #require(told.first?.body))
        #expect(content["activationStatus"] == "ACTIVE" && content["activationFlags"] == ["VIP"])
        #expect(content.object?.members.count == 2 + Callback.Kind.activation.attributes.count)
        #expect(told.first?.authorization == nil)
        _ = fixture.cloud("POST", "/admin/applications", ["id": "other"])
        let other = fixture.cloud("POST", "/v2/registrations", ["userId": "a", "appId": "other"]).json
        let id = try #require(other["registrationId"]?.string)
        #expect(fixture.backend.callbackMessages(of: .init(subject: .activation, id: id)).isEmpty)
    }

    @Test func anOperationBringsAnAddressOfItsOwn() throws {
        var fixture = try BackendFixture()
        let operation = try fixture.operation("login", user: "alice", ["callbackUrl": "https://bank.example/hook"])
        let told = fixture.backend.callbackMessages(of: .init(subject: .operation, id: operation.id))
        #expect(told.map(\.url) == ["https://bank.example/hook"])
        let content = try JSONValue(parsing: #require(told.first?.body))
        #expect(content["status"] == "PENDING" && content["operationType"] == "login")
        let shown = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(shown["callbackUrl"]?.string == "https://bank.example/hook")
        let refused = fixture.cloud(
            "POST",
            "/v2/operations",
            ["template": "login", "callbackUrl": "file:///etc/passwd"]
        )
        #expect(refused.outcome == "400 ERROR_REQUEST")
    }

    @Test func callbacksAreExportedAndADocumentWithoutThemIsTakenOver() throws {
        var fixture = try BackendFixture()
        _ = fixture.cloud("POST", "/v2/callbacks", .object(Self.callback))
        let configuration = BackendConfiguration(applicationID: "x", applicationName: "y", cloudCredentials: nil)
        let exported = try fixture.backend.exported()
        #expect(try Backend(importing: exported, configuration: configuration).state.callbacks.count == 1)
        var document = try #require(try JSONValue(parsing: exported).object)
        var state = try #require(document["state"]?.object)
        state["callbacks"] = nil
        document["state"] = .object(state)
        let older = JSONValue.object(document).serialized()
        #expect(try Backend(importing: older, configuration: configuration).state.callbacks.isEmpty)
    }

    @Test func thereIsRoomForSoMany() throws {
        var fixture = try BackendFixture { $0.capacity.callbacks = 2 }
        for expected in [200, 200, 507] {
            #expect(fixture.cloud("POST", "/v2/callbacks", .object(Self.callback)).status == expected)
        }
    }
}
