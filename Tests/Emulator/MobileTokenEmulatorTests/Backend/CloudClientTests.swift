import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// A bank's backend that was written for PowerAuth Cloud, from its documentation and the tests of its clients alone.
private struct CloudClient {
    var fixture: BackendFixture
    var password = "secret"

    mutating func call(_ method: String, _ path: String, _ body: JSONValue? = nil) -> Reply {
        var request = ReceivedRequest(method: method, target: "/powerauth-cloud" + path)
        let credentials = Base64.encode(Array("cloud:\(self.password)".utf8))
        request.headers = [("Authorization", "Basic \(credentials)"), ("Content-Type", "application/json")]
        request.body = body?.serialized() ?? []
        let reply = self.fixture.backend.reply(to: request, at: self.fixture.now)
        self.fixture.backend.expectDescribed(reply.response, to: request)
        return reply
    }

    func pushes(_ reply: Reply) -> [JSONValue] {
        (reply.events.flatMap { self.fixture.backend.announcement(of: $0).pushes } + reply.pushes).map(\.payload)
    }

    /// A registration whose device is active, has a token and takes pushes.
    mutating func activeDevice(flags: [String] = []) throws -> TestDevice {
        var device = try self.fixture.deviceWithToken(flags: flags)
        let push: JSONValue = ["requestObject": ["platform": "fcm", "token": "t"]]
        let registered = device.sendWithToken("/api/push/device/register/token", push, in: &self.fixture)
        try #require(registered.status == 200)
        _ = try device.temporaryKey(.activation, in: &self.fixture)
        return device
    }
}

@Suite(.wireFact("6.1", "6.2", "B4")) struct CloudClientTests {
    @Test func aRegistrationIsMadeCommittedBlockedAndRemoved() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let now = bank.fixture.milliseconds
        let request: JSONValue = [
            "userId": "alice", "appId": "mobile-token", "flags": ["VIP"], "commitPhase": "ON_COMMIT",
            "timestampRegistrationExpire": .number(JSONNumber(now + 600_000)),
        ]
        let created = bank.call("POST", "/v2/registrations?incompleteStatusCheck=true", request).json
        let id = try #require(created["registrationId"]?.string)
        let code = try #require(created["activationCode"]?.string)
        let signature = try #require(created["activationCodeSignature"]?.string)
        #expect(created["activationQrCodeData"]?.string == "\(code)#\(signature)")
        let again = bank.call("POST", "/v2/registrations?incompleteStatusCheck=true", request)
        #expect(again.outcome == "400 ERROR_REGISTRATION_NOT_ALLOWED")

        let path = "/v2/registrations/\(id)"
        var shown = bank.call("GET", path).json
        #expect(shown["registrationStatus"] == "CREATED" && shown["userId"] == "alice")
        #expect(shown["applicationId"] == "mobile-token" && shown["flags"] == ["VIP"])
        #expect(shown["timestampCreated"]?.int64 == now && shown["timestampLastUsed"]?.int64 == now)
        #expect(shown["activationCode"]?.string == code)

        // The default would have ended by now.
        bank.fixture.advance(seconds: 599)
        var device = bank.fixture.newDevice()
        try device.activate(code, in: &bank.fixture)
        shown = bank.call("GET", path).json
        #expect(shown["registrationStatus"] == "PENDING_COMMIT" && shown["name"] == "test device")
        #expect(shown["platform"] == "linux" && shown["deviceInfo"] == "test")
        #expect(shown["activationFingerprint"]?.string?.utf8.count == 8)
        #expect(bank.call("PUT", path, ["change": "BLOCK"]).outcome == "400 ERROR_REGISTRATION_CHANGE")
        #expect(bank.call("POST", "\(path)/commit", ["externalUserId": "clerk"]).json["status"] == "OK")
        #expect(bank.call("POST", "\(path)/commit", [:]).outcome == "400 ERROR_REGISTRATION_CHANGE")
        #expect(bank.call("GET", path).json["externalUserId"] == "clerk")

        #expect(bank.call("PUT", path, ["change": "BLOCK"]).json["registrationStatus"] == "BLOCKED")
        #expect(bank.call("GET", path).json["blockedReason"] == "NOT_SPECIFIED")
        #expect(bank.call("PUT", path, ["change": "UNBLOCK"]).json["registrationStatus"] == "ACTIVE")
        #expect(bank.call("DELETE", path).json["status"] == "OK")
        #expect(bank.call("GET", path).json["registrationStatus"] == "REMOVED")
        // Recording `bank: remove of REMOVED`.
        #expect(bank.call("DELETE", path).json["status"] == "OK")
        #expect(bank.call("PUT", path, ["change": "UNBLOCK"]).outcome == "400 ERROR_REGISTRATION_CHANGE")
        #expect(bank.call("GET", "/v2/registrations?userId=alice").json["registrations"] == [])
        #expect(bank.call("GET", "/v2/registrations?userId=bob&removed=true").json["registrations"] == [])
        let all = bank.call("GET", "/v2/registrations?userId=alice&removed=true").json["registrations"]
        #expect(all?[0]?["registrationId"]?.string == id)
    }

    @Test func anOperationIsMadeInALanguageForAFlagAndWithoutAPush() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        var device = try bank.activeDevice(flags: ["VIP"])
        let expires = bank.fixture.milliseconds + 60_000
        var request: JSONObject = [
            "userId": "alice", "template": "payment", "language": "cs", "externalId": "E", "flag": "VIP",
            "timestampExpires": .number(JSONNumber(expires)), "parameters": ["amount": "63.99", "currency": "EUR"],
            "proximityCheckEnabled": false, "silent": true,
        ]
        let silent = bank.call("POST", "/v2/operations", .object(request))
        let created = silent.json
        #expect(created["status"] == "PENDING" && created["operationType"] == "authorize_payment")
        #expect(created["userId"] == "alice" && created["parameters"]?["amount"] == "63.99")
        #expect(created["failureCount"]?.int64 == 0 && created["maxFailureCount"]?.int64 == 5)
        #expect(created["timestampCreated"]?.int64 == bank.fixture.milliseconds)
        #expect(created["timestampExpires"]?.int64 == expires && created["proximityOtp"] == nil)
        let (id, data) = (created["operationId"]?.string ?? "", created["data"]?.string ?? "")
        #expect(try device.authorize((id, data), in: &bank.fixture).outcome == "200 OK")
        let approved = bank.call("GET", "/v2/operations/\(id)").json
        #expect(approved["status"] == "APPROVED" && approved["timestampFinalized"] != nil)
        #expect(bank.pushes(silent).isEmpty)
        #expect(bank.call("DELETE", "/v2/operations/\(id)").outcome == "400 ERROR_OPERATION_STATE_CHANGE")

        request["silent"] = false
        let loud = bank.call("POST", "/v2/operations", .object(request))
        #expect(bank.pushes(loud).map { $0["aps"]?["alert"]?["title"] } == ["Potvrzení platby"])
        let loudID = try #require(loud.json["operationId"]?.string)
        #expect(try bank.fixture.backend.preview(ofOperation: loudID, language: nil)?.language == "cs")
        let canceled = bank.call("DELETE", "/v2/operations/\(loudID)?statusReason=MISTAKE").json
        #expect(canceled["status"] == "CANCELED" && canceled["statusReason"] == "MISTAKE")

        request["flag"] = "OTHER"
        let foreign = bank.call("POST", "/v2/operations", .object(request))
        #expect(foreign.status == 200 && bank.pushes(foreign).isEmpty)
        #expect(device.operations(in: &bank.fixture).isEmpty)

        // A registration alone says whose it is.
        let bound: JSONValue = ["template": "login", "registrationId": .string(device.activationID)]
        #expect(bank.call("POST", "/v2/operations", bound).json["userId"] == "alice")
    }

    @Test func messagesArePutIntoTheInboxAndPushed() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let device = try bank.activeDevice()
        let message: JSONValue = [
            "userId": "alice", "subject": "S", "summary": "T", "body": "B", "type": "text", "silent": true,
        ]
        let inbox = bank.call("POST", "/v2/inbox/messages", message)
        #expect(inbox.json["subject"] == "S" && inbox.json["read"] == false && bank.pushes(inbox).isEmpty)

        var push: JSONObject = [
            "userId": "alice", "registrationId": .string(device.activationID), "title": "Hello", "message": "World",
            "sound": "default", "extras": ["kind": "offer"],
        ]
        let sent = bank.call("POST", "/v2/messages/send", .object(push))
        #expect(sent.outcome == "200 OK")
        let alert: JSONValue = ["title": "Hello", "body": "World"]
        #expect(bank.pushes(sent) == [["kind": "offer", "aps": ["alert": alert, "sound": "default"]]])
        push["title"] = " "
        #expect(bank.call("POST", "/v2/messages/send", .object(push)).outcome == "400 ERROR_PUSH_MESSAGE")
        push["silent"] = true
        let silent = bank.pushes(bank.call("POST", "/v2/messages/send", .object(push)))
        #expect(silent == [["kind": "offer", "aps": ["content-available": 1]]])
        push["userId"] = "bob"
        #expect(bank.call("POST", "/v2/messages/send", .object(push)).outcome == "400 ERROR_REGISTRATION_NOT_FOUND")
        push["registrationId"] = nil
        #expect(bank.pushes(bank.call("POST", "/v2/messages/send", .object(push))).isEmpty)
    }

    @Test func whatIsWrongIsToldInItsCodes() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        for path in ["/v2/registrations/x", "/v2/registrations/x?y=z"] {
            #expect(bank.call("GET", path).outcome == "400 ERROR_REGISTRATION_NOT_FOUND")
        }
        for path in ["/v2/operations/x", "/v2/operations/x/offline/qr"] {
            #expect(bank.call("GET", path).outcome == "400 ERROR_OPERATION_NOT_FOUND")
        }
        #expect(bank.call("GET", "/v2/nothing").outcome == "404 ERROR_NOT_FOUND")
        #expect(bank.call("GET", "/pa/v3/status").outcome == "404 ERROR_NOT_FOUND")
        let reply = bank.call("PUT", "/v2/registrations/x", ["change": "EXPLODE"])
        #expect(reply.outcome == "400 ERROR_REQUEST")
        let hint: JSONValue = "is none of BLOCK, UNBLOCK"
        #expect(
            reply.object["violations"] == [["fieldName": "change", "invalidValue": "EXPLODE", "hint": hint]]
        )
        let missing = bank.call("POST", "/v2/registrations", [:]).object["violations"]
        #expect(missing == [["fieldName": "userId", "invalidValue": .null, "hint": "is missing"]])
        let application = bank.call("POST", "/v2/registrations", ["userId": "a", "appId": "nothing"])
        #expect(application.object["violations"]?[0]?["fieldName"] == "appId")
        bank.password = "wrong"
        let refused = bank.call("GET", "/v2/registrations/x")
        #expect(refused.outcome == "401 HTTP_401")
        #expect(refused.headers.contains { $0.name == "WWW-Authenticate" })
    }

    @Test func whatItDoesNotKnowIsIgnoredAndToldToPeople() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let request = try JSONValue(parsing: #"{"userId":"alice","userID":"bob","zebra":{"a":1},"zebra":2}"#)
        let reply = bank.call("POST", "/v2/registrations", request)
        #expect(reply.status == 200 && reply.json["userId"] == "alice")
        #expect(reply.verdict == .accepted)
        #expect(
            reply.inspection.warnings.map(\.message)
                == ["ignored: 'userID', did you mean 'userId'?", "ignored: 'zebra'", "ignored: 'zebra'"]
        )
        let query = bank.call("POST", "/v2/registrations?incompleteStatusChek=true", ["userId": "alice"])
        let warning = "ignored: 'incompleteStatusChek', did you mean 'incompleteStatusCheck'?"
        #expect(query.status == 200 && query.inspection.warnings.map(\.message) == [warning])
        let both: JSONValue = ["userId": "a", "template": "login", "operationType": "x"]
        let operation = bank.call("POST", "/v2/operations", both)
        #expect(operation.json["operationType"] == "login")
        #expect(operation.inspection.warnings.map(\.member) == ["operationType"])
    }

    /// "creation with unknown parameter" of `mobile.jsonl`. The journal tells of it.
    @Test(.wireFact("6.2")) func aMisspeltParameterIsIgnoredWithAWarning() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let misspelt: JSONValue = ["template": "payment", "parameters": ["amout": "3"]]
        let reply = bank.call("POST", "/v2/operations", misspelt)
        #expect(reply.status == 200 && reply.json["data"]?.string?.hasPrefix("A1*A100.00CZK") == true)
        let warning = "ignored: 'parameters.amout', did you mean 'amount'?"
        #expect(reply.inspection.warnings.map(\.message) == [warning])
    }

    /// The members that would be ignored in silence, or refused without a name, and the words of the refusal.
    private static let mistakes: [(path: String, body: JSONValue, member: String, hint: String)] = [
        (
            "/v2/operations", ["userId": "a"], "template",
            "is missing, and so are 'operationType', 'data' and 'formData'"
        ),
        ("/v2/operations", ["template": "payment", "data": "A9"], "data", "is given beside 'template'"),
        (
            "/v2/operations", ["template": "payment", "formData": ["title": "t", "message": "m"]], "formData",
            "is given beside 'template'"
        ),
        (
            "/v2/operations", ["template": "login", "expiresIn": 5, "timestampExpires": 4_000_000_000_000],
            "timestampExpires", "is given beside 'expiresIn'"
        ),
        (
            "/v2/operations", ["template": "payment", "parameters": ["note": ["a": 1]]], "parameters.note",
            "is not a string"
        ),
        (
            "/v2/operations", ["template": "login", "callbackUrl": "http://bank/a b"], "callbackUrl",
            "is not an address of http or https"
        ),
        (
            "/v2/operations", ["template": "login", "userId": .string(String(repeating: "ž", count: 256))], "userId",
            "is longer than 255 characters"
        ),
        (
            "/v2/registrations", ["userId": .string(String(repeating: "ž", count: 256))], "userId",
            "is longer than 255 characters"
        ),
    ]

    @Test(.wireFact("2.7", "6.1"), arguments: Self.mistakes)
    func aRefusalNamesTheMember(path: String, body: JSONValue, member: String, hint: String) throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let reply = bank.call("POST", path, body)
        #expect(reply.outcome == "400 ERROR_REQUEST")
        let violation = reply.object["violations"]?.array?.first
        #expect(violation?["fieldName"]?.string == member, "\(reply.json)")
        #expect(violation?["hint"]?.string?.hasPrefix(hint) == true, "\(reply.json)")
        #expect(bank.fixture.backend.state.operations.count == 0)
    }

    /// "creation with parameter null" and "creation with parameter list" of `mobile.jsonl`.
    @Test func aParameterThatIsNullFailsTheServer() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let body: JSONValue = ["template": "payment", "parameters": ["note": nil]]
        let reply = bank.call("POST", "/v2/operations", body)
        #expect(reply.status == 500)
        #expect(reply.reason == "'parameters.note' is null, at which real servers fail")
        let list: JSONValue = ["template": "payment", "parameters": ["note": ["a"]]]
        #expect(bank.call("POST", "/v2/operations", list).status == 400)
        #expect(bank.fixture.backend.state.operations.count == 0)
    }

    @Test(.wireFact("2.7", "6.1")) func aRefusalNamesTheStateAndTheMethods() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let id = try #require(
            bank.call("POST", "/v2/registrations", ["userId": "alice"]).json["registrationId"]?.string
        )
        for (method, path, body) in [("POST", "/commit", [:]), ("PUT", "", ["change": "BLOCK"])]
            as [(String, String, JSONValue)]
        {
            let reply = bank.call(method, "/v2/registrations/\(id)\(path)", body)
            #expect(reply.object["message"] == "The change is not possible: the activation is CREATED")
        }
        #expect(bank.call("PATCH", "/v2/operations").object["message"] == "Allowed here: GET, POST")
        let operation = bank.call("POST", "/v2/operations", ["template": "login"]).json["operationId"]?.string ?? ""
        let path = "/v2/operations/\(operation)"
        let long = String(repeating: "x", count: 33)
        let tooLong = bank.call("DELETE", "\(path)?statusReason=\(long)")
        #expect(tooLong.outcome == "400 ERROR_REQUEST")
        #expect(tooLong.object["violations"]?[0]?["hint"] == "is longer than 32 characters")
        #expect(bank.call("GET", path).json["status"] == "PENDING")
    }

    @Test func applicationsAndUsersAreMadeByTheAdministrator() throws {
        var bank = CloudClient(fixture: try BackendFixture())
        let made = bank.call("POST", "/admin/applications", ["id": "second", "roles": ["BANKING"]])
        #expect(made.status == 200 && made.json["id"] == "second" && made.json["roles"] == ["BANKING"])
        #expect(bank.call("GET", "/admin/applications/second").json == made.json)
        let configuration = try SDKConfiguration(parsing: #require(made.json["mobileSdkConfig"]?.string))
        #expect(configuration.applicationKey == made.json["appKey"]?.string)
        let user = bank.call("POST", "/admin/users", ["username": "clerk"]).json
        let credentials = "\(user["username"]?.string ?? ""):\(user["password"]?.string ?? "")"
        let header = ("Authorization", "Basic \(Base64.encode(Array(credentials.utf8)))")
        #expect(bank.fixture.send("GET", "/v2/registrations", headers: [header]).status == 200)
        #expect(bank.call("POST", "/admin/users", ["username": "clerk"]).outcome == "400 ERROR_REQUEST")
        #expect(bank.call("POST", "/admin/users", ["username": "a:b"]).outcome == "400 ERROR_REQUEST")
        // They outlive an export.
        let document = try bank.fixture.backend.exported()
        let copy = try Backend(importing: document, configuration: Emulator.Configuration().backend)
        #expect(copy.state.cloudUsers.count == 1 && copy.state.applications["second"]?.roles == ["BANKING"])
    }
}
