import Foundation
import MobileToken
import TestSupport
import Testing

/// The development server is a program of its own, which `mobile-token` only runs.
@Suite(.timeLimit(.minutes(5))) struct DevelopmentServerProgramTests {
    @Test func whatApprovesLinksNeitherTheServerNorItsLibraries() throws {
        // Libraries by the names that the loader is given, code by the module in its mangled names.
        let marks = ["libmicrohttpd.so", "libqrencode.so", "19MobileTokenEmulator"]
        let approving = try Self.bytes(of: "mobile-token")
        let serving = try Self.bytes(of: "mobile-token-emulator")
        for mark in marks {
            #expect(serving.range(of: Data(mark.utf8)) != nil, "the server should link \(mark)")
            #expect(approving.range(of: Data(mark.utf8)) == nil, "mobile-token links \(mark)")
        }
    }

    @Test(arguments: [["emulator"], ["emulator", "exec", "--", "true"], ["demo", "--help"]])
    func withoutTheOtherProgramTheErrorNamesIt(_ words: [String]) async throws {
        let home = try TemporaryFolder()
        let outcome = try await ChildProcess.run(
            try await Self.copyOfMobileToken(in: home),
            words,
            environment: ["HOME": home.path, "PATH": "/usr/bin:/bin"]
        )
        #expect(outcome.exitCode == 5)
        #expect(
            outcome.errors == """
                mobile-token: this needs the program 'mobile-token-emulator', which is neither beside this one nor on PATH

                """
        )
    }

    @Test func theOtherProgramIsFoundOnThePath() async throws {
        let home = try TemporaryFolder()
        let built = URL(filePath: try ChildProcess.besideTests("mobile-token")).deletingLastPathComponent().path
        let outcome = try await ChildProcess.run(
            try await Self.copyOfMobileToken(in: home),
            ["emulator", "exec", "--user", "bank", "--", "sh", "-c", "echo $MOBILE_TOKEN_CLOUD_USER; exit 7"],
            environment: ["HOME": home.path, "PATH": "\(built):/usr/bin:/bin"]
        )
        #expect(outcome.exitCode == 7, "\(outcome.errors)")
        #expect(outcome.output == "bank\n")
    }

    @Test func itIsAProgramByItself() async throws {
        let program = try ChildProcess.besideTests("mobile-token-emulator")
        let help = try await ChildProcess.run(program, ["--help"])
        #expect(help.exitCode == 0)
        #expect(help.output.hasPrefix("Usage: mobile-token-emulator [OPTIONS]"))
        #expect(help.output.contains("\n  exec ") && help.output.contains("\n  demo "))
        let version = try await ChildProcess.run(program, ["--version"])
        #expect(version.exitCode == 0)
        #expect(version.output == "mobile-token-emulator \(MobileTokenClient.sdkVersion)\n", "\(version.errors)")
        let misspelt = try await ChildProcess.run(program, ["creat"])
        #expect(misspelt.exitCode == 2 && misspelt.errors.contains("unknown command 'creat'; did you mean 'create'?"))
        let mistake = try await ChildProcess.run(program, ["exec", "--prot", "1", "--", "true"])
        #expect(mistake.exitCode == 2)
        #expect(
            mistake.errors == """
                mobile-token-emulator: unknown option --prot; did you mean --port?
                See 'mobile-token-emulator exec --help'.

                """
        )
        let outcome = try await ChildProcess.run(program, ["exec", "--", "sh", "-c", "kill -TERM $$"])
        #expect(outcome.exitCode == 128 + SIGTERM)
    }

    // MARK: -

    private static func bytes(of program: String) throws -> Data {
        let url = URL(filePath: try ChildProcess.besideTests(program))
        return try Data(contentsOf: url, options: .mappedIfSafe)
    }

    /// A process of its own copies: what is open for writing here, programs that other tests start would keep open, and a
    /// file that is open for writing cannot be run.
    private static func copyOfMobileToken(in folder: TemporaryFolder) async throws -> String {
        let copy = folder.file("mobile-token")
        let outcome = try await ChildProcess.run("cp", [try ChildProcess.besideTests("mobile-token"), copy])
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        return copy
    }
}
