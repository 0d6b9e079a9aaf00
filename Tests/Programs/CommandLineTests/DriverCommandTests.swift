import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// `mobile-token emulator …` as scripts drive a server that runs.
@Suite(.timeLimit(.minutes(5))) struct DriverCommandTests {
    /// Runs `mobile-token emulator` with `words` against a server, which the environment names.
    @discardableResult
    static func drive(
        _ emulator: Emulator,
        _ words: String...,
        expecting exitCode: Int32 = 0
    ) async throws -> ChildProcess.Outcome { try await Self.drive(emulator, words, expecting: exitCode) }

    @discardableResult
    static func drive(
        _ emulator: Emulator,
        _ words: [String],
        expecting exitCode: Int32 = 0
    ) async throws -> ChildProcess.Outcome {
        let home = try TemporaryFolder()
        let server = Self.environment(emulator)
        let outcome = try await Program.run(["emulator"] + words, home: home.url, environment: server)
        #expect(outcome.exitCode == exitCode, "\(words): \(outcome.errors)")
        return outcome
    }

    static func environment(_ emulator: Emulator) -> [String: String] {
        ["MOBILE_TOKEN_URL": emulator.baseURL, "MOBILE_TOKEN_CLOUD_PASSWORD": emulator.cloudPassword]
    }

    private func json(_ outcome: ChildProcess.Outcome) throws -> JSONValue { try JSONValue(parsing: outcome.output) }

    @Test func theWholeLifeOfAnOperationIsDriven() async throws {
        try await withEmulator { emulator in
            let registered = try self.json(await Self.drive(emulator, "register", "alice", "--flag", "A", "--json"))
            let id = try #require(registered["registrationId"]?.string)
            let code = try #require(registered["activationQrCodeData"]?.string)
            let home = try TemporaryFolder()
            let words = ["activate", code, "--sdk-configuration", emulator.sdkConfiguration, "--password-stdin"]
            let server = Self.environment(emulator)
            #expect(try await Program.run(words, home: home.url, input: "1234\n", environment: server).exitCode == 0)
            #expect(try await Self.drive(emulator, "commit", id).output == "\(id)  ACTIVE\n")
            #expect(await emulator.activations().first?.status == .active)

            let options = ["--user", "alice", "--lifetime", "60", "--external-id", "E", "--json"]
            let created = ["create", "payment", "amount=12.50", "note=a=b"] + options
            let operation = try self.json(await Self.drive(emulator, created))
            #expect(operation["status"] == "PENDING" && operation["userId"] == "alice")
            #expect(operation["parameters"]?["amount"] == "12.50" && operation["parameters"]?["note"] == "a=b")
            #expect(operation["externalId"] == "E")
            let operationID = try #require(operation["operationId"]?.string)

            let misspelt = try await Self.drive(emulator, "create", "payment", "amout=5", expecting: 1)
            #expect(misspelt.errors.contains("'parameters.amout' is no parameter of 'payment'; did you mean 'amount'?"))

            #expect(try await Self.drive(emulator, "block", id).output == "\(id)  BLOCKED\n")
            #expect(try await Self.drive(emulator, "unblock", id).output == "\(id)  ACTIVE\n")
            let canceled = try await Self.drive(emulator, "cancel", operationID, "--reason", "TEST")
            #expect(canceled.output == "\(operationID)  CANCELED\n")
            #expect(try await emulator.cloud.operation(operationID).statusReason == "TEST")
            // It is over, and the other one there is not.
            let again = try await Self.drive(emulator, "cancel", operationID, "--json", expecting: 6)
            let error = try JSONValue(parsing: again.errors)["error"]
            #expect(error?["serverCode"] == "ERROR_OPERATION_STATE_CHANGE" && error?["httpStatus"] == 400)
            try await Self.drive(emulator, "operation", "expire", operationID, expecting: 6)
            try await Self.drive(emulator, "cancel", "../nothing", expecting: 4)
            try await Self.drive(emulator, "commit", "nothing", expecting: 4)
            try await Self.drive(emulator, "block", "nothing", expecting: 4)

            let journal = try await Self.drive(emulator, "journal", "--limit", "1")
            #expect(journal.lines.count == 1 && journal.output.contains("POST /v2/registrations/nothing/commit  400"))
            let since = try await Self.drive(emulator, "journal", "--since", "1", "--json")
            let first = try JSONValue(parsing: try #require(since.lines.first))
            #expect(first["id"] == 2 && first["method"] == "POST")
            let refused = try await Self.drive(emulator, "journal", "--status", "4xx", "--path", "/v2/registrations/**")
            #expect(refused.lines.count == 1 && refused.output == journal.output)
            let count = try await Self.drive(
                emulator,
                ["journal", "--count", "--verdict", "refused", "--method", "DELETE"]
            )
            #expect(count.output == "2\n")
            try await Self.drive(emulator, "journal", "--count", "--limit", "1", expecting: 2)
            #expect(try await Self.drive(emulator, "settle").output == "Settled.\n")
            #expect(
                try await Self.drive(emulator, "settle", "--within", "0", "--json").output == #"{"later":[]}"# + "\n"
            )
            let long = try await Self.drive(emulator, "settle", "--within", "61", expecting: 1)
            #expect(long.errors.contains("'within' is not 0.0 to 60.0"))
            let vague = try await Self.drive(emulator, "journal", "--verdict", "no", expecting: 1)
            #expect(vague.errors.contains("'verdict' is none of accepted, refused"))
            try await Self.drive(emulator, "reset")
            #expect(await emulator.operations().isEmpty)
        }
    }

    @Test func aFormOfOnesOwnIsCreated() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let form = folder.file("form.json")
            try Data(#"{"title": "T", "message": "M", "attributes": []}"#.utf8).write(to: URL(filePath: form))
            try await Self.drive(emulator, "create", "--form", form, "--name", "signing", "--data", "A1*I12")
            let operation = try #require(await emulator.operations().first)
            #expect(operation.name == "signing" && operation.title == "T" && operation.data == "A1*I12")
            try Data("{".utf8).write(to: URL(filePath: form))
            for words in [
                ["create"], ["create", "--form", form],
                ["create", "login", "--form", form, "--name", "x", "--data", "A1"],
                ["create", "--form", form, "--name", "x", "--data", "A1"], ["create", "login", "x"],
                ["create", "login", "=x"], ["create", "login", "--data", "A1"], ["create", "login", "--lifetime", "0"],
            ] {
                try await Self.drive(emulator, words, expecting: 2)
            }
            let unknown = try await Self.drive(emulator, "create", "paymnt", expecting: 1)
            #expect(unknown.errors.contains("there is no 'paymnt'; did you mean 'payment'?"))
            #expect(await emulator.operations().count == 1)
        }
    }

    @Test func timeAndFaultsAreSet() async throws {
        try await withEmulator { emulator in
            let frozen = try await Self.drive(emulator, "clock", "--freeze", "--now", "2026-03-01T08:00:00Z")
            #expect(frozen.output == "2026-03-01T08:00:00.000Z  manual\n")
            let moved = try await Self.drive(emulator, "clock", "--advance", "-1.5", "--json")
            #expect(moved.output == #"{"now":"2026-03-01T07:59:58.500Z","mode":"manual"}"# + "\n")
            #expect(try await Self.drive(emulator, "clock").output == "2026-03-01T07:59:58.500Z  manual\n")
            try await Self.drive(emulator, "clock", "--freeze", "--resume", expecting: 2)
            try await Self.drive(emulator, "clock", "--advance", "soon", expecting: 2)
            let refused = try await Self.drive(emulator, "clock", "--now", "noon", expecting: 1)
            #expect(refused.errors.contains("'now' is not an ISO 8601 date"))
            #expect(await emulator.clock.isManual)
            try await Self.drive(emulator, "clock", "--resume")
            #expect(await emulator.clock.isManual == false)

            #expect(try await Self.drive(emulator, "fault").output == "No faults.\n")
            try await Self.drive(
                emulator,
                ["fault", "--name", "busy", "--path", "/v2/**", "--nth", "2", "--status", "503", "--retry-after", "3"]
            )
            let rule = FaultRule(
                name: "busy",
                match: .init(path: "/v2/**", nth: 2),
                effect: .init(status: 503, retryAfter: 3)
            )
            #expect(await emulator.faults.rules == [rule])
            #expect(try await Self.drive(emulator, "fault").output.contains(#"{"path":"/v2/**","nth":2}"#))
            #expect(try await Self.drive(emulator, "fault").lines.count == 1)
            #expect(try await Self.drive(emulator, "fault").output.hasSuffix("  matched 0, struck 0, waiting 0\n"))
            for words in [
                ["--name", "x"], ["--path", "/x"], ["--clear", "--status", "500"], ["--nth", "x", "--status", "1"],
            ] {
                try await Self.drive(emulator, ["fault"] + words, expecting: 2)
            }
            let outside = try await Self.drive(emulator, "fault", "--status", "700", expecting: 1)
            #expect(outside.errors.contains("'effect.status' is not 200 to 599"))
            #expect(await emulator.faults.rules == [rule])
            try await Self.drive(emulator, "fault", "--clear", "--name", "none", expecting: 4)
            try await Self.drive(emulator, "fault", "--clear")
            #expect(await emulator.faults.rules.isEmpty)
            try await Self.drive(emulator, "fault", "--delay", "0.3", "--jitter", "1")
            #expect(await emulator.faults.rules == [FaultRule(effect: .init(delay: 0.3, jitter: 1))])
        }
    }

    @Test func theStateGoesToAFileAndComesBack() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let file = folder.file("state.json")
            try await Self.drive(emulator, "register", "alice")
            try await Self.drive(emulator, "export", file)
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            #expect(try await Self.drive(emulator, "export").output.contains("\"state\""))
            try await Self.drive(emulator, "register", "bob")
            try await Self.drive(emulator, "import", file)
            #expect(await emulator.activations().map(\.userID) == ["alice"])
            try Data("{}".utf8).write(to: URL(filePath: folder.file("wrong")))
            try await Self.drive(emulator, "import", folder.file("wrong"), expecting: 1)
            try await Self.drive(emulator, "import", folder.file("missing"), expecting: 2)
            #expect(await emulator.activations().count == 1)
        }
    }

    @Test func secretsNeedThePasswordFromTheVariableOrAFile() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let (right, wrong) = (folder.file("right"), folder.file("wrong"))
            try Data((emulator.cloudPassword + "\nmore").utf8).write(to: URL(filePath: right))
            try Data("wrong".utf8).write(to: URL(filePath: wrong))
            func export(_ words: String...) async throws -> Int32 {
                let words = ["emulator", "export", "--url", emulator.cloudURL + "/"] + words
                return try await Program.run(words, home: folder.url).exitCode
            }
            #expect(try await export() == 7)
            #expect(try await export("--cloud-password-file", wrong) == 7)
            #expect(try await export("--cloud-password-file", folder.file("missing")) == 2)
            #expect(try await export("--cloud-password-file", right, "--cloud-user", "else") == 7)
            #expect(try await export("--cloud-password-file", right) == 0)
        }
    }

    @Test func whereThereIsNoServerOrNoTrustNothingIsSent() async throws {
        let home = try TemporaryFolder()
        func reset(_ words: String...) async throws -> ChildProcess.Outcome {
            try await Program.run(["emulator", "reset"] + words, home: home.url)
        }
        #expect(try await reset().errors.contains("--url is missing"))
        #expect(try await reset("--url", "http://127.0.0.1:1").exitCode == 3)
        for url in ["http://192.0.2.1", "ftp://127.0.0.1", "http://a:b@127.0.0.1", "http://127.0.0.1/?x=1", "nothing"] {
            #expect(try await reset("--url", url).exitCode == 2, "\(url)")
        }
        let pin = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        #expect(try await reset("--url", "http://127.0.0.1:1", "--pin", pin).exitCode == 2)
    }

    @Test func aServerWithTLSIsDrivenByWhatExecTells() async throws {
        let home = try TemporaryFolder()
        let program = try ChildProcess.besideTests("mobile-token")
        let script = "'\(program)' emulator register alice && '\(program)' emulator export | grep -q alice"
        let words = ["emulator", "exec", "--tls", "--", "sh", "-c", script]
        let outcome = try await Program.run(words, home: home.url)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
    }

    @Test func theJournalIsFollowedOverARestart() async throws {
        let home = try TemporaryFolder()
        var configuration = Emulator.Configuration()
        let first = try await Emulator.start(configuration: configuration)
        try await first.cloud.createOperation("login", userID: "before")
        configuration.port = first.port
        let words = ["emulator", "journal", "--follow", "--since", "0", "--json", "--url", first.baseURL]
        let program = try Program.start(words, home: home.url)
        func next() async throws -> JSONValue { try JSONValue(parsing: try #require(await program.nextLine())) }
        #expect(try await next()["body"]?.string?.contains("before") == true)
        try await first.cloud.createOperation("login", userID: "later")
        #expect(try await next()["body"]?.string?.contains("later") == true)
        await first.stop()
        #expect(await program.nextErrorLine()?.contains("trying again") == true)
        let second = try await Emulator.start(configuration: configuration)
        // As many as were told before: only the run tells them apart.
        for user in ["one", "two", "three"] { try await second.cloud.createOperation("login", userID: user) }
        for user in ["one", "two", "three"] { #expect(try await next()["body"]?.string?.contains(user) == true) }
        program.send(signal: SIGTERM)
        #expect(await program.outcome().exitCode == 130)
        await second.stop()
    }

    // MARK: - Help

    /// The other program has no list of these commands: it hands over whatever follows its own word.
    @Test func everyCommandOfTheServerIsOneOfTheOtherProgramToo() async throws {
        let home = try TemporaryFolder()
        let server = try await ChildProcess.run(ChildProcess.besideTests("mobile-token-emulator"), ["--help"])
        let page = server.output.split(separator: "\n\n").first { $0.hasPrefix("Commands:") }
        let rows = try #require(page).split(separator: "\n").dropFirst().map { $0.split(separator: "  ") }
        for row in rows {
            let words = try #require(row.first).split(separator: " ").map(String.init)
            let summary = row.last.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
            guard let first = words.first, !["help", "completion"].contains(first) else { continue }
            let shown = first == "demo" ? words : ["emulator"] + words
            let help = try await Program.run(shown + ["--help"], home: home.url)
            #expect(help.exitCode == 0 && help.output.contains(summary), "\(words): \(help.errors)")
        }
        #expect(rows.count > 50)
    }
}
