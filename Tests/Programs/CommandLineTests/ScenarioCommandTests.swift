import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// Scenarios and templates from files, and the log of requests.
@Suite(.timeLimit(.minutes(5))) struct ScenarioCommandTests {
    private static let scenario = """
        {"clock": {"mode": "manual"},
         "registrations": [{"userId": "alice"}], "devices": [{"userId": "bob", "rule": {"decision": "never"}}],
         "operations": [{"userId": "alice", "template": "login"}]}
        """

    @Test func aScenarioIsPlayedOrRefusedWithItsLine() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let file = folder.file("scenario.json")
            try Data(Self.scenario.utf8).write(to: URL(filePath: file))
            let played = try await DriverCommandTests.drive(emulator, "play", file)
            #expect(played.lines.map { $0.prefix { $0 != " " } } == ["registration", "device", "operation"])
            #expect(await emulator.operations().count == 1)
            let made = try JSONValue(parsing: await DriverCommandTests.drive(emulator, "play", file, "--json").output)
            #expect(made["registrations"]?[0]?["activationCode"]?.string?.isEmpty == false)

            let wrong = Self.scenario.replacing("operations", with: "opertions")
            try Data(wrong.utf8).write(to: URL(filePath: file))
            let refused = try await DriverCommandTests.drive(emulator, "play", file, expecting: 1)
            #expect(refused.errors.contains("line 3: 'opertions' is not known here; did you mean 'operations'?"))
            #expect(await emulator.activations().count == 4)
        }
    }

    @Test func aServerStartsWithAScenarioAndTemplatesOrNotAtAll() async throws {
        let folder = try TemporaryFolder()
        let (scenario, template) = (folder.file("scenario"), folder.file("order.json"))
        let order = """
            {"name": "order", "data": "A1", "allowedSignatureType": {"type": "1FA", "variants": ["possession"]},
             "formData": {"title": "T", "message": "M"}}
            """
        try Data(order.utf8).write(to: URL(filePath: template))
        try Data(Self.scenario.replacing("login", with: "order").utf8).write(to: URL(filePath: scenario))
        let words = ["emulator", "--json", "--scenario", scenario, "--look-ahead", "64", "--templates"]
        let server = try Program.start(words + [folder.path], home: folder.url)
        _ = try #require(await server.nextLine())
        let made = try JSONValue(parsing: try #require(await server.nextLine()))
        #expect(made["operations"]?[0]?["template"] == "order")
        server.send(signal: SIGTERM)
        let ended = await server.outcome()
        #expect(ended.exitCode == 0)

        // Without the template there is no such operation, and no server.
        let refused = try await Program.run(["emulator", "--scenario", scenario], home: folder.url)
        #expect(
            refused.exitCode == 1
                && refused.errors.contains("line 3: 'operations[0]': 'template' names no template: there is no 'order'")
        )
        try Data("{".utf8).write(to: URL(filePath: template))
        let broken = try await Program.run(words + [template], home: folder.url)
        #expect(broken.exitCode == 1 && broken.errors.contains("\(template): line 1: "))
        for words in [["--look-ahead", "65"], ["--look-ahead", "0"], ["--scenario", folder.file("missing")]] {
            #expect(try await Program.run(["emulator"] + words, home: folder.url).exitCode == 2)
        }
    }

    @Test func templatesAreAddedShownAndRemoved() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let file = folder.file("order.json")
            let order = """
                {"name":"order","data":"A1","allowedSignatureType":{"type":"1FA","variants":["possession"]},\
                "formData":{"title":"T ${x}","message":"M"}}
                """
            try Data(order.utf8).write(to: URL(filePath: file))
            #expect(try await DriverCommandTests.drive(emulator, "template", file).output == "Added order.\n")
            #expect(try await DriverCommandTests.drive(emulator, "templates", "order").output == order + "\n")
            let row = try await DriverCommandTests.drive(emulator, "templates").lines.first { $0.hasPrefix("order ") }
            #expect(row?.contains("  T ${x}  ") == true && row?.hasSuffix("  x") == true)
            try Data(order.replacing("\"data\"", with: "\n\"dta\"").utf8).write(to: URL(filePath: file))
            let wrong = try await DriverCommandTests.drive(emulator, "template", file, expecting: 1)
            #expect(wrong.errors.contains("line 2: 'dta' is not known here; did you mean 'data'?"))
            let removed = try await DriverCommandTests.drive(emulator, "template", "--remove", "order")
            #expect(removed.output == "Removed order.\n")
            try await DriverCommandTests.drive(emulator, "template", "--remove", "order", expecting: 4)
            try await DriverCommandTests.drive(emulator, "templates", "order", expecting: 4)
            try await DriverCommandTests.drive(emulator, "template", expecting: 2)
            try await DriverCommandTests.drive(emulator, "template", file, "--remove", "order", expecting: 2)
        }
    }

    @Test(arguments: [[], ["--json"]]) func theLogHasALineForEachRequest(_ options: [String]) async throws {
        let home = try TemporaryFolder()
        let program = try ChildProcess.besideTests("mobile-token")
        let script = "'\(program)' emulator register alice >&2; '\(program)' emulator commit x 2>/dev/null; true"
        let words = ["emulator", "exec", "--log"] + options + ["--", "sh", "-c", script]
        let outcome = try await Program.run(words, home: home.url)
        #expect(outcome.exitCode == 0 && outcome.output.isEmpty)
        let lines = outcome.errors.split(separator: "\n").filter { $0.contains("/_emulator/cloud/registrations") }
        try #require(lines.count == 2, "\(outcome.errors)")
        if options.isEmpty {
            #expect(lines[0].hasPrefix("POST /_emulator/cloud/registrations  200  ") && lines[0].hasSuffix(" ms"))
            #expect(
                lines[1].hasPrefix("POST /_emulator/cloud/registrations/x/commit  400  ERROR_REGISTRATION_NOT_FOUND  ")
            )
        } else {
            let refused = try JSONValue(parsing: String(lines[1]))
            #expect(refused["status"] == 400 && refused["code"] == "ERROR_REGISTRATION_NOT_FOUND")
            #expect(refused["activationId"] == .null && refused["milliseconds"]?.number != nil)
        }
    }
}
