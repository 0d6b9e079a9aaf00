import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenCloud
import MobileTokenTesting
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator
import MobileTokenNotifications

/// The server's description of itself. Its truth is tested wherever a request is answered; see ``DescribedRoute``.
@Suite(.timeLimit(.minutes(5))) struct DescriptionTests {
    private static let document = OpenAPIDocument(
        routes: ControlAPI.allRoutes,
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
        let routes = ControlAPI.allRoutes.map { "\($0.method) \($0.path)" }
        #expect(routes.count > 110)
        #expect(Self.operations.map(\.name).sorted() == routes.sorted())
    }

    @Test func everyRouteSaysWhatItTakesAndGives() {
        for route in ControlAPI.allRoutes {
            let (place, description) = ("\(route.method) \(route.path)", route.description)
            #expect(description.summary.utf8.last == UInt8(ascii: "."), "\(place)")
            #expect(!description.refusals.isEmpty, "\(place)")
            if case .json(.anything) = description.response { Issue.record("\(place) does not say what it gives") }
            #expect(route.path.utf8.contains(UInt8(ascii: "*")) == false, "\(place)")
            // Calls of the control API read nothing that they do not describe.
            let mayTakeNothing = route.method != "POST" || route is ControlAPI.Route
            #expect(mayTakeNothing || description.request != nil, "\(place)")
        }
    }

    @Test func identifiersAreUniqueAndReferencesLeadSomewhere() throws {
        let identifiers = Self.operations.compactMap { $0.operation["operationId"]?.string }
        #expect(Set(identifiers).count == identifiers.count && identifiers.count == Self.operations.count)
        #expect(identifiers.contains("createRegistration") && identifiers.contains("expireOperation"))
        // Words for people: no versions of paths, no arguments, no method.
        for identifier in identifiers {
            let isReadable = identifier.wholeMatch(of: /[a-z][A-Za-z]+[34]?/) != nil
            let isOfPath = identifier.contains(/Emulator|V2|Pa[A-Z]|IdOf|^(post|put|delete|patch)[A-Z]/)
            #expect(isReadable && !isOfPath, "\(identifier)")
        }
        let schemas = try #require(Self.document["components"]?["schemas"]?.object)
        #expect(Set(schemas.keys).count == schemas.keys.count)
        let text = String(decoding: Self.document.serialized(), as: UTF8.self)
        let references = text.matches(of: /"#\/components\/schemas\/(\w+)"/).map { String($0.1) }
        #expect(Set(references).isSubset(of: schemas.keys) && references.count > 100)
    }

    /// Answers and questions name a thing alike (number 43).
    @Test func membersHaveOneVocabulary() {
        let text = String(decoding: Self.document.serialized(), as: UTF8.self)
        let found = text.matches(of: /"(\w*[a-z]IDs?|maximum[A-Z]\w*|\w*QRCode)":{/).map { String($0.1) }
        #expect(found == ["userID"])  // of a message, for the replay of recordings
    }

    /// The control API has one list of each thing, whose members are named as the bank's are (number 43).
    @Test func eachThingHasOneListAndOneShape() {
        let schemas = Self.document["components"]?["schemas"]
        func resolved(_ schema: JSONValue?) -> JSONValue? {
            guard let name = schema?["$ref"]?.string?.split(separator: "/").last else { return schema }
            return schemas?[String(name)]
        }
        var lists: [(path: String, members: JSONObject)] = []
        for (name, operation) in Self.operations where name.hasPrefix("GET ") && !name.contains("{") {
            let answer = resolved(operation["responses"]?["200"]?["content"]?["application/json"]?["schema"])
            for member in answer?["properties"]?.object?.members ?? [] {
                guard let element = resolved(resolved(member.value)?["items"])?["properties"]?.object else { continue }
                lists.append((String(name.dropFirst(4)), element))
            }
        }
        let ours = lists.filter { $0.path.hasPrefix("/_emulator/") }
        #expect(ours.count > 8)
        let names = Set(ours.map(\.path)).compactMap { $0.split(separator: "/").last }
        #expect(Set(names).count == names.count, "\(names.sorted())")
        let identifiers = ours.compactMap { $0.members.keys.first }.filter { $0.hasSuffix("Id") }
        #expect(Set(identifiers).count == identifiers.count, "\(identifiers.sorted())")
        #expect(identifiers.contains("operationId") && identifiers.contains("registrationId"))
        for bank in lists where bank.path.hasPrefix("/v2/") {
            guard let own = ours.first(where: { $0.members.keys.first == bank.members.keys.first }) else { continue }
            for member in bank.members.members { #expect(own.members[member.key] == member.value, "\(own.path)") }
        }
    }

    /// A name stands for one form: two forms of one name would hide one another.
    @Test func aNameStandsForOneForm() {
        var forms: [String: JSONObject] = [:]
        for route in ControlAPI.allRoutes {
            var used = [route.description.request?.schema].compactMap(\.self)
            if case .json(let schema) = route.description.response { used.append(schema) }
            for (name, schema) in used.flatMap(\.namedForms) {
                #expect(forms[name] == nil || forms[name] == schema.json, "\(name)")
                forms[name] = schema.json
            }
        }
    }

    /// The document must show to developers for PowerAuth Cloud the calls and members that are not found there.
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
        // Members that PowerAuth Cloud ignores may be sent; those that this server's own calls refuse may not.
        #expect(schemas?["NewRegistration"]?["additionalProperties"] == true)
        #expect(schemas?["NewCallback"]?["additionalProperties"] == false)
    }

    @Test func faultRulesAreDescribedWithEveryMemberThatTheyHave() throws {
        var effect = FaultRule.Effect(delay: 1, status: 500, retryAfter: 1, reset: .after, body: .garbage)
        (effect.contentType, effect.drip, effect.clockSkew) = ("x", 1, 1)
        let rule = FaultRule(
            name: "n",
            match: .init(method: "GET", path: "/", activation: "a", nth: 1, first: 1, probability: 0.5),
            effect: effect
        )
        let json = try JSONValue(parsing: Array(JSONEncoder().encode(rule)))
        #expect(FaultRule.schema.objection(to: json) == nil)
        let names = try #require(json.object).members.flatMap { [$0.key] + ($0.value.object?.keys ?? []) }
        #expect(names.count == 3 + 6 + 8)
    }

    /// Every body, every parameter and every response of every call.
    @Test func everythingHasAnExampleOfItsForm() throws {
        for route in ControlAPI.allRoutes {
            let description = route.description
            for member in description.query + (description.request?.schema.allMembers ?? []) {
                #expect(member.schema.objection(to: member.shownExample) == nil, "\(route.path): \(member.name)")
            }
            var schemas = [description.request?.schema].compactMap(\.self)
            if case .json(let schema) = description.response { schemas.append(schema) }
            for schema in schemas { #expect(schema.objection(to: schema.example) == nil, "\(route.path)") }
        }
        for (name, operation) in Self.operations {
            for parameter in operation["parameters"]?.array ?? [] {
                #expect(parameter["example"] != nil, "\(name): \(parameter)")
            }
            let bodies = [operation["requestBody"]] + (operation["responses"]?.object?.members.map(\.value) ?? [])
            for content in bodies.compactMap({ $0?["content"]?.object?.members }).joined()
            where content.value != [:] {
                #expect(content.value["example"] != nil, "\(name)")
            }
        }
    }

    /// A number without a unit is a riddle.
    @Test func everyNumberAndDateHasAUnit() throws {
        for route in ControlAPI.allRoutes {
            let description = route.description
            var members = description.query + (description.request?.schema.allMembers ?? [])
            switch description.response {
            case .json(let schema), .events(_, let schema): members += schema.allMembers
            case .other, .nothing: break
            }
            for member in members {
                switch member.schema {
                case .integer, .number, .timestamp:
                    #expect(member.shownUnit != nil, "\(route.path): \(member.name)")
                case .string(let rule) where rule.format == "date-time": #expect(member.shownUnit == .dateTime)
                default: break
                }
            }
        }
        let schemas = Self.document["components"]?["schemas"]
        let operation = schemas?["Operation"]?["properties"]
        #expect(operation?["timestampExpires"]?["x-unit"] == "milliseconds since 1970")
        #expect(operation?["failureCount"]?["x-unit"] == "count")
        #expect(schemas?["JournalEntry"]?["properties"]?["time"]?["x-unit"] == "ISO 8601")
        let wait = Self.operations.first { $0.name == "GET /_emulator/operations/{id}" }?.operation["parameters"]?
            .array?
            .first { $0["name"] == "wait" }
        #expect(wait?["schema"]?["x-unit"] == "seconds")
    }

    /// Rules that no single member shows, stated so that a validator of JSON Schema knows them.
    @Test func rulesBetweenMembersAreStated() throws {
        let schemas = Self.document["components"]?["schemas"]
        let device = schemas?["NewDevice"]
        #expect(device?["if"] == ["required": ["userId"]] && device?["else"] == ["required": ["activationCode"]])
        #expect(device?["then"] == ["not": ["required": ["activationCode"]]])
        #expect(device?["dependentRequired"] == ["provider": ["userId"]])
        #expect(schemas?["SignIn"]?["if"] == ["required": ["userId"]])
        for (body, message): (JSONValue, String?) in [
            (["userId": "a"], nil), (["activationCode": "a", "userId": .null], nil),
            ([:], "The body needs either 'userId' or 'activationCode'"),
            (["userId": "a", "activationCode": "b"], "The body needs either 'userId' or 'activationCode'"),
            (["activationCode": "a", "provider": "p"], "'provider' needs 'userId' beside it"),
        ] {
            #expect(Emulator.NewDevice.schema.objection(to: body) == message)
        }
    }

    // MARK: Requests of the server

    @Test func whatTheServerSendsIsDescribed() async throws {
        let webhooks = try #require(Self.document["webhooks"]?.object)
        #expect(webhooks.keys == ["operationChanged", "activationChanged", "pushMessage"])
        let schedule = try #require(webhooks["operationChanged"]?["post"]?["description"]?.string)
        #expect(schedule.contains("2.0, 3.0, 4.5, 6.75, 10.125"))
        for kind in Callback.Kind.allCases {
            let schema = kind == .operation ? Schema.operationCallback : .activationCallback
            #expect(
                Array(schema.allMembers.prefix(2 + kind.attributes.count).map(\.name).dropFirst(2)) == kind.attributes
            )
        }
        var configuration = Emulator.Configuration()
        configuration.pushURL = "http://127.0.0.1:1/pushes"
        try await withEmulator(configuration) { emulator in
            for type in ["OPERATION", "ACTIVATION"] {
                let kind = try #require(Callback.Kind(name: type))
                let body: JSONValue = [
                    "name": "bank", "type": .string(type), "callbackUrl": .string("http://127.0.0.1:1/\(type)"),
                    "attributes": .array(kind.attributes.map { .string($0) }),
                ]
                let made = try await emulator.bank("POST", "/v2/callbacks", json: body)
                #expect(made.status == 200, "\(made.text)")
            }
            try await emulator.makeDevice(userID: "alice", push: "fcm")
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice").id
            #expect(await emulator.decision(on: operation)?.status == .approved)
            let deliveries = emulator.deliveries()
            for (path, schema): (String, Schema) in [
                ("/OPERATION", .operationCallback), ("/ACTIVATION", .activationCallback), ("/pushes", .pushDelivery),
            ] {
                let bodies = deliveries.filter { $0.url.hasSuffix(path) }.map(\.body)
                #expect(!bodies.isEmpty, "\(path)")
                for body in bodies {
                    #expect(try schema.objection(to: JSONValue(parsing: Array(body.utf8))) == nil, "\(body)")
                }
            }
        }
    }

    @Test func theStreamOfEventsIsDescribed() async throws {
        let events = Self.operations.first { $0.name == "GET /_emulator/events" }?.operation["responses"]?["200"]
        let form = events?["content"]?["text/event-stream"]?["schema"]
        #expect(form?["contentSchema"]?["$ref"] == "#/components/schemas/Event")
        try await withEmulator { emulator in
            let events = emulator.events()
            try await emulator.cloud.createOperation("login", userID: "alice")
            for await event in events {
                let json = event.json
                #expect(Emulator.Event.schema.objection(to: json) == nil, "\(json)")
                if event.kind == .operation { break }
            }
        }
    }

    @Test func anImportIsDescribedAsAnExport() throws {
        let body = Self.operations.first { $0.name == "POST /_emulator/import" }?.operation["requestBody"]
        let form = body?["content"]?["application/json"]?["schema"]
        #expect(form?["$ref"] == "#/components/schemas/ExportedState")
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
            let health = try await emulator.send("GET", prefix + "/health").json(as: [String: String].self)
            #expect(health == ["status": "READY"])
            let index = try JSONValue(parsing: Array(try await emulator.send("GET", prefix + "/").body))
            #expect(index["routes"]?.array?.count == ControlAPI.allRoutes.count)
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
            _ = try await emulator.cloud.createMessage(.init(userID: "alice", subject: "S", summary: "S", body: "B"))
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
            // It is refused, and the device has a task that failed.
            await #expect(throws: EmulatorError.self) {
                try await emulator.decide("none", .approve, byDevice: phone.id)
            }
            let space = try #require(try await emulator.makeSpace(named: "a").spaceID)
            for route in ControlAPI.allRoutes where route.method == "GET" && !route.path.utf8.starts(with: "/pa/".utf8)
            {
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
                let response = try await emulator.bank("GET", path + query)
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
                ("PUT", "/_emulator/clock", "{}", "The body needs 'now', 'mode' or 'advance'"),
                (
                    "POST", "/_emulator/faults", #"{"effect":{"reset":"now"}}"#,
                    "'effect.reset' is none of before, after"
                ),
                (
                    "GET", "/_emulator/operations?stauts=PENDING", "",
                    "'stauts' is not known here; did you mean 'status'?"
                ),
                (
                    "GET", "/_emulator/operations?status=pending", "",
                    "'status' is none of PENDING, APPROVED, REJECTED, CANCELED, EXPIRED, FAILED"
                ),
                (
                    "GET", "/_emulator/operations?kind=login", "",
                    "'kind' is not known here: there are status, userId, offset, limit"
                ),
                ("GET", "/_emulator/operations?limit=5000", "", "'limit' is not 1 to 1000"),
                ("GET", "/_emulator/activations?limit=x", "", "'limit' is not a whole number"),
                ("GET", "/_emulator/activations?limit=1&limit=2", "", "'limit' is given twice"),
                (
                    "GET", "/_emulator/journal?before=5&since=1", "",
                    "'before' is given beside 'since', 'run' or 'wait', which lead the other way"
                ),
                ("GET", "/v2/operations?userID=a", "", "'userID' is not known here; did you mean 'userId'?"),
                ("GET", "/v2/callbacks?limit=1", "", "'limit' is not known here"),
                ("GET", "/v2/operations?userId=", "", "'userId' is empty"),
                ("GET", "/v2/registrations?userId=", "", "'userId' is empty"),
                ("GET", "/_emulator/journal?userId=", "", "'userId' is empty"),
            ]
            for (method, path, body, message) in wrong {
                let response = try await emulator.bank(method, path, body)
                #expect(response.status == 400, "\(path)")
                #expect(try JSONValue(parsing: Array(response.body))["responseObject"]?["message"]?.string == message)
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
            "POST", "/v2/operations", ["template": "login", "allowedSignatureType": ["type": "3FA", "variants": []]],
            "'allowedSignatureType.type' is none of 1FA, 2FA, ECDSA"
        ),
        ("PUT", "/v2/registrations/x", ["change": "EXPLODE"], "'change' is none of BLOCK, UNBLOCK"),
        (
            "POST", "/v2/inbox/messages", ["userId": "a", "subject": "s", "summary": "s", "body": "b", "type": "rtf"],
            "'type' is none of text, html"
        ),
        ("POST", "/admin/applications", ["id": ""], "'id' is missing"),
        ("POST", "/v2/operations", ["template": "login", "userId": ""], "'userId' is empty"),
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
}

extension Schema {
    fileprivate var allMembers: [Member] {
        switch self {
        case .named(_, let schema), .tolerant(let schema), .list(let schema), .ruled(let schema, _): schema.allMembers
        case .object(let members, _): members + members.flatMap(\.schema.allMembers)
        default: []
        }
    }
}
