import Foundation
import PostgresTestServer
import TestSupport
import Testing

/// Runs the commands that a page shows as `sh`, and compares their output with the page. Commands that need another machine, or
/// more rights, are shown as `console`, and are not run.
@Suite(.timeLimit(.minutes(5))) struct DocumentedCommandsTests {
    private static let pages = "Sources/MobileToken/MobileToken/MobileToken.docc"

    /// All of a page's commands run in one shell, beside a development server and in a folder of their own.
    @Test(arguments: [
        ("\(Self.pages)/GettingStarted.md", 8),
        ("\(Self.pages)/Deployment.md", 3),
        ("\(Self.pages)/Operating.md", 5),
        ("\(Self.pages)/BackupAndUpgrade.md", 5),
        ("Sources/Emulator/MobileTokenEmulator/MobileTokenEmulator.docc/HTTPAPI.md", 10),
        ("Sources/Asking/MobileTokenApprovals/MobileTokenApprovals.docc/AskingFromAShell.md", 4),
    ])
    func everyCommandDoesWhatThePageSays(page: String, count: Int) async throws {
        let examples = try CommandExample.examples(in: page)
        #expect(examples.count >= count)
        try await self.check(examples)
    }

    /// Those that need a database, where one is installed.
    @Test(.enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
    func everyCommandWithADatabaseDoesWhatThePageSays() async throws {
        let page = "Sources/MobileToken/MobileTokenPostgres/MobileTokenPostgres.docc/Deploying.md"
        let server = try await PostgresTestServer.shared()
        let examples = try CommandExample.examples(in: page)
        #expect(examples.count >= 1)
        try await self.check(
            examples,
            environment: [
                "MOBILE_TOKEN_DATABASE": server.connectionString(),
                "MOBILE_TOKEN_SEALING_KEY": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
            ]
        )
    }

    private func check(_ examples: [CommandExample], environment: [String: String] = [:]) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await self.run(examples, in: folder, environment: environment)
        for (number, example) in examples.enumerated() {
            let printed = try? String(contentsOfFile: folder.file("printed.\(number)"), encoding: .utf8)
            guard outcome.exitCode == 0 || printed != nil else { break }
            if let expected = example.printed {
                let isAsExpected = printed.map { CommandExample.text($0, fits: expected) } ?? false
                #expect(isAsExpected, "\(example.commands)\n\nprinted:\n\(printed ?? "nothing")")
            }
            if outcome.exitCode != 0, !FileManager.default.fileExists(atPath: folder.file("printed.\(number + 1)")) {
                Issue.record("exit code \(outcome.exitCode):\n\(example.commands)\n\nprinted:\n\(printed ?? "nothing")")
            }
        }
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
    }

    /// Wherever commands are shown, run or not: the programs know each of them, with its options. What shells do with a line is a
    /// shell's to say, so one reads it, and finds nothing but what notes how it was called.
    @Test func everyCommandThatIsShownExists() async throws {
        let pages = try CommandExample.pages().filter { try !CommandExample.calls(in: $0).isEmpty }
        #expect(pages.count >= 12)
        var count = 0
        for page in pages {
            let calls = try await self.calls(of: CommandExample.calls(in: page))
            for call in calls {
                let words = Array(call.prefix { $0 != "--" })
                let program = try ChildProcess.besideTests(words[0])
                let help = try await ChildProcess.run(program, Array(words.dropFirst()) + ["--help"])
                let mistake = CommandExample.mistake(in: words, by: help.output)
                #expect(help.exitCode == 0 && mistake == nil, "\(page): \(words) \(mistake ?? help.errors)")
            }
            count += calls.count
        }
        #expect(count >= 65)
    }

    @Test func aCommandThatDoesNotExistIsNoticed() async throws {
        let calls = try await self.calls(of: [
            "mobile-token status --json | jq . # --not-this", "FOO=1 mobile-token emulator frob --json",
            "podman mobile-token",
            "mobile-token watch --exec 'a --b' --execute \"c d\"",
        ])
        #expect(
            calls.sorted { $0.count < $1.count } == [
                ["mobile-token", "status", "--json"], ["mobile-token", "emulator", "frob", "--json"],
                ["mobile-token", "watch", "--exec", "a --b", "--execute", "c d"],
            ]
        )
        let page = "Usage: mobile-token watch [OPTIONS]\n\nOptions:\n  --exec COMMAND  runs it\n"
        #expect(CommandExample.mistake(in: ["mobile-token", "watch", "--exec", "a"], by: page) == nil)
        #expect(CommandExample.mistake(in: ["mobile-token", "watch", "--execute=a"], by: page) == "--execute")
        #expect(CommandExample.mistake(in: ["mobile-token", "watch", "this"], by: page) == "this")
        #expect(CommandExample.mistake(in: ["mobile-token", "list"], by: page) == "list")
    }

    /// Lets a shell read lines of a page, and returns how it called the programs.
    private func calls(of lines: [String]) async throws -> [[String]] {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("calls"), withIntermediateDirectories: false)
        // Functions in place of programs: a file that was just written cannot be run while another test starts a process.
        let script = #"""
            note() { printf '%s\0' "$@" >"calls/$BASHPID.$EPOCHREALTIME.$RANDOM"; }
            mobile-token() { note mobile-token "$@"; }
            mobile-token-emulator() { note mobile-token-emulator "$@"; }
            mobile-token-postgres() { note mobile-token-postgres "$@"; }
            swift() { "${@:2}"; }
            runuser() { "${@:4}"; }
            cd "$HOME" && for line; do (eval "$line"); done
            """#
        _ = try await ChildProcess.run(
            "/bin/bash",
            ["-c", script, "bash"] + lines,
            environment: ["HOME": folder.path, "PATH": folder.file("nothing")]
        )
        return try FileManager.default.contentsOfDirectory(atPath: folder.file("calls")).map { name in
            let call = try Data(contentsOf: folder.url.appending(path: "calls/\(name)"))
            return call.split(separator: 0, omittingEmptySubsequences: false).dropLast()
                .map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test func whatIsPrintedIsCompared() throws {
        #expect(CommandExample.text("Activated 1f, fingerprint 2.\n", fits: "Activated …, fingerprint ….\n"))
        #expect(CommandExample.text("a\nb\nc\n", fits: "a\n…\nc\n"))
        #expect(CommandExample.text("a", fits: "a"))
        for (text, pattern) in [("a\n", "b\n"), ("ab\n", "a\n"), ("a\n", "…b\n"), ("a\n", "a…a\n"), ("xa\n", "a…\n")] {
            #expect(!CommandExample.text(text, fits: pattern), "\(text) fits \(pattern)")
        }
    }

    /// The manifest that a page shows is one. Whether a package can be built with such a manifest, `Scripts/check-products` tells.
    @Test func theManifestIsRead() async throws {
        let text = try CommandExample.text(of: "\(Self.pages)/GettingStarted.md")
        let manifest = try #require(text.components(separatedBy: "```swift\n").dropFirst().first)
        let folder = try TemporaryFolder()
        let end = try #require(manifest.range(of: "```")).lowerBound
        try manifest[..<end].write(toFile: folder.file("Package.swift"), atomically: true, encoding: .utf8)
        let options = ["package", "--package-path", folder.path, "dump-package"]
        let outcome = try await ChildProcess.run("swift", options)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("\"name\" : \"first-bot\""))
    }

    private func run(
        _ examples: [CommandExample],
        in folder: TemporaryFolder,
        environment: [String: String]
    ) async throws -> ChildProcess.Outcome {
        // The program that a page tells how to write is the snippet that it is compared with.
        let written = try ChildProcess.besideTests("GettingStarted")
        try FileManager.default.createSymbolicLink(atPath: folder.file("first-bot"), withDestinationPath: written)
        let script =
            "set -euo pipefail\nmkdir '\(folder.path)/work'\ncd '\(folder.path)/work'\n"
            + examples.enumerated().map { "exec >'\(folder.path)/printed.\($0)' 2>&1\n\($1.commands)" }.joined()
        try script.write(toFile: folder.file("script"), atomically: true, encoding: .utf8)
        let program = try ChildProcess.besideTests("mobile-token")
        let built = URL(filePath: program).deletingLastPathComponent().path
        return try await ChildProcess.run(
            program,
            ["emulator", "exec", "--", "bash", folder.file("script")],
            environment: ["HOME": folder.path, "PATH": "\(folder.path):\(built):/usr/bin:/bin"]
                .merging(environment) { $1 }
        )
    }
}

/// Commands of a page, and what they print if the page says so right after them.
private struct CommandExample {
    var commands: String
    var printed: String?

    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    static func text(of page: String) throws -> String {
        try String(contentsOf: self.root.appending(path: page), encoding: .utf8)
    }

    static func pages() throws -> [String] {
        func names(in folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: self.root.appending(path: folder).path).sorted()
                .map { folder + $0 }
        }
        let catalogs = try names(in: "Sources/").flatMap { try names(in: $0 + "/") }
            .flatMap { try names(in: $0 + "/") }.filter { $0.hasSuffix(".docc") }
        return try names(in: "").filter { $0.hasSuffix(".md") }
            + ["approval-daemon", "deployment-gate", "junit"].map { "Examples/\($0)/README.md" }
            + catalogs.flatMap { try names(in: $0 + "/") }.filter { $0.hasSuffix(".md") }
    }

    /// The blocks of a page, each with what it is called after the fence, and whether it stands right after another one.
    private static func blocks(in page: String) throws -> [(language: Substring, content: String, isRightAfter: Bool)] {
        // Between fences are, by turns, prose and a block that begins with the name of its language.
        let parts = try self.text(of: page).components(separatedBy: "```")
        return parts.indices.filter { $0 % 2 == 1 }.compactMap { index in
            let part = parts[index]
            guard let lineEnd = part.firstIndex(of: "\n") else { return nil }
            let isRightAfter = parts[index - 1].allSatisfy(\.isWhitespace)
            return (part[..<lineEnd], String(part[part.index(after: lineEnd)...]), isRightAfter)
        }
    }

    static func examples(in page: String) throws -> [Self] {
        var examples: [Self] = []
        for block in try self.blocks(in: page) {
            switch block.language {
            case "sh": examples.append(Self(commands: block.content))
            case "text" where block.isRightAfter && !examples.isEmpty:
                examples[examples.count - 1].printed = block.content
            default: break
            }
        }
        return examples
    }

    /// The lines of a page's shell blocks, marked as such or not at all, that name one of the programs.
    static func calls(in page: String) throws -> [String] {
        try self.blocks(in: page).filter { ["sh", "console", ""].contains($0.language) }.flatMap { block in
            block.content.replacing("\\\n", with: " ").split(separator: "\n").map(String.init)
                .filter { $0.contains("mobile-token") }
        }
    }

    /// The first word of a call that is not on the help page that it leads to.
    static func mistake(in words: [String], by page: String) -> String? {
        let usage = page.prefix { $0 != "\n" }.split(separator: " ").dropFirst().dropLast().map(String.init)
        let path = zip(usage, words).prefix { $0 == $1 }.count
        // The word after the command's own words stands for an operand, or is one too many.
        if let next = words.dropFirst(path).first, !next.hasPrefix("-"), usage.count == path { return next }
        if let missing = usage.dropFirst(path).first, missing == missing.lowercased() { return words.last }
        return words.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
            .first { !page.contains("  \($0) ") }
    }

    /// Returns whether a text is the expected one, in which `…` stands for anything. Blanks at the end of a line count for nothing.
    static func text(_ text: String, fits expected: String) -> Bool {
        let printed = text.components(separatedBy: "\n").map { $0.replacing(#/ +$/#, with: "") }.joined(separator: "\n")
        let parts = expected.components(separatedBy: "…")
        guard printed.hasPrefix(parts[0]), let last = parts.dropFirst().last else { return printed == expected }
        var rest = printed.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.range(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
