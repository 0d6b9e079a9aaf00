import Foundation
import TestSupport
import Testing

/// What a page shows as `sh` is run, and prints what the page says it prints. What needs another machine, or more rights, stands
/// there as `console`, and is not run.
@Suite(.timeLimit(.minutes(4))) struct DocumentedCommandsTests {
    private static let pages = "Sources/MobileToken/MobileToken.docc"

    /// All of a page's commands run in one shell, beside a development server and in a folder of their own.
    @Test(arguments: [
        ("\(Self.pages)/GettingStarted.md", 8),
        ("\(Self.pages)/Deployment.md", 3),
        ("\(Self.pages)/Operating.md", 6),
        ("\(Self.pages)/BackupAndUpgrade.md", 5),
        ("Sources/MobileTokenEmulator/MobileTokenEmulator.docc/HTTPAPI.md", 12),
    ])
    func everyCommandDoesWhatThePageSays(page: String, count: Int) async throws {
        let examples = try CommandExample.examples(in: page)
        #expect(examples.count >= count)
        let folder = try TemporaryFolder()
        let outcome = try await self.run(examples, in: folder)
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

    private func run(_ examples: [CommandExample], in folder: TemporaryFolder) async throws -> ChildProcess.Outcome {
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
        )
    }
}

/// Commands of a page, and what they print if the page says so right after them.
private struct CommandExample {
    var commands: String
    var printed: String?

    static func text(of page: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: page), encoding: .utf8)
    }

    static func examples(in page: String) throws -> [Self] {
        var examples: [Self] = []
        // Between fences are, by turns, prose and a block that begins with the name of its language.
        let parts = try self.text(of: page).components(separatedBy: "```")
        for (index, part) in parts.enumerated() where index % 2 == 1 {
            guard let lineEnd = part.firstIndex(of: "\n") else { continue }
            let content = String(part[part.index(after: lineEnd)...])
            let isRightAfter = parts[index - 1].allSatisfy(\.isWhitespace)
            switch part[..<lineEnd] {
            case "sh": examples.append(Self(commands: content))
            case "text" where isRightAfter && !examples.isEmpty: examples[examples.count - 1].printed = content
            default: break
            }
        }
        return examples
    }

    /// Whether a text is the expected one, in which `…` stands for anything. Blanks at the end of a line count for nothing.
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
