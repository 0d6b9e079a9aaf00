import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// Scenarios are carried out as a whole or not at all.
@Suite(.timeLimit(.minutes(5))) struct ScenarioTests {
    private static let whole = """
        {
          "clock": {"mode": "manual", "now": "2026-03-01T08:00:00.000Z"},
          "templates": [\(ServedTemplateTests.template())],
          "callbacks": [{"name": "bank", "type": "OPERATION", "callbackUrl": "http://127.0.0.1:1/"}],
          "registrations": [{"userId": "alice", "flags": ["A"]}, {"userId": "bob"}],
          "operations": [
            {"userId": "alice", "template": "order", "parameters": {"what": "tea"}, "expiresIn": 60},
            {"userId": "bob", "operationType": "signing", "data": "A1", "formData": {"title": "T", "message": "M"}}
          ],
          "messages": [{"userId": "alice", "subject": "S", "summary": "S", "body": "B"}],
          "faults": [{"name": "later", "match": {"path": "/nowhere"}, "effect": {"status": 503}}]
        }
        """

    @Test func itMakesEverythingThatItAsksFor() async throws {
        try await withEmulator { emulator in
            let response = try await emulator.send("POST", "/_emulator/scenario", body: Self.whole)
            #expect(response.status == 200)
            let made = try JSONValue(parsing: Array(response.body))
            #expect(made["templates"] == ["order"])
            #expect(made["registrations"]?.array?.compactMap { $0["activationCode"]?.string }.count == 2)
            #expect(await emulator.activations().map(\.userID) == ["bob", "alice"])
            let operations = await emulator.operations()
            #expect(operations.map(\.title) == ["T", "Order tea"])
            #expect(
                operations.map(\.id) == made["operations"]?.array?.reversed().compactMap { $0["operationId"]?.string }
            )
            #expect(await emulator.messages().map(\.subject) == ["S"])
            #expect(await emulator.faults.rules.map(\.name) == ["later"])
            #expect(await emulator.clock.isManual)
            #expect(await emulator.clock.now.formatted(.iso8601) == "2026-03-01T08:00:00Z")
            #expect(operations.last?.created == (await emulator.clock.now))
            // The callbacks are told of what was made after them.
            #expect(emulator.deliveries().count == 2)
            // Rules are added, and what is there stays.
            try await emulator.play(scenario: Data(#"{"faults": [{"effect": {"delay": 1}}]}"#.utf8))
            #expect(await emulator.faults.rules.count == 2)
            #expect(await emulator.operations().count == 2)
        }
    }

    @Test func anEmptyOneMakesNothing() async throws {
        try await withEmulator { emulator in
            let made = try await emulator.play(scenario: Data(#"{"clock": null, "operations": []}"#.utf8))
            let kinds = ["templates", "callbacks", "registrations", "devices", "operations", "messages"]
            let nothing = JSONObject(kinds.map { .init(key: $0, value: []) })
            #expect(try JSONValue(parsing: Array(made)) == .object(nothing))
        }
    }

    /// Something that would be made, in the first line.
    private static let (eve, device) = (
        #"{"registrations": [{"userId": "eve"}],"# + "\n", #"{"devices": [{"userId": "eve"},"# + "\n"
    )

    private static let wrong: [(scenario: String, message: String)] = [
        ("{\n\"operatons\": []}", "line 2: 'operatons' is not known here; did you mean 'operations'?"),
        (
            eve + "\"operations\": [\n{\"usrId\": \"eve\", \"template\": \"login\"}]}",
            "line 3: 'operations[0].usrId' is not known here; did you mean 'userId'?"
        ),
        (
            eve + "\"operations\": [\n{\"template\": \"login\"},\n{\"template\": \"lgin\"}]}",
            "line 4: 'operations[1]': 'template' names no template: there is no 'lgin'; did you mean 'login'?"
        ),
        (eve + #""faults": [{"effect": {"status": 700}}]}"#, "line 2: 'faults[0].effect.status' is not 200 to 599"),
        (
            eve + #""faults": [{"efect": {}}]}"#,
            "line 2: 'faults[0].efect' is not known here; did you mean 'effect'?"
        ),
        (eve + "\"clock\":\n{\"now\": \"yesterday\"}}", "line 3: 'clock.now' is not an ISO 8601 date"),
        (
            eve + #""clock": {"advance": 1e300}}"#,
            "line 2: 'clock': advance: The clock shows the years 1970 to 9998"
        ),
        (
            eve + "\"templates\": [{\"name\": \"x\",\n\"dat\": 1}]}",
            "line 3: 'templates[0].dat' is not known here; did you mean 'data'?"
        ),
        (
            eve + "\"templates\": [\n\(ServedTemplateTests.template(title: "@{x}"))]}",
            "line 5: 'templates[0].formData.title': There is no text 'x'"
        ),
        (
            "{\"callbacks\": [\n{\"name\": \"b\", \"type\": \"OPERATION\", \"callbackUrl\": \"ftp://x\"}]}",
            "line 2: 'callbacks[0]': 'callbackUrl' is not an address of http or https"
        ),
        (
            "{\"operations\": [{\"template\": \"login\"}],\n\"messages\": [{\"userId\": \"eve\"}]}",
            "line 2: 'messages[0].subject' is missing"
        ),
        (
            device + #"{"userId": "eve", "rle": {}}]}"#,
            "line 2: 'devices[1].rle' is not known here; did you mean 'rule'?"
        ),
        (
            device + #"{"userId": "eve", "version": "2.1"}]}"#,
            "line 2: 'devices[1].version' is none of 3.1, 3.2, 3.3, 4.0"
        ),
        (device + #"{"name": "phone"}]}"#, "line 2: 'devices[1]' needs either 'userId' or 'activationCode'"),
        (
            device + #"{"userId": "eve", "rule": {"after": 86401}}]}"#,
            "line 2: 'devices[1].rule.after' is not 0.0 to 86400.0"
        ),
        (
            "{\"devices\": [{\"userId\": \"eve\"}, {\"userId\": \"eve\", \"version\": \"4.0\"}],\n\"operations\": [{\"template\": \"lgin\"}]}",
            "line 2: 'operations[0]': 'template' names no template: there is no 'lgin'; did you mean 'login'?"
        ),
        ("{\"operations\": {}}", "line 1: 'operations' is not a list"),
        ("{\"clock\": {},\n\"clock\": {}}", "line 2: 'clock' is given twice"),
        (
            "{\"operations\": [{\"template\": \"login\",\n\"parameters\": {\"a\": \"1\",\n\"a\": \"2\"}}]}",
            "line 3: 'a' is given twice"
        ),
        ("[]", "line 1: The body is not an object"), ("{\n", "line 2: JSON: unexpected end at byte 2"),
    ]

    @Test func whatIsWrongIsRefusedWithItsLineBeforeAnythingHasChanged() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.seed = 1 }) { emulator in
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 1_800_000_000))
            await emulator.faults.add(FaultRule(match: .init(path: "/nowhere"), effect: .init(status: 500)))
            let (state, templates) = (try await emulator.exported(), await emulator.templates())
            for (scenario, message) in Self.wrong {
                let refused = try await emulator.send("POST", "/_emulator/scenario", body: scenario)
                #expect(refused.status == 400)
                #expect(
                    try JSONValue(parsing: Array(refused.body))["responseObject"]?["message"]?.string == message,
                    "\(scenario)"
                )
                // Not even an identifier was drawn.
                #expect(try await emulator.exported() == state)
                #expect(await emulator.templates() == templates)
                #expect(await emulator.faults.rules.count == 1)
                #expect(await emulator.clock.now == Date(timeIntervalSince1970: 1_800_000_000))
                #expect(emulator.deliveries().isEmpty)
                #expect(await emulator.devices().isEmpty)
            }
        }
    }

    // MARK: Devices

    private static let versions = ProtocolVersion.allCases

    private func devices(_ made: Data) throws -> [JSONValue] {
        try #require(try JSONValue(parsing: Array(made))["devices"]?.array)
    }

    @Test(arguments: Self.versions) func aDeviceIsActiveAndDecidesByItsRule(version: ProtocolVersion)
        async throws
    {
        try await withEmulator { emulator in
            let scenario = """
                {"callbacks": [{"name": "bank", "type": "ACTIVATION", "callbackUrl": "http://127.0.0.1:1/",
                                "attributes": ["activationStatus"]}],
                 "devices": [{"userId": "alice", "name": "phone", "version": "\(version.rawValue)",
                              "rule": {"decision": "reject", "reason": "TEST"}}],
                 "operations": [{"userId": "alice", "template": "login"}]}
                """
            let made = try await emulator.play(scenario: Data(scenario.utf8))
            let shown = try #require(try self.devices(made).first)
            let device = try #require(await emulator.devices().first)
            #expect(device.version == version.rawValue && device.status == .active && device.userID == "alice")
            #expect(shown["id"]?.string == device.id && shown["status"] == "ACTIVE" && shown["name"] == "phone")
            #expect(shown["rule"]?["reason"] == "TEST" && shown["tasks"] == [])
            let activation = try #require(await emulator.activations().first)
            #expect(activation.id == device.id && activation.name == "phone")
            #expect(activation.version == version.rawValue)
            let operation = try #require(await emulator.operations().first)
            let decided = try #require(await emulator.decision(on: operation.id))
            #expect(decided.status == .rejected && decided.rejectReason == "TEST")
            // The bank was told of it, once.
            let told = emulator.deliveries().compactMap { try? JSONValue(parsing: $0.body) }
            #expect(told.map { $0["activationStatus"] } == ["ACTIVE"])
            #expect(await emulator.journal().filter { $0.deliveryID == nil }.refusals == [])
        }
    }

    @Test func aDeviceTakesTheCodeOfARegistrationThatTheBankCommits() async throws {
        try await withEmulator { emulator in
            let registration = try await emulator.cloud.register(userID: "alice")
            let scenario = #"{"devices": [{"activationCode": "\#(registration.activationCode)"}]}"#
            let events = emulator.events()
            try await emulator.play(scenario: Data(scenario.utf8))
            #expect(try await emulator.device(registration.id).status == .pendingCommit)
            // It looks what there is to decide, in vain; only then does nothing but us change the state.
            for await event in events where event.kind == .virtualDevice {
                if try await emulator.device(registration.id).failure != nil { break }
            }
            // Its code is used up.
            let state = try await emulator.exported()
            let again = try await emulator.send("POST", "/_emulator/scenario", body: scenario)
            #expect(again.status == 409)
            let message = try JSONValue(parsing: Array(again.body))["responseObject"]?["message"]?.string
            #expect(message?.hasPrefix("line 1: 'devices[0]': The device could not be activated: 400 ") == true)
            #expect(try await emulator.exported() == state)
            try await emulator.cloud.commitRegistration(registration.id)
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(await emulator.decision(on: operation.id)?.status == .approved)
        }
    }

    @Test func noMoreDevicesAreMadeThanThereIsRoomFor() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.capacity.devices = 2 }) { emulator in
            try await emulator.makeDevice(userID: "alice")
            let scenario = "{\"devices\": [{\"userId\": \"eve\"},\n{\"userId\": \"eve\"}]}"
            let refused = try await emulator.send("POST", "/_emulator/scenario", body: scenario)
            #expect(refused.status == 507)
            let message = try JSONValue(parsing: Array(refused.body))["responseObject"]?["message"]?.string
            #expect(message == "line 2: 'devices[1]': There is no room for more virtual devices (2); remove some")
            #expect(await emulator.activations().map(\.userID) == ["alice"])
            // A refused scenario takes no room.
            try await emulator.play(scenario: Data(#"{"devices": [{"userId": "bob"}]}"#.utf8))
            #expect(await emulator.devices().map(\.userID) == ["bob", "alice"])
        }
    }

    @Test func whatThereIsNoRoomForIsRefusedAsAWhole() async throws {
        var configuration = Emulator.Configuration()
        configuration.capacity.operations = 1
        configuration.capacity.faultRules = 1
        try await withEmulator(configuration) { emulator in
            for (scenario, place) in [
                ("{\"operations\": [{\"template\": \"login\"},\n{\"template\": \"login\"}]}", "operations[1]"),
                (
                    "{\"operations\": [{\"template\": \"login\"}], \"faults\": [{\"effect\": {\"delay\": 1}},\n{\"effect\": {\"delay\": 1}}]}",
                    "faults[1]"
                ),
            ] {
                let refused = try await emulator.send("POST", "/_emulator/scenario", body: scenario)
                #expect(refused.status == 507)
                let message = try JSONValue(parsing: Array(refused.body))["responseObject"]?["message"]?.string
                #expect(message?.hasPrefix("line 2: '\(place)': There is") == true)
                #expect(await emulator.operations().isEmpty)
                #expect(await emulator.faults.rules.isEmpty)
            }
        }
    }
}
