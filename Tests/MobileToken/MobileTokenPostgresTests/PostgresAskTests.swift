import ExactJSON
import Foundation
import MobileTokenTesting
import PostgresTestServer
import TestSupport
import Testing

/// `mobile-token-postgres ask`, whose ledger is in a database, over a server whose virtual devices decide.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PostgresAskTests {
    @Test func anApprovedCommandRunsOnceWithoutTheSecretsOfTheLedger() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "alice")
            let command = ["sh", "-c", "echo ran >>\(stage.log); env"]
            let first = try await stage.ask(["--report", stage.file("report")], command)
            #expect(first.exitCode == 0, "\(first.errors)")
            #expect(first.errors.contains("approved by alice; the command ended with 0"))
            for secret in ["MOBILE_TOKEN_DATABASE", "MOBILE_TOKEN_SEALING_KEY", "PGPASSWORD", "CLOUD_PASSWORD"] {
                #expect(!first.output.contains(secret))
            }
            #expect(first.output.contains("HOME="))
            let report = try JSONValue(parsing: String(contentsOfFile: stage.file("report"), encoding: .utf8))
            #expect(report["ran"]?.bool == true && report["performance"]?.string == "done")
            // Another machine, whose profile names the same ledger.
            #expect(try await stage.configure(home: "other").exitCode == 0)
            let again = try await stage.ask([], command, home: "other")
            #expect(again.exitCode == 84 && again.output.isEmpty, "\(again.errors)")
            #expect(stage.runs == 1)
            #expect(try await stage.run(["show", "q1"]).output.contains("q1  done"))
        }
    }

    @Test func twoProcessesWithOneRequestRunItOnce() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "alice", rule: .init(.never))
            let command = ["sh", "-c", "echo ran >>\(stage.log)"]
            #expect(try await stage.configure(home: "other").exitCode == 0)
            let first = try stage.start([], command)
            #expect(await first.nextErrorLine()?.contains("asked alice") == true)
            let second = try stage.start([], command, home: "other")
            #expect(await second.nextErrorLine()?.contains("asked alice") == true)
            let (device, operations) = (await stage.emulator.devices().first, await stage.emulator.operations())
            #expect(operations.count == 1)
            _ = try await stage.emulator.decide(
                #require(operations.first).id,
                .approve,
                byDevice: #require(device).id
            )
            let codes = [await first.outcome().exitCode, await second.outcome().exitCode]
            #expect(codes.sorted() == [0, 84])
            #expect(stage.runs == 1)
        }
    }

    @Test func whatIsNotWantedIsWithdrawnAndWhatIsUnknownIsSettled() async throws {
        try await AskStage.with { stage in
            try await stage.emulator.makeDevice(userID: "alice", rule: .init(.never))
            let asking = try stage.start(["--keep"], ["true"])
            _ = await asking.nextErrorLine()
            asking.send(signal: SIGTERM)
            #expect(await asking.outcome().exitCode == 130)
            let withdrawn = try await stage.run(["withdraw", "q1"])
            #expect(withdrawn.output == "The question is withdrawn.\n", "\(withdrawn.errors)")
            #expect(await stage.emulator.operations().map(\.status) == [.canceled])
            let settled = try await stage.run(["settle", "q1", "--done", "--by", "carol"])
            #expect(settled.exitCode != 0 && settled.exitCode != 5)
            let adopted = try await stage.run(["adopt-ledger"])
            #expect(adopted.output == "Adopted. Questions to settle: 0.\n", "\(adopted.errors)")
        }
    }

    @Test func aDatabaseThatIsAwayRunsNothing() async throws {
        let server = try await PostgresTestServer.start()
        try await AskStage.with(server) { stage in
            try await stage.emulator.makeDevice(userID: "alice", rule: .init(.never))
            try await server.stop()
            let outcome = try await stage.ask(["--json"], nil)
            #expect(outcome.exitCode == 5, "\(outcome.errors)")
            let failure = try JSONValue(parsing: outcome.errors)
            #expect(failure["error"]?["code"]?.string == "ledgerFailed")
            #expect(
                failure["error"]?["message"]?.string?.contains("PostgreSQL: unreachable") == true,
                "\(outcome.errors)"
            )
            #expect(await stage.emulator.operations().isEmpty)
            // The database goes away while people decide.
            try await server.start()
            let asking = try stage.start(["--report", stage.file("report")], ["sh", "-c", "echo ran >>\(stage.log)"])
            _ = await asking.nextErrorLine()
            try await server.stop()
            let end = await asking.outcome()
            #expect(end.exitCode == 5, "\(end.errors)")
            let report = try JSONValue(parsing: String(contentsOfFile: stage.file("report"), encoding: .utf8))
            #expect(report["ran"]?.bool == false && report["outcome"]?.string == "ledgerFailed")
            #expect(stage.runs == 0)
        }
    }

    @Test func aLedgerThatTheProgramCannotOpenIsNamed() async throws {
        try await AskStage.with { stage in
            let missing = try await stage.run(["show"], environment: ["MOBILE_TOKEN_DATABASE": nil])
            #expect(missing.exitCode == 2 && missing.errors.contains("--database is missing"), "\(missing.errors)")
            let unknown = try await stage.run(["configure", "--ledger", "mysql:db"])
            #expect(unknown.exitCode == 2 && unknown.errors.contains("sqlite:PATH or postgres:SCHEMA"))
            let key = "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="
            #expect(try await stage.run(["show"]).exitCode == 0)
            let other = try await stage.run(["show"], environment: ["MOBILE_TOKEN_SEALING_KEY": key])
            #expect(other.exitCode == 5 && other.errors.contains("sealed with another key"), "\(other.errors)")
            let ring = try await stage.run(
                ["show", "--earlier-sealing-key", "env:EARLIER"],
                environment: ["MOBILE_TOKEN_SEALING_KEY": key, "EARLIER": PostgresStoreFixture.encodedKey]
            )
            #expect(ring.exitCode == 0, "\(ring.errors)")
        }
    }

    @Test func theCommandsAreDescribed() async throws {
        let program = try ChildProcess.besideTests("mobile-token-postgres")
        for command in ["ask", "ask show", "ask settle", "ask withdraw", "ask adopt-ledger", "ask configure"] {
            let words = command.split(separator: " ").map(String.init)
            let help = try await ChildProcess.run(program, words + ["--help"])
            #expect(help.exitCode == 0 && help.output.contains("--profile NAME"))
            if command != "ask configure" { #expect(help.output.contains("--database STRING"), "\(command)") }
        }
        let manual = try await ChildProcess.run(program, ["help", "--man"])
        #expect(manual.output.contains("ask configure") && manual.output.contains("postgres:SCHEMA"))
        #expect(manual.output.contains("MOBILE_TOKEN_DATABASE") && manual.output.contains("MOBILE_TOKEN_CLOUD_USER"))
        let completion = try await ChildProcess.run(program, ["completion", "words", "--", "ask", "--no"])
        #expect(completion.output.contains("--no-tls"))
    }
}

/// A server with a template, a database, and a profile that asks with a ledger there.
private struct AskStage {
    let emulator: Emulator
    let nodes: PostgresStoreFixture

    static func with(_ server: PostgresTestServer? = nil, _ body: (Self) async throws -> Void) async throws {
        var configuration = Emulator.Configuration()
        configuration.templates = [
            """
            {"name": "deploy", "data": "A9*R${binding}",
             "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
             "formData": {"title": "Deploy", "message": "${fingerprint}", "attributes": []}}
            """
        ]
        try await withNodes(server) { nodes in
            try await withEmulator(configuration) { emulator in
                let stage = Self(emulator: emulator, nodes: nodes)
                let configured = try await stage.configure()
                #expect(configured.exitCode == 0, "\(configured.errors)")
                try await body(stage)
            }
        }
    }

    func file(_ name: String) -> String { self.nodes.folder.file(name) }
    var log: String { self.file("log") }
    /// The number of times that the command ran.
    var runs: Int {
        ((try? String(contentsOfFile: self.log, encoding: .utf8)) ?? "").split(separator: "\n").count
    }

    func configure(home: String = "home") async throws -> ChildProcess.Outcome {
        try await self.run(
            [
                "configure", "--audience", "test/staging", "--signs", "deploy=A9*R${binding}", "--ledger",
                "postgres:\(self.nodes.schema)",
            ],
            home: home
        )
    }

    func process(_ words: [String], home: String, environment: [String: String?] = [:]) throws -> ChildProcess {
        let own: [String: String?] = [
            "HOME": self.file(home), "PATH": "/usr/bin:/bin",
            // A socket of this machine: TLS is neither there nor needed.
            "MOBILE_TOKEN_DATABASE": self.nodes.server.connectionString(),
            "MOBILE_TOKEN_SEALING_KEY": PostgresStoreFixture.encodedKey, "PGPASSWORD": "unused",
            "MOBILE_TOKEN_CLOUD_URL": self.emulator.cloudURL,
            "MOBILE_TOKEN_CLOUD_USER": self.emulator.cloudUser,
            "MOBILE_TOKEN_CLOUD_PASSWORD": self.emulator.cloudPassword,
            "MOBILE_TOKEN_CA_FILE": self.emulator.certificate?.file ?? "",
        ]
        return try ChildProcess(
            ChildProcess.besideTests("mobile-token-postgres"),
            ["ask"] + words,
            environment: own.merging(environment) { $1 }.compactMapValues { $0 }
        )
    }

    func run(_ words: [String], home: String = "home", environment: [String: String?] = [:]) async throws
        -> ChildProcess.Outcome
    {
        try await self.process(words, home: home, environment: environment).outcome()
    }

    /// Asks alice for the question `q1`.
    func start(_ words: [String], _ command: [String]?, home: String = "home") throws -> ChildProcess {
        let words = ["--template", "deploy", "--user", "alice", "--id", "q1"] + words
        return try self.process(words + (command.map { ["--"] + $0 } ?? []), home: home)
    }

    func ask(_ words: [String], _ command: [String]?, home: String = "home") async throws -> ChildProcess.Outcome {
        try await self.start(words, command, home: home).outcome()
    }
}
