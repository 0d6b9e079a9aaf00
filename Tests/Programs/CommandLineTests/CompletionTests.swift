import Foundation
import TestSupport
import Testing

/// The help and completions that the programs make from their tables of commands.
@Suite(.timeLimit(.minutes(5))) struct CompletionTests {
    private func words(_ words: String...) async throws -> [String] {
        let home = try TemporaryFolder()
        let outcome = try await Program.run(["completion", "words", "--"] + words, home: home.url)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    @Test func whatMayFollowIsOffered() async throws {
        #expect(try await self.words("app") == ["approve"])
        #expect(try await Set(self.words("receipts", "")).isSuperset(of: ["export", "verify", "show", "erase"]))
        #expect(try await self.words("approve", "--password-s") == ["--password-stdin"])
        #expect(try await self.words("approve", "") == [])
        #expect(try await self.words("list", "--ca-file", "") == [])
        #expect(try await self.words("list", "--", "--ur") == [])
        #expect(try await self.words("nothing", "") == [])
        #expect(try await self.words("ask", "--bi") == ["--bind"])
        #expect(try await Set(self.words("ask", "")).isSuperset(of: ["show", "settle", "withdraw", "configure"]))
        #expect(try await self.words("ask", "-p", "") == [])
        #expect(try await self.words("ask", "--", "--bi") == [])
        // Commands of the program beside this one are asked of it.
        #expect(try await self.words("emulator", "--offer") == ["--offer-upgrade"])
        #expect(try await self.words("emulator", "exec", "--offer") == ["--offer-upgrade"])
        #expect(try await self.words("demo", "--fa") == ["--fast"])
        #expect(try await Set(self.words("emulator", "device", "")).isSuperset(of: ["create", "claims", "list"]))
        #expect(try await Set(self.words("store", "")).isSuperset(of: ["backup", "check", "recover"]))
    }

    @Test func bashCompletes() async throws {
        let home = try TemporaryFolder()
        let program = try URL(filePath: ChildProcess.besideTests("mobile-token"))
        let script = """
            PATH=\(program.deletingLastPathComponent().path):$PATH
            source <(mobile-token completion bash)
            COMP_WORDS=(mobile-token profile u) COMP_CWORD=2
            _mobile_token mobile-token u profile
            echo "${COMPREPLY[@]}"
            """
        let bash = try ChildProcess(
            "/bin/bash",
            ["-c", script],
            environment: ["HOME": home.url.path, "PATH": "/usr/bin:/bin"]
        )
        let outcome = await bash.outcome()
        #expect(outcome.output == "use\n", "\(outcome.errors)")
    }

    @Test(arguments: ["zsh", "fish"]) func theScriptIsOneOfItsShell(shell: String) async throws {
        let home = try TemporaryFolder()
        let outcome = try await Program.run("completion", shell, home: home.url)
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        let path = try #require(
            ["/usr/bin/\(shell)", "/bin/\(shell)"].first { FileManager.default.isExecutableFile(atPath: $0) },
            "\(shell) is not installed"
        )
        let file = home.file("script")
        try Data(outcome.output.utf8).write(to: URL(filePath: file))
        let check = try ChildProcess(path, ["-n", file], environment: ["HOME": home.url.path])
        #expect(await check.outcome().exitCode == 0)
    }

    @Test func aShellThatIsNotKnownIsWrongUsage() async throws {
        let home = try TemporaryFolder()
        #expect(try await Program.run("completion", "tcsh", home: home.url).exitCode == 2)
    }

    @Test(arguments: ["mobile-token", "mobile-token-emulator", "mobile-token-postgres"])
    func theHelpPageHasNoGaps(name: String) async throws {
        let help = try await ChildProcess.run(ChildProcess.besideTests(name), ["--help"])
        #expect(help.exitCode == 0 && help.output.contains("\n\nC"), "\(help.errors)")
        #expect(!help.output.contains("\n\n\n"))
    }

    @Test func helpIsShownByCommand() async throws {
        let home = try TemporaryFolder()
        let approve = try await Program.run("help", "approve", home: home.url)
        #expect(approve.exitCode == 0)
        #expect(approve.output == (try await Program.run("approve", "--help", home: home.url)).output)
        // Both surprises of a one-time password at real servers.
        let activate = try await Program.run("help", "activate", home: home.url).output
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(activate.contains("refuses a one-time password that it is to check at the commit"))
        #expect(activate.contains("active at once at some servers (1.9), without the bank's commit"))
        #expect(try await Program.run("help", "receipts", home: home.url).output.contains("receipts verify"))
        #expect(try await Program.run("help", "emulator", home: home.url).output.contains("--offer-upgrade"))
        #expect(try await Program.run("help", "emulator", "wait", home: home.url).output.contains("--ca-file"))
        #expect(try await Program.run("help", "emulator", "device", home: home.url).output.contains("device create"))
        #expect(try await Program.run("help", "store", home: home.url).output.contains("store recover"))
        #expect(try await Program.run("help", "aprove", home: home.url).errors.contains("approve"))
        #expect(try await Program.run("help", home: home.url).output.contains("MOBILE_TOKEN_PASSWORD_FILE"))
    }

    /// `man` reads the page without a complaint, and every command, option and exit code is in it.
    @Test func theManualIsWhole() async throws {
        let home = try TemporaryFolder()
        let page = try await Program.run("help", "--man", home: home.url)
        #expect(page.output.hasPrefix(".TH \"MOBILE\\-TOKEN\" 1"))
        let groff = try ChildProcess(
            "/usr/bin/groff",
            ["-man", "-Tascii", "-ww", "-P-c", "-P-b", "-P-u"],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        groff.write(page.output)
        let shown = await groff.outcome()
        #expect(shown.exitCode == 0 && shown.errors.isEmpty, "\(shown.errors)")
        for word in [
            "receipts export", "--discard-activation", "MOBILE_TOKEN_PROFILE", "130", "mobile-token-emulator(1)",
        ] {
            #expect(shown.output.contains(word), "\(word)")
        }
    }
}
