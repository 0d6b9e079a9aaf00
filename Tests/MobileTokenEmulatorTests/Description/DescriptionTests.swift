import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// What the server says of itself. That it is true is tested wherever a request is answered; see ``DescribedRoute``.
@Suite(.timeLimit(.minutes(1))) struct DescriptionTests {
    private static let document = OpenAPIDocument(
        routes: Site.allRoutes,
        server: "http://127.0.0.1:1",
        profile: EmulatorServerProfile()
    ).json

    /// Method and path, such as `POST /v2/operations`, with what is said of it.
    private static var operations: [(name: String, operation: JSONValue)] {
        (Self.document["paths"]?.object?.members ?? []).flatMap { path in
            (path.value.object?.members ?? []).map { ("\($0.key.uppercased()) \(path.key)", $0.value) }
        }
    }

    @Test func everyRouteIsDescribedAndNothingElse() {
        let routes = Site.allRoutes.map { "\($0.method) \($0.path)" }
        #expect(routes.count > 110)
        #expect(Self.operations.map(\.name).sorted() == routes.sorted())
    }

    @Test func everyRouteSaysWhatItTakesAndGives() {
        for route in Site.allRoutes {
            let (place, description) = ("\(route.method) \(route.path)", route.description)
            #expect(description.summary.utf8.last == UInt8(ascii: "."), "\(place)")
            #expect(!description.refusals.isEmpty, "\(place)")
            if case .json(.anything) = description.response { Issue.record("\(place) does not say what it gives") }
            #expect(route.path.utf8.contains(UInt8(ascii: "*")) == false, "\(place)")
            #expect(
                route.method != "POST" || description.request != nil || Self.takesNothing.contains(route.path),
                "\(place)"
            )
        }
    }

    private static let takesNothing = [
        "/_emulator/reset", "/_emulator/activations/{id}/unblock", "/_emulator/activations/{id}/{action}",
        "/_emulator/deliveries/{id}/replay", "/_emulator/snapshots/{id}/restore",
        "/_emulator/devices/{id}/inbox/{message}/read",
    ]

    @Test func identifiersAreUniqueAndReferencesLeadSomewhere() throws {
        let identifiers = Self.operations.compactMap { $0.operation["operationId"]?.string }
        #expect(Set(identifiers).count == identifiers.count && identifiers.count == Self.operations.count)
        #expect(identifiers.contains("postV2Registrations") && identifiers.contains("getV2OperationsId"))
        let schemas = try #require(Self.document["components"]?["schemas"]?.object)
        #expect(Set(schemas.keys).count == schemas.keys.count)
        let text = String(decoding: Self.document.serialized(), as: UTF8.self)
        let references = text.matches(of: /"#\/components\/schemas\/(\w+)"/).map { String($0.1) }
        #expect(Set(references).isSubset(of: schemas.keys) && references.count > 100)
    }

    /// A name stands for one form: two forms of one name would hide one another.
    @Test func aNameStandsForOneForm() {
        var forms: [String: JSONObject] = [:]
        for route in Site.allRoutes {
            var used = [route.description.request?.schema].compactMap(\.self)
            if case .json(let schema) = route.description.response { used.append(schema) }
            for (name, schema) in used.flatMap(\.namedForms) {
                #expect(forms[name] == nil || forms[name] == schema.json, "\(name)")
                forms[name] = schema.json
            }
        }
    }

    /// Who writes a backend for PowerAuth Cloud must see what he would not find there.
    @Test(.wireFact("B4", "6.2")) func itSaysWhichCallsAndMembersArePowerAuthClouds() throws {
        let origins = Dictionary(grouping: Self.operations) { $0.operation["x-origin"]?.string ?? "" }
            .mapValues { Set($0.map(\.name)) }
        let clouds = try #require(origins["PowerAuth Cloud"])
        #expect(
            clouds.isSuperset(of: [
                "POST /v2/registrations", "GET /v2/registrations/{id}", "POST /v2/operations",
                "POST /v2/signature/verify",
                "POST /v2/token/verify", "POST /v2/messages/send", "POST /admin/applications", "POST /admin/users",
            ])
        )
        let ours = try #require(origins["this server"])
        #expect(ours.isSuperset(of: ["GET /v2/operations", "POST /v2/callbacks", "PUT /_emulator/clock"]))
        #expect(origins[""]?.contains { $0.contains(" /v2/") || $0.contains(" /admin/") } == false)
        let schemas = Self.document["components"]?["schemas"]
        let member = schemas?["NewRegistration"]?["properties"]?["protocolVersion"]
        #expect(member?["x-origin"] == "this server")
        #expect(member?["description"]?.string?.hasSuffix("Of this server alone.") == true)
        #expect(schemas?["NewRegistration"]?["properties"]?["otp"]?["x-origin"] == nil)
        // What PowerAuth Cloud ignores may be sent; what this server's own calls refuse may not.
        #expect(schemas?["NewRegistration"]?["additionalProperties"] == true)
        #expect(schemas?["NewCallback"]?["additionalProperties"] == false)
    }

    @Test func faultRulesAreDescribedWithEveryMemberThatTheyHave() throws {
        let rule = FaultRule(
            name: "n",
            match: .init(method: "GET", path: "/", activation: "a", nth: 1, first: 1, probability: 0.5),
            effect: .init(
                delay: 1,
                status: 500,
                retryAfter: 1,
                reset: .after,
                body: .garbage,
                contentType: "x",
                drip: 1,
                clockSkew: 1
            )
        )
        let json = try JSONValue(parsing: ControlJSON.encode(rule))
        #expect(FaultRule.schema.objection(to: json) == nil)
        let names = try #require(json.object).members.flatMap { [$0.key] + ($0.value.object?.keys ?? []) }
        #expect(names.count == 3 + 6 + 8)
    }

    @Test func everyExampleIsOfItsForm() throws {
        var count = 0
        for route in Site.allRoutes {
            for member in route.description.query + (route.description.request?.schema.allMembers ?? []) {
                guard let example = member.example else { continue }
                count += 1
                #expect(member.schema.objection(to: example) == nil, "\(route.path): \(member.name)")
            }
            guard let schema = route.description.request?.schema, let example = schema.example else { continue }
            #expect(schema.objection(to: example) == nil, "\(route.path)")
        }
        #expect(count > 20)
    }

    // MARK: - Over HTTP

    @Test(arguments: ["", "/enrollment-server"])
    func itIsServedWithoutCredentials(prefix: String) async throws {
        try await withEmulator { emulator async throws in
            let served = try await emulator.send("GET", prefix + "/openapi.json")
            #expect(served.status == 200 && served.headers["content-type"] == "application/json")
            let document = try JSONValue(parsing: Array(served.body))
            #expect(document["openapi"]?.string == "3.1.0")
            #expect(document["servers"] == [["url": .string(emulator.cloudURL)]])
            #expect(document["paths"] == Self.document["paths"])
            #expect(
                try await emulator.send("GET", prefix + "/health").json(as: [String: String].self) == [
                    "status": "READY"
                ]
            )
            let index = try JSONValue(parsing: Array(try await emulator.send("GET", prefix + "/").body))
            #expect(index["routes"]?.array?.count == Site.allRoutes.count)
            for page in ["console", "documentation", "openAPI", "health"] {
                let path = try #require(index[page]?.string)
                #expect(try await emulator.send("GET", "\(prefix)/\(path)").status == 200, "\(path)")
            }
            #expect(try await emulator.send("HEAD", prefix + "/health").status == 200)
            let refused = try await emulator.send("POST", prefix + "/health")
            #expect(refused.status == 405 && refused.headers["allow"] == "GET, HEAD")
        }
    }

    @Test func theSitesAndTheControlAPIsResponsesAreThoseDescribed() async throws {
        try await withEmulator { emulator async throws in
            let user = try await emulator.cloud.register(userID: "alice")
            try await emulator.cloud.createOperation("payment", userID: "alice")
            _ = try await emulator.cloud.createMessage(userID: "alice", subject: "S", summary: "S", body: "B")
            await emulator.faults.add(FaultRule(match: .init(path: "/nothing"), effect: .init(status: 500)))
            let operation = try #require(await emulator.operations().first)
            let message = try #require(await emulator.messages().first)
            let device = try await emulator.makeActivation(user: "bob", password: "1234")
            try await PushService(activation: device).register(token: "t", for: .fcm)
            try await emulator.cloud.createOperation("login", userID: "bob")
            let push = try #require(await emulator.pushes().first)
            let callback = try await emulator.createCallback("http://127.0.0.1:1/")
            try await emulator.cloud.cancelOperation(operation.id)
            let delivery = try #require(emulator.deliveries().first)
            let phone = try await emulator.makeDevice(userID: "carol", rule: .init(.never))
            try await emulator.decide("none", .approve, byDevice: phone.id)
            let space = try #require(try await emulator.makeSpace(named: "a").spaceID)
            for route in Site.allRoutes where route.method == "GET" && !route.path.utf8.starts(with: "/pa/".utf8) {
                if route.path == "/_emulator/events" { continue }
                if route.path.contains("/offline/") { continue }  // there is none for what is canceled
                if route.path.hasSuffix("/authorize") { continue }  // a page, for those who ask as they must
                let ids = [
                    ("journal", "1"), ("messages", message.id), ("operations", operation.id),
                    ("applications", emulator.applicationID),
                    ("callbacks", callback), ("deliveries", String(delivery.id)), ("pushes", String(push.id)),
                    ("devices", phone.id), ("spaces", space),
                ]
                let id = ids.first { route.path.contains($0.0) }?.1 ?? user.id
                let path = route.path.replacing("{id}", with: id).replacing("{file}", with: "console.js")
                    .replacing("{provider}", with: "emulator")
                    .replacing("{name}", with: "login")
                let query = route.description.query.contains { $0.name == "text" } ? "?text=x" : ""
                let response = try await emulator.send("GET", path + query, headers: [emulator.authorization])
                #expect(response.status == route.description.status, "\(path)")
                let body = ServerResponse.Body.bytes(Array(response.body))
                route.expectDescribed(ServerResponse(status: response.status, body: body))
            }
        }
    }

    @Test func membersThatTheControlAPIDoesNotKnowAreRefusedByName() async throws {
        try await withEmulator { emulator async throws in
            let wrong = [
                ("PUT", "/_emulator/clock", #"{"advnce":1}"#, "'advnce' is not known here; did you mean 'advance'?"),
                ("PUT", "/_emulator/clock", #"{"mode":"fast"}"#, "'mode' is none of real, manual"),
                (
                    "POST", "/_emulator/faults", #"{"effect":{"reset":"now"}}"#,
                    "'effect.reset' is none of before, after"
                ),
                ("PUT", "/_emulator/protocol", #"{"minimumVersion":5}"#, "'minimumVersion' is not 3 to 4"),
                (
                    "GET", "/_emulator/operations?stauts=PENDING", "",
                    "'stauts' is not known here; did you mean 'status'?"
                ),
                ("GET", "/_emulator/operations?limit=5000", "", "'limit' is not 1 to 1000"),
                ("GET", "/_emulator/clock?zone=UTC", "", "'zone' is not known here"),
            ]
            for (method, path, body, message) in wrong {
                let response = try await emulator.send(method, path, body: body)
                #expect(response.status == 400)
                let refusal = try JSONValue(parsing: Array(response.body))["responseObject"]
                #expect(refusal?["message"]?.string == message)
            }
        }
    }
}

@Suite struct CloudBodyTests {
    private static let wrong: [(method: String, path: String, body: JSONValue, message: String)] = [
        (
            "POST", "/v2/registrations", ["usrId": "alice"],
            "'userId' is missing; ignored: 'usrId', did you mean 'userId'?"
        ),
        (
            "POST", "/v2/registrations", ["userId": "alice", "commitPhase": "ON_MONDAY"],
            "'commitPhase' is none of ON_COMMIT, ON_KEY_EXCHANGE"
        ),
        (
            "POST", "/v2/registrations", ["userId": "a", "activationOtpValidation": "NEVER", "activationOtp": "1"],
            "'activationOtpValidation' is none of NONE, ON_KEY_EXCHANGE, ON_COMMIT"
        ),
        (
            "POST", "/v2/registrations", ["userId": "a", "protocolVersion": "5.0"],
            "'protocolVersion' is none of 3.1, 3.2, 3.3, 4.0"
        ),
        (
            "POST", "/v2/operations", ["template": "payment", "parameters": ["amout": "3"]],
            "'parameters.amout' is no parameter of 'payment'; did you mean 'amount'?"
        ),
        (
            "POST", "/v2/operations", ["template": "login", "allowedSignatureType": ["type": "3FA", "variants": []]],
            "'allowedSignatureType.type' is none of 1FA, 2FA, ECDSA"
        ),
        ("PUT", "/v2/registrations/x", ["change": "EXPLODE"], "'change' is none of BLOCK, UNBLOCK"),
        (
            "POST", "/v2/inbox/messages", ["userId": "a", "subject": "s", "summary": "s", "body": "b", "type": "rtf"],
            "'type' is none of text, html"
        ),
        ("POST", "/admin/applications", ["id": ""], "'id' is missing"),
        (
            "POST", "/v2/messages/send", ["userId": "a", "extras": []], "'extras' is not an object"
        ),
        (
            "POST", "/v2/signature/verify", ["method": "PATCH", "uriId": "/a", "authHeader": "a"],
            "'method' is none of GET, POST, PUT, DELETE"
        ),
    ]

    @Test func aCallOfOursRefusesWhatItDoesNotKnow() throws {
        var fixture = try BackendFixture()
        let reply = fixture.cloud("POST", "/v2/registrations/x/flags", ["flag": ["A"]])
        #expect(reply.outcome == "400 INVALID_REQUEST")
        #expect(reply.object["message"]?.string == "'flag' is not known here; did you mean 'flags'?")
    }

    @Test func whatIsNotKnownIsRefusedByNameAndChangesNothing() throws {
        var fixture = try BackendFixture()
        let state = try fixture.exportedState()
        for (method, path, body, message) in Self.wrong {
            let reply = fixture.cloud(method, path, body)
            #expect(reply.outcome == "400 ERROR_REQUEST")
            #expect(reply.object["message"]?.string == message)
            let violation = reply.object["violations"]?.array?.first
            #expect(violation?["fieldName"]?.string.map { message.hasPrefix("'\($0)' ") } == true)
            #expect(violation?["hint"]?.string.map { message.contains($0) } == true)
        }
        #expect(try fixture.exportedState() == state)
    }

    @Test func nullIsAsGoodAsNothing() throws {
        var fixture = try BackendFixture()
        let registration: JSONValue = [
            "userId": "alice", "appId": .null, "flags": .null, "activationOtp": .null, "commitPhase": .null,
            "protocolVersion": .null,
        ]
        #expect(fixture.cloud("POST", "/v2/registrations", registration).status == 200)
        let operation: JSONValue = [
            "template": "login", "userId": .null, "parameters": .null, "expiresIn": .null, "ui": .null,
            "proximityCheckEnabled": .null,
        ]
        #expect(fixture.cloud("POST", "/v2/operations", operation).status == 200)
        #expect(fixture.cloud("POST", "/v2/registrations", ["userId": .null]).outcome == "400 ERROR_REQUEST")
    }

    @Test func aDeviceMaySendWhatIsNotKnown() throws {
        var fixture = try BackendFixture()
        #expect(fixture.send("/pa/v3/status", json: ["more": 1]).status == 200)
    }
}

extension Schema {
    /// The members of this form and of all inside it.
    fileprivate var allMembers: [Member] {
        switch self {
        case .named(_, let schema), .tolerant(let schema), .list(let schema): schema.allMembers
        case .object(let members, _): members + members.flatMap(\.schema.allMembers)
        default: []
        }
    }
}
