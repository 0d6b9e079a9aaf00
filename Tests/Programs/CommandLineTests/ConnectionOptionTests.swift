import ExactJSON
import Foundation
import MobileTokenEmulator
import TestSupport
import Testing

/// The way to the server: its two addresses, and a proxy.
@Suite(.timeLimit(.minutes(5))) struct ConnectionOptionTests {
    /// An address at which nothing listens.
    private static let nowhere = "http://127.0.0.1:1"

    private func run(
        _ words: [String],
        _ home: TemporaryFolder,
        _ environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        try await Program.run(words, home: home.url, input: "1234\n", environment: environment)
    }

    /// Activates with a server named by the environment, as a script does.
    private func activate(
        _ emulator: Emulator,
        _ home: TemporaryFolder,
        _ environment: [String: String],
        _ words: String...
    ) async throws {
        let registration = try await emulator.cloud.register(userID: "alice")
        let outcome = try await self.run(
            ["activate", registration.activationQRCode, "--password-stdin"] + words,
            home,
            environment.merging(["MOBILE_TOKEN_SDK_CONFIGURATION": emulator.sdkConfiguration]) { $1 }
        )
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        try await emulator.cloud.commitRegistration(registration.id)
    }

    private func listed(_ home: TemporaryFolder, _ member: String) async throws -> JSONValue? {
        let list = try await self.run(["profile", "list", "--json"], home)
        return try JSONValue(parsing: list.output).array?.first?[member]
    }

    /// Activation and status are asked of the one address, operations of the other.
    @Test func theProfileKeepsBothAddresses() async throws {
        try await withProgramAndServer { emulator, home in
            let addresses = [
                "MOBILE_TOKEN_URL": Self.nowhere, "MOBILE_TOKEN_POWERAUTH_URL": emulator.baseURL,
            ]
            try await self.activate(emulator, home, addresses)
            #expect(try await self.listed(home, "url")?.string == Self.nowhere)
            #expect(try await self.listed(home, "powerAuthUrl")?.string == emulator.baseURL)
            let elsewhere = ["MOBILE_TOKEN_URL": "http://127.0.0.1:2", "MOBILE_TOKEN_POWERAUTH_URL": Self.nowhere]
            let status = try await self.run(["status"], home, elsewhere)
            #expect(status.exitCode == 0, "\(status.errors)")
            #expect(try await self.run(["list"], home).exitCode == 3)
            #expect(try await self.run(["status", "--powerauth-url", Self.nowhere], home).exitCode == 3)

            let both = try await self.run(
                ["list", "--url", emulator.baseURL, "--powerauth-url", emulator.baseURL + "/"],
                home
            )
            #expect(both.exitCode == 0, "\(both.errors)")
            // A command that names another server has not named the other half, which the profile knows.
            #expect(try await self.run(["status", "--url", Self.nowhere], home).exitCode == 3)
        }
    }

    @Test func anAddressOfTheEnvironmentBelongsToTheURLOfTheEnvironment() async throws {
        try await withProgramAndServer { emulator, home in
            try await self.activate(
                emulator,
                home,
                ["MOBILE_TOKEN_POWERAUTH_URL": Self.nowhere],
                "--url",
                emulator.baseURL
            )
            #expect(try await self.listed(home, "powerAuthUrl") == .null)
        }
    }

    /// The development server knows requests as a proxy gets them, so here it is one: there is nothing at the address itself.
    @Test func theProfileKeepsTheProxy() async throws {
        try await withProgramAndServer { emulator, home in
            let proxy = try #require(URL(string: emulator.cloudURL)?.port).formatted(.number.grouping(.never))
            let proxyURL = "http://127.0.0.1:\(proxy)"
            try await self.activate(
                emulator,
                home,
                ["MOBILE_TOKEN_URL": Self.nowhere, "MOBILE_TOKEN_PROXY": proxyURL],
                "--insecure-http"
            )
            #expect(try await self.listed(home, "proxy")?.string == proxyURL)
            for (words, environment, exitCode) in [
                ([], [:], 0), ([], ["MOBILE_TOKEN_PROXY": "none", "http_proxy": Self.nowhere], 0),
                (["--proxy", "none"], ["http_proxy": proxyURL], 3), (["--proxy", Self.nowhere], [:], 3),
                (["--proxy", "environment"], ["http_proxy": proxyURL], 0), (["--proxy", "environment"], [:], 3),
            ] as [([String], [String: String], Int32)] {
                let list = try await self.run(["list"] + words, home, environment)
                #expect(list.exitCode == exitCode, "\(words) \(environment) \(list.errors)")
            }
        }
    }

    @Test(arguments: [
        (["--proxy", "http://alice:hunter2@proxy.example"], "--proxy environment"),
        (["--proxy", "proxy.example:3128"], "the proxy is no URL of http,"),
        (["--proxy", "ftp://proxy.example"], "the proxy is no URL of http,"),
        (["--proxy", ""], "the proxy is no URL of http,"),
        (["--proxy", "Environment"], "the proxy is no URL of http,"),
        (["--proxy", "http://proxy.example", "--powerauth-url", "http://127.0.0.1"], "--insecure-http"),
        (["--proxy", "environment", "--url", "HTTP://127.0.0.1:1"], "--insecure-http"),
        (["--powerauth-url", "http://bank.example"], "--powerauth-url: http to another machine"),
        (["--powerauth-url", "ftp://bank.example"], "--powerauth-url: the scheme must be"),
        (["--powerauth-url", "https://bank.example?hunter2"], "--powerauth-url: a query"),
        (["--powerauth-url", ""], "--powerauth-url:"),
        (["--url", "http://bank.example"], "on the way; use https, or --insecure-http"),
    ])
    func whatCannotBeMeantIsRefusedByName(words: [String], message: String) async throws {
        try await withProgramAndServer { emulator, home in
            let server = words.contains("--url") ? [] : ["--url", "https://127.0.0.1:1"]
            let outcome = try await self.run(
                ["status", "--sdk-configuration", emulator.sdkConfiguration] + server + words,
                home
            )
            #expect(outcome.exitCode == 2)
            #expect(outcome.errors.contains(message) && !outcome.errors.contains("hunter2"), "\(outcome.errors)")
        }
    }

    /// A reader of a program's messages has its options, and no Swift.
    @Test func noMessageNamesAParameterOfTheLibrary() async throws {
        try await withProgramAndServer { emulator, home in
            var options: [String: [String]] = [:]
            for command in try await self.commands(home) {
                let help = try await self.run(command + ["--help"], home).output
                let usage = help.split(separator: "\n").first { $0.hasPrefix("Usage:") } ?? ""
                let operands = usage.split(separator: " ").filter { $0.allSatisfy(\.isUppercase) }.map { _ in "x" }
                for option in help.matches(of: #/\n +(--[a-z-]+) [A-Z]/#).map({ String($0.1) }) {
                    options[option] = options[option] ?? command + operands
                }
            }
            #expect(options.count > 40)
            let right = ["--url": "https://127.0.0.1:1", "--sdk-configuration": emulator.sdkConfiguration]
            for (option, command) in options {
                for value in ["", "/dev/null/a b", "http://bank.example", String(repeating: "a", count: 300)] {
                    let others = right.filter { $0.key != option && command.first != "ask" }.flatMap {
                        [$0.key, $0.value]
                    }
                    let outcome = try await self.run(command + others + ["\(option)=\(value)", "--json"], home)
                    let message =
                        (try? JSONValue(parsing: outcome.errors))?["error"]?["message"]?.string ?? outcome.errors
                    #expect(
                        message.firstMatch(of: #/\b[a-z]+[A-Z]\w+/#) == nil,
                        "\(command) \(option)=\(value): \(message)"
                    )
                }
            }
        }
    }

    /// The commands of the program's own table: those that other programs run are theirs.
    private func commands(_ home: TemporaryFolder, below path: [String] = []) async throws -> [[String]] {
        let words = try await self.run(["completion", "words", "--"] + path + [""], home).output
            .split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        var commands = [path]
        for word in words where path.count < 2 && !["emulator", "demo", "store", "fleet", "completion"].contains(word) {
            commands += try await self.commands(home, below: path + [word])
        }
        return commands.filter { !$0.isEmpty }
    }
}
