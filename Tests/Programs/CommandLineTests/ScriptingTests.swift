import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// The promises to scripts: exit codes and errors that tell causes apart.
@Suite(.timeLimit(.minutes(5))) struct ScriptingTests {
    private struct Failure {
        let exitCode: Int32
        let error: JSONValue

        init(_ outcome: ChildProcess.Outcome) throws {
            self.exitCode = outcome.exitCode
            self.error = try #require(try JSONValue(parsing: outcome.errors)["error"], "\(outcome.errors)")
            #expect(outcome.output.isEmpty)
            #expect(self.error["exitCode"] == .number(JSONNumber(outcome.exitCode)))
        }

        var code: String? { self.error["code"]?.string }
    }

    @Test func causesAreToldApart() async throws {
        try await withActivatedProgram { emulator, home, id in
            func failure(_ words: String..., input: String = "1234\n") async throws -> Failure {
                let program = try Program.start(words + ["--json"], home: home.url)
                program.write(input)
                return try Failure(await program.outcome())
            }
            let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
            let wrong = try await failure("approve", payment.id, "--password-stdin", input: "9999\n")
            #expect(wrong.exitCode == 7 && wrong.code == "authenticationFailed")
            #expect(wrong.error["httpStatus"] == 401)
            #expect(wrong.error["remainingAttempts"] == 4)
            #expect(wrong.error["retryAfterSeconds"] == .null)

            #expect(try await failure("show", UUID().uuidString).code == "notFound")
            #expect(try await failure("shwo").exitCode == 2)

            try await emulator.cloud.cancelOperation(payment.id)
            let over = try await failure("approve", payment.id, "--password-stdin")
            #expect(over.exitCode == 6 && over.error["serverCode"]?.string?.hasPrefix("OPERATION_") == true)

            await emulator.faults.set([FaultRule(match: .init(path: "/api/**"), effect: .unavailable(retryAfter: 17))])
            let busy = try await failure("list")
            #expect(busy.exitCode == 3 && busy.error["retryAfterSeconds"] == 17)
            #expect(busy.error["httpStatus"] == 503)
            await emulator.faults.removeAll()

            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.blockActivation(id)
            #expect(try await failure("approve", login.id, "--password-stdin").exitCode == 8)
            try await emulator.unblockActivation(id)

            try await emulator.removeActivation(id)
            let status = try await Program.run("status", "--json", home: home.url)
            #expect(status.exitCode == 9)
            #expect(try JSONValue(parsing: status.output)["state"]?.string == "removed")
            for words in [
                ["list"], ["history", "--password-stdin"], ["inbox", "list"], ["wait"], ["wait-for-commit"],
            ] {
                let removed = try Failure(try await Program.run(words + ["--json"], home: home.url, input: "1234\n"))
                #expect(removed.exitCode == 9 && removed.code == "activationRemoved", "\(words): \(removed.error)")
            }
        }
        let home = try TemporaryFolder()
        let unreachable = try await Program.run(
            ["activate", "FAKE", "--url", "http://127.0.0.1:1", "--sdk-configuration", "x", "--json"],
            home: home.url
        )
        #expect(try Failure(unreachable).exitCode == 2)
    }

    @Test func attributesAreShownInFull() async throws {
        try await withActivatedProgram { emulator, home in
            let payment = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "1234.50"]
            )
            let show = try await Program.run("show", payment.id, "--json", home: home.url)
            let document = try JSONValue(parsing: show.output)
            let amount = try #require(document["attributes"]?.array?.first { $0["type"]?.string == "AMOUNT" })
            #expect(amount["amount"] == .number(try #require(JSONNumber(literal: "1234.50"))))
            #expect(amount["currency"]?.string == "CZK")
            #expect(amount["id"]?.string?.isEmpty == false && amount["label"]?.string == "Amount")
            #expect(document["factors"]?.array?.contains(.string("possession_knowledge")) == true)
        }
    }

    @Test func anOperationIsNamedByHowItBegins() async throws {
        try await withActivatedProgram { emulator, home in
            let ids = try await withThrowingTaskGroup { group in
                for _ in 0..<17 {
                    group.addTask { try await emulator.cloud.createOperation("login", userID: "alice").id }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            // Of seventeen, two begin with the same hexadecimal digit.
            let first = try #require(
                Dictionary(grouping: ids) { $0.prefix(1) }.first { $0.value.count > 1 }?.key
            )
            let ambiguous = try await Program.run("show", String(first), home: home.url)
            #expect(
                ambiguous.exitCode == 2 && ambiguous.errors.contains("operations begin with"),
                "\(ambiguous.errors)"
            )
            let show = try await Program.run("show", String(ids[0].prefix(13)), "--json", home: home.url)
            #expect(try JSONValue(parsing: show.output)["id"]?.string == ids[0])
            #expect(try await Program.run("show", "no-such", home: home.url).exitCode == 4)
            let reject = try await Program.run("reject", String(ids[1].prefix(13)), home: home.url)
            #expect(reject.exitCode == 0, "\(reject.errors)")
            #expect(try await emulator.cloud.operation(ids[1]).status == .rejected)
        }
    }

    @Test func aListThatIsFullIsCalledSo() async throws {
        try await withActivatedProgram { emulator, home in
            for _ in 0..<99 { _ = try await emulator.cloud.createOperation("login", userID: "alice") }
            #expect(try await Program.run("list", "--json", home: home.url).errors.isEmpty)
            _ = try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await Program.run("list", home: home.url).errors.contains("lists 100 operations at most"))
        }
    }

    /// It asks for a token first: each of the two requests is in time, and both together are not.
    @Test func theLimitIsThatOfTheWholeList() async throws {
        try await withActivatedProgram { emulator, home in
            await emulator.faults.add(FaultRule(match: .init(path: "/**"), effect: .init(delay: 1.5)))
            let list = try await Program.run("list", "--timeout", "2", home: home.url)
            #expect(list.exitCode == 3, "\(list.output)")
            #expect(list.errors == "mobile-token: timeout: There was no answer within 2.0 seconds\n")
        }
    }

    @Test(arguments: [(0o644, true), (0o640, false), (0o600, false)])
    func aPasswordFileThatOthersMayReadIsNamed(mode: Int, isNamed: Bool) async throws {
        try await withActivatedProgram { emulator, home in
            let file = home.file("password")
            try Data("1234\n".utf8).write(to: URL(filePath: file))
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            let history = try await Program.run("history", "--password-file", file, home: home.url)
            #expect(history.exitCode == 0)
            #expect(history.errors == (isNamed ? "mobile-token: others may use \(file), whose mode is 0644\n" : ""))
        }
    }

    @Test func aScriptWaits() async throws {
        try await withProgramAndServer { emulator, home in
            let registration = try await emulator.cloud.register(userID: "alice")
            let passwordFile = home.file("password")
            try Data("1234\n".utf8).write(to: URL(filePath: passwordFile))
            let environment = [
                "MOBILE_TOKEN_URL": emulator.baseURL, "MOBILE_TOKEN_SDK_CONFIGURATION": emulator.sdkConfiguration,
                "MOBILE_TOKEN_PASSWORD_FILE": passwordFile,
            ]
            let activate = try await Program.run(
                "activate",
                registration.activationQRCode,
                home: home.url,
                environment: environment
            )
            #expect(activate.exitCode == 0, "\(activate.errors)")
            let early = try await Program.run("wait-for-commit", "--within", "0.1", home: home.url)
            #expect(early.exitCode == 10, "\(early.errors)")
            let waiting = try Program.start(["wait-for-commit"], home: home.url)
            try await emulator.cloud.commitRegistration(registration.id)
            #expect(await waiting.outcome().exitCode == 0)

            #expect(try await Program.run("wait", "--within", "0.1", home: home.url).exitCode == 10)
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            let listed = try await Program.run("wait", "--json", home: home.url)
            #expect(try JSONValue(parsing: listed.output).array?.first?["id"]?.string == login.id)
            let deciding = try Program.start(["wait", login.id, "--interval", "5", "--json"], home: home.url)
            let reject = try await Program.run("reject", login.id, home: home.url)
            #expect(reject.exitCode == 0, "\(reject.errors)")
            let decided = await deciding.outcome()
            #expect(decided.exitCode == 0, "\(decided.errors)")
            #expect(try JSONValue(parsing: decided.output)["id"]?.string == login.id)
        }
    }
}
