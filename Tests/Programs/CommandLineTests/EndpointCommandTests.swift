import ExactJSON
import Foundation
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// Commands that follow from the descriptions of the control API: for devices, spaces, callbacks, messages, pushes.
@Suite(.timeLimit(.minutes(5))) struct EndpointCommandTests {
    private func json(_ emulator: Emulator, _ words: String...) async throws -> JSONValue {
        try await self.json(emulator, words)
    }

    private func json(_ emulator: Emulator, _ words: [String]) async throws -> JSONValue {
        try JSONValue(parsing: await DriverCommandTests.drive(emulator, words + ["--json"]).output)
    }

    @Test func devicesAreDriven() async throws {
        try await withEmulator { emulator in
            let device = try await self.json(
                emulator,
                [
                    "device", "create", "--user-id", "alice", "--version", "4.0", "--push", "fcm", "--rule-decision",
                    "reject", "--rule-after", "3600", "--rule-reason", "X",
                ]
            )
            #expect(device["rule"]?["decision"] == "reject" && device["rule"]?["after"] == 3600)
            let id = try #require(device["id"]?.string)
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            let decided = try await self.json(
                emulator,
                ["device", "decisions", id, "--operation-id", operation, "--decision", "approve"]
            )
            #expect(decided["tasks"]?.array?.last?["state"] == "done")
            #expect(try await emulator.cloud.operation(operation).status == .approved)
            #expect(
                try await self.json(emulator, "device", "rule", id, "--decision", "never")["rule"]?["decision"]
                    == "never"
            )
            let pushes = try await self.json(emulator, "push", "list", "--activation-id", id, "--limit", "1")
            #expect(pushes["items"]?.array?.count == 1)
            let message = try await self.json(
                emulator,
                [
                    "message", "create", "--user-id", "alice", "--subject", "S", "--summary", "T", "--body", "B",
                    "--type", "text",
                ]
            )
            #expect(message["id"]?.string != nil, "\(message)")
            let inbox = try await self.json(emulator, "device", "inbox", id)
            let messageID = try #require(inbox["messages"]?.array?.first?["id"]?.string)
            #expect(inbox["unread"] == 1)
            #expect(try await self.json(emulator, "device", "inbox-read", id, messageID)["body"] == "B")
            let shown = try await DriverCommandTests.drive(emulator, "device", "list")
            #expect(shown.output.hasPrefix("\(id)  virtual device  4.0  "), "\(shown.output)")
            try await DriverCommandTests.drive(emulator, "device", "remove", id)
            #expect(try await DriverCommandTests.drive(emulator, "device", "list").output == "There are none.\n")
            let gone = try await DriverCommandTests.drive(emulator, "device", "show", id, expecting: 4)
            #expect(gone.errors.contains("device \(id)"), "\(gone.errors)")
        }
    }

    @Test func spacesAndCallbacksAreDriven() async throws {
        try await withEmulator { emulator in
            let callback = try await self.json(
                emulator,
                [
                    "callback", "create", "--name", "bank", "--type", "OPERATION", "--callback-url",
                    "http://127.0.0.1:1/", "--attributes", "status,userId", "--max-attempts", "3",
                ]
            )
            #expect(callback["maxAttempts"] == 3 && callback["attributes"] == ["status", "userId"])
            let id = try #require(callback["callbackId"]?.string)
            for isPaused in ["true", "false"] {
                let pause = try await self.json(emulator, "callback", "pause", id, "--is-paused", isPaused)
                #expect(pause == ["isPaused": .bool(isPaused == "true")])
                let listed = try await self.json(emulator, "callback", "list")
                #expect(listed["items"]?.array?.map { $0["isPaused"] } == [.bool(isPaused == "true")])
            }
            let help = try await DriverCommandTests.drive(emulator, "callback", "replace", "--help")
            #expect(help.output.contains("Replace a callback"), "\(help.output)")
            try await DriverCommandTests.drive(emulator, "callback", "remove", id)
            #expect(try await self.json(emulator, "callback", "list") == ["items": []])

            let folder = try TemporaryFolder()
            try Data(#"{"devices": [{"userId": "bob"}]}"#.utf8).write(to: URL(filePath: folder.file("scenario.json")))
            let space = try await self.json(
                emulator,
                ["space", "create", "--name", "one", "--from-scenario", "@" + folder.file("scenario.json")]
            )
            #expect(space["name"] == "one", "\(space)")
            #expect(emulator.spaces().count == 1)
            try await DriverCommandTests.drive(emulator, "space", "remove-all")
            #expect(emulator.spaces().isEmpty)
        }
    }

    /// A list that is empty, or not the one that is asked for, is no reason to say that there is nothing.
    @Test func whatIsShownIsWhatThereIs() async throws {
        try await withEmulator { emulator in
            func lines(_ words: String...) async throws -> [String] {
                try await DriverCommandTests.drive(emulator, words).output.split(separator: "\n").map(String.init)
            }
            #expect(try await lines("protocol", "show").contains("minimumVersion  3"))
            #expect(try await lines("protocol", "set", "--minimum-version", "3").contains("minimumVersion  3"))
            #expect(try await lines("callback", "list") == ["There are none."])
            let url = "http://127.0.0.1:1/"
            let words = ["callback", "create", "--name", "bank", "--type", "OPERATION", "--callback-url", url]
            let created = try await DriverCommandTests.drive(emulator, words).output
            #expect(created.contains("callbackUrl  \(url)") && created.contains("maxAttempts  1"), "\(created)")
            let listed = try await lines("callback", "list")
            #expect(listed.count == 1 && listed.first?.contains("  bank  ") == true, "\(listed)")
            // A device of version 3 has no suite, and its user stands in the same column.
            for version in ["3.3", "4.0"] { try await emulator.makeDevice(userID: "alice", version: version) }
            let columns = try await lines("device", "list").map { $0.components(separatedBy: "  ") }
            #expect(
                columns.map { $0.dropFirst(3).prefix(4).joined(separator: " ") } == [
                    "EC_P384 alice mobile-token ACTIVE", "- alice mobile-token ACTIVE",
                ]
            )
        }
    }

    @Test func theProtocolIsSetAndAUserSignsIn() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let address = authorization.authorizeURL
            let codes = try await self.json(
                emulator,
                ["oidc", "codes", "--user-id", "alice", "--authorize-url", address]
            )
            let callback = try #require(codes["callback"]?.string)
            _ = try await client.activate(oidc: authorization, callback: callback, password: "1234")
            #expect(try await self.json(emulator, "protocol", "show")["minimumVersion"] == 3)
            let words = ["--minimum-version", "4", "--allowed-suites", "EC_P384", "--documented-answers-only", "true"]
            let rules = try await self.json(emulator, ["protocol", "set"] + words)
            #expect(rules["minimumVersion"] == 4 && rules["allowedSuites"] == ["EC_P384"])
            #expect(await emulator.protocolRules().minimumVersion == 4)
            let shown = try await self.json(emulator, "protocol", "show")
            #expect(shown == rules && shown["documentedAnswersOnly"] == true)
        }
    }

    private static let mistakes: [(words: [String], message: String)] = [
        (["device"], "'device' is followed by one of: "), (["device", "crate"], "did you mean 'device create'?"),
        (["device", "create"], "needs either 'userId' or 'activationCode'"),
        (["device", "create", "--usr-id", "a"], "did you mean --user-id?"),
        (["device", "create", "--user-id", "a", "--rule-after", "x"], "'rule.after' is not a number"),
        (["device", "show"], "ID"), (["push", "list", "--limit", "0"], "'limit' is not 1 to 1000"),
        (["space", "create", "--from-scenario", "{"], "--from-scenario: "),
        (["space", "create", "--from-state", "@/none"], "cannot read '/none'"),
    ]

    @Test(arguments: Self.mistakes) func aMistakeIsNamed(words: [String], message: String) async throws {
        try await withEmulator { emulator in
            let home = try TemporaryFolder()
            let server = DriverCommandTests.environment(emulator)
            let outcome = try await Program.run(["emulator"] + words, home: home.url, environment: server)
            #expect(outcome.exitCode != 0 && outcome.errors.contains(message), "\(words): \(outcome.errors)")
            #expect(await emulator.devices() == [] && emulator.spaces().isEmpty)
        }
    }
}
