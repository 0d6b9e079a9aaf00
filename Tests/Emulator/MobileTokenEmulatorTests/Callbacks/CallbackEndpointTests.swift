import ExactJSON
import MobileToken
import MobileTokenCloud
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator
import MobileTokenNotifications

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
        let other = Self.changed(("type", "ACTIVATION"), ("attributes", []))
        let replaced = fixture.cloud("PUT", "/v2/callbacks/\(id)", other)
        #expect(replaced.json["type"] == "ACTIVATION" && replaced.json["callbackId"]?.string == id)
        #expect(fixture.cloud("DELETE", "/v2/callbacks/\(id)").status == 200)
        for method in ["GET", "DELETE"] {
            #expect(fixture.cloud(method, "/v2/callbacks/\(id)").outcome == "404 ERROR_NOT_FOUND")
        }
        #expect(fixture.cloud("GET", "/v2/callbacks").json == ["callbacks": []])
    }

    @Test(
        arguments: [
            (
                "type", "MESSAGE",
                "'type' is none of OPERATION, OPERATION_STATUS_CHANGE, ACTIVATION, ACTIVATION_STATUS_CHANGE, "
                    + "REGISTRATION_STATUS_CHANGE"
            ),
            ("callbackUrl", "ftp://bank/hook", "'callbackUrl' is not an address of http or https"),
            ("callbackUrl", "hook", "'callbackUrl' is not an address of http or https"),
            ("callbackUrl", "http://", "'callbackUrl' is not an address of http or https"),
            ("callbackUrl", "http://bank/a b", "'callbackUrl' is not an address of http or https"),
            ("appId", "none", "'appId' names no application"),
            ("callbackUrl", "http://emu:pass@bank/", "'callbackUrl' holds credentials, which belong beside it"),
            ("maxAttempts", 0, "'maxAttempts' is not 1 to 100"),
            ("nme", "x", "'nme' is not known here; did you mean 'name'?"),
            ("authentication", ["httpBasic": ["username": "x"]], "'authentication.httpBasic.password' is missing"),
            (
                "authentication", ["oAuth2": ["tokenUri": "file:///x", "clientId": "a", "clientSecret": "b"]],
                "'authentication.oAuth2.tokenUri' is not an address of http or https"
            ),
            (
                "authentication",
                [
                    "httpBasic": ["username": "x", "password": "y"],
                    "oAuth2": ["tokenUri": "http://a/", "clientId": "a", "clientSecret": "b"],
                ],
                "'authentication' is either Basic or OAuth 2.0"
            ),
            (
                "authentication", ["certificate": ["certificate": "x", "privateKey": "y"]],
                "A certificate can be shown to an address of https only"
            ),
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

    @Test func aCertificateIsAPEMDocument() throws {
        var fixture = try BackendFixture()
        let certificate: JSONValue = ["certificate": ["certificate": "AAAA", "privateKey": "BBBB"]]
        let request = Self.changed(("callbackUrl", "https://bank.example/"), ("authentication", certificate))
        let reply = fixture.cloud("POST", "/v2/callbacks", request)
        #expect(
            reply.object["message"]?.string
                == "'authentication.certificate.certificate' is no PEM document of a CERTIFICATE"
        )
    }

    /// An endpoint that is switched off is as if it were not there; one that is on is kept for exports, and told without its
    /// secrets.
    @Test(.wireFact("5")) func secretsAreInTheExportAndInNoResponse() throws {
        var fixture = try BackendFixture()
        let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        let key = "-----BEGIN PRIVATE KEY-----\nSECRETKEY\n-----END PRIVATE KEY-----\n"
        let authentication: JSONValue = [
            "httpBasic": ["enabled": false, "username": "x", "password": "y"],
            "oAuth2": [
                "enabled": true, "tokenUri": "https://bank.example/token", "clientId": "emulator",
                "clientSecret": "SECRETWORD", "scope": "callbacks",
            ],
            "certificate": ["certificate": .string(pem), "privateKey": .string(key)],
        ]
        let request = Self.changed(("callbackUrl", "https://bank.example/"), ("authentication", authentication))
        let created = fixture.cloud("POST", "/v2/callbacks", request)
        #expect(
            created.json["authentication"] == [
                "oAuth2": [
                    "tokenUri": "https://bank.example/token", "clientId": "emulator", "scope": "callbacks",
                ],
                "certificate": ["certificate": .string(pem)],
            ]
        )
        let listed = String(decoding: fixture.cloud("GET", "/v2/callbacks").body, as: UTF8.self)
        #expect(!listed.contains("SECRET"))
        let exported = try fixture.exportedState()
        #expect(exported.contains("SECRETWORD") && exported.contains("SECRETKEY"))
        let configuration = BackendConfiguration(applicationID: "x", applicationName: "y", cloudCredentials: nil)
        let imported = try Backend(importing: Array(exported.utf8), configuration: configuration)
        #expect(imported.state.callbacks.values.first?.oauth?.clientSecret == "SECRETWORD")
        #expect(imported.state.callbacks.values.first?.identity?.privateKey == key)
    }

    /// One name where it is set up, another in the body.
    @Test(
        .wireFact("5", "A8"),
        arguments: [
            ("OPERATION", "OPERATION"), ("OPERATION_STATUS_CHANGE", "OPERATION"), ("ACTIVATION", "ACTIVATION"),
            ("ACTIVATION_STATUS_CHANGE", "ACTIVATION"), ("REGISTRATION_STATUS_CHANGE", "ACTIVATION"),
        ]
    )
    func theConfigurationsNamesAreTakenAndTheBodyHasItsOwn(name: String, type: String) throws {
        var fixture = try BackendFixture()
        let request = Self.changed(("type", .string(name)), ("attributes", []))
        #expect(fixture.cloud("POST", "/v2/callbacks", request).json["type"]?.string == name)
        let operation = try fixture.operation()
        let device = try fixture.activeDevice()
        let events = [
            BackendEvent(subject: .operation, id: operation.id),
            BackendEvent(subject: .activation, id: device.activationID),
        ]
        let messages = events.flatMap { fixture.backend.announcement(of: $0).callbacks }
        let told = try messages.map { try JSONValue(parsing: $0.body) }
        #expect(told.map { $0["type"]?.string } == [type])
    }

    @Test(.wireFact("B22")) func namesOfFactorsAndOfTheProtocolAreInCapitals() throws {
        var fixture = try BackendFixture()
        _ = fixture.cloud("POST", "/v2/callbacks", Self.changed(("attributes", ["signatureType", "timestampCreated"])))
        let activations = Self.changed(("type", "ACTIVATION"), ("attributes", ["protocol"]))
        _ = fixture.cloud("POST", "/v2/callbacks", activations)
        let operation = try fixture.operation("login_1FA")
        let device = try fixture.activeDevice()
        let ofOperation = fixture.backend.announcement(of: .init(subject: .operation, id: operation.id)).callbacks
        let told = try JSONValue(parsing: #require(ofOperation.first?.body))
        #expect(told["signatureType"] == ["POSSESSION"])
        #expect(told["timestampCreated"]?.int64 == 1_800_000_000_000)
        let all = JSONValue.strings(Callback.Kind.operation.attributes)
        _ = fixture.cloud("POST", "/v2/callbacks", Self.changed(("name", "all"), ("attributes", all)))
        let messages = fixture.backend.announcement(of: .init(subject: .operation, id: operation.id)).callbacks
        let inFull = try #require(messages.last)
        let read = try #require(OperationCallback(parsing: inFull.body))
        #expect(read.operationID == operation.id && read.userID == "alice" && read.status == .pending)
        let change = BackendEvent(subject: .activation, id: device.activationID)
        let ofActivation = try #require(fixture.backend.announcement(of: change).callbacks.first)
        #expect(try JSONValue(parsing: ofActivation.body)["protocol"] == "POWERAUTH")
    }

    /// At creation, at each failed attempt, and at each change of state; never when it is only claimed.
    @Test(.wireFact("5")) func theBankIsToldOfEachFailedAttempt() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let attributes: JSONValue = ["status", "failureCount", "additionalData"]
        _ = fixture.cloud("POST", "/v2/callbacks", Self.changed(("attributes", attributes)))
        func told(_ reply: Reply) throws -> [String] {
            try reply.events.flatMap { fixture.backend.announcement(of: $0).callbacks }.map {
                let content = try JSONValue(parsing: $0.body)
                return "\(content["status"]?.string ?? "") \(content["failureCount"]?.int64 ?? -1)"
            }
        }
        let created = fixture.cloud("POST", "/v2/operations", ["template": "login", "maxFailureCount": 3])
        let (id, data) = (created.json["operationId"]?.string ?? "", created.json["data"]?.string ?? "")
        #expect(try told(created) == ["PENDING 0"])
        let named: JSONValue = ["requestObject": ["id": .string(id)]]
        let claimed = device.sendWithToken("/api/auth/token/app/operation/detail/claim", named, in: &fixture)
        #expect(try claimed.status == 200 && told(claimed).isEmpty)
        #expect(try told(device.authorize((id, "wrong"), in: &fixture)) == ["PENDING 1"])
        device.wrongKnowledge = device.keys?.transport
        #expect(try told(device.authorize((id, data), in: &fixture)) == ["PENDING 2"])
        #expect(try told(device.authorize((id, data), in: &fixture)) == ["FAILED 3"])
    }

    @Test(.wireFact("5")) func attributesHaveTheNamesOfRealServers() {
        #expect(
            Callback.Kind.operation.attributes == [
                "userId", "applications", "operationType", "parameters", "additionalData", "activationFlag", "status",
                "data", "failureCount", "maxFailureCount", "signatureType", "externalId", "timestampCreated",
                "timestampExpires", "timestampFinalized",
            ]
        )
        #expect(
            Callback.Kind.activation.attributes == [
                "userId", "activationName", "deviceInfo", "platform", "protocol", "activationFlags",
                "activationStatus", "blockedReason", "applicationId",
            ]
        )
    }

    /// `callbacks.json`: the flag is never told, nor the time at which an operation was canceled or expired.
    @Test func whatNobodyDecidedHasNoTimeOfADecision() throws {
        var fixture = try BackendFixture()
        let all = JSONValue.strings(Callback.Kind.operation.attributes)
        _ = fixture.cloud("POST", "/v2/callbacks", Self.changed(("attributes", all)))
        var device = try fixture.activeDevice()
        func told(_ id: String) throws -> JSONValue {
            let event = BackendEvent(subject: .operation, id: id)
            let message = try #require(fixture.backend.announcement(of: event).callbacks.first)
            return try JSONValue(parsing: message.body)
        }
        let (approved, canceled) = (try fixture.operation(), try fixture.operation("login", ["activationFlag": "VIP"]))
        #expect(try device.authorize(approved, in: &fixture).outcome == "200 OK")
        _ = fixture.cloud("DELETE", "/v2/operations/\(canceled.id)")
        #expect(try told(approved.id)["timestampFinalized"]?.int64 == fixture.milliseconds)
        #expect(try told(canceled.id)["status"] == "CANCELED")
        #expect(try told(canceled.id)["timestampFinalized"] == .null)
        #expect(try told(canceled.id)["activationFlag"] == nil)
    }

    @Test func attributesAreThoseOfTheType() throws {
        var fixture = try BackendFixture()
        let reply = fixture.cloud("POST", "/v2/callbacks", Self.changed(("attributes", ["activationName"])))
        #expect(reply.object["message"]?.string?.contains("'attributes' of OPERATION are userId, applications") == true)
    }

    @Test func itTellsWhatWasAskedForInTheWordsOfTheRealServers() throws {
        var fixture = try BackendFixture()
        _ = fixture.cloud("POST", "/v2/callbacks", .object(Self.callback))
        let operation = try fixture.operation()
        let event = BackendEvent(subject: .operation, id: operation.id, status: "PENDING")
        let message = try #require(fixture.backend.announcement(of: event).callbacks.first)
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
        let told = fixture.backend.announcement(of: .init(subject: .activation, id: device.activationID)).callbacks
        let content = try JSONValue(parsing: #require(told.first?.body))
        #expect(content["activationStatus"] == "ACTIVE" && content["activationFlags"] == ["VIP"])
        #expect(content.object?.members.count == 2 + Callback.Kind.activation.attributes.count)
        #expect(told.first?.authorization == nil)
        _ = fixture.cloud("POST", "/admin/applications", ["id": "other"])
        let other = fixture.cloud("POST", "/v2/registrations", ["userId": "a", "appId": "other"]).json
        let id = try #require(other["registrationId"]?.string)
        #expect(fixture.backend.announcement(of: .init(subject: .activation, id: id)).callbacks.isEmpty)
    }

    @Test func anOperationBringsAnAddressOfItsOwn() throws {
        var fixture = try BackendFixture()
        let operation = try fixture.operation("login", user: "alice", ["callbackUrl": "https://bank.example/hook"])
        let told = fixture.backend.announcement(of: .init(subject: .operation, id: operation.id)).callbacks
        #expect(told.map(\.url) == ["https://bank.example/hook"])
        let content = try JSONValue(parsing: #require(told.first?.body))
        #expect(content["status"] == "PENDING" && content["operationType"] == "login")
        let shown = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(shown["callbackUrl"]?.string == "https://bank.example/hook")
        let elsewhere: JSONValue = ["template": "login", "callbackUrl": "file:///etc/passwd"]
        #expect(fixture.cloud("POST", "/v2/operations", elsewhere).outcome == "400 ERROR_REQUEST")
    }

    @Test func thereIsRoomForSoMany() throws {
        var fixture = try BackendFixture { $0.capacity.callbacks = 2 }
        for expected in [200, 200, 507] {
            #expect(fixture.cloud("POST", "/v2/callbacks", .object(Self.callback)).status == expected)
        }
    }
}
