import ExactJSON
import Foundation
import MobileTokenEmulator
import TestSupport
import Testing

/// Changes of the list, handed to others.
@Suite(.timeLimit(.minutes(5))) struct WatchCommandTests {
    @Test func aCommandRunsForEachChange() async throws {
        try await withActivatedProgram { emulator, home in
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            // The command's output is the program's. One that reads nothing, and fails, ends nothing.
            let watch = try Program.start(["watch", "--exec", "sed s/^/got:/; exit 3", "--json"], home: home.url)
            let change = try #require(await watch.nextLine())
            let got = try #require(await watch.nextLine())
            #expect(got == "got:" + change)
            #expect(try JSONValue(parsing: change)["added"]?.array == [.string(login.id)])
            #expect(await watch.nextErrorLine()?.contains("exit status 3") == true)
            watch.send(signal: SIGTERM)
            #expect(await watch.outcome().exitCode == 130)
        }
    }

    @Test func aCommandThatRunsEndsWithTheProgram() async throws {
        try await withActivatedProgram { emulator, home in
            _ = try await emulator.cloud.createOperation("login", userID: "alice")
            let watch = try Program.start(["watch", "--exec", "echo $$; exec sleep 1000"], home: home.url)
            _ = await watch.nextLine()
            let process = try #require(await watch.nextLine().flatMap { pid_t($0) })
            #expect(kill(process, 0) == 0)
            watch.send(signal: SIGTERM)
            #expect(await watch.outcome().exitCode == 130)
            #expect(kill(process, 0) == -1 && errno == ESRCH)
        }
    }

    private static let countSockets = "readlink /proc/$$/fd/* | grep -c socket: ; true"

    /// Starts the program with the standard descriptors, and what `redirection` adds: a test hands on those of other tests.
    private func startAlone(_ words: [String], redirection: String = "") throws -> ChildProcess {
        let script = #"""
            for path in /proc/$$/fd/*; do if [ "${path##*/}" -gt 2 ]; then eval "exec ${path##*/}>&-"; fi; done
            exec "$0" "$@"
            """#
        let program = try ChildProcess.besideTests("mobile-token")
        return try ChildProcess(
            "/bin/bash",
            ["-c", "\(script) \(redirection)", program] + words,
            environment: ["PATH": "/usr/bin:/bin"]
        )
    }

    @Test func aCommandGetsNoSocketOfTheProgram() async throws {
        try await withActivatedProgram { emulator, home in
            _ = try await emulator.cloud.createOperation("login", userID: "alice")
            let watch = try self.startAlone(["watch", "--exec", Self.countSockets, "--home", home.path])
            _ = await watch.nextLine()
            #expect(await watch.nextLine() == "0")
            watch.send(signal: SIGTERM)
            _ = await watch.outcome()
        }
    }

    @Test func aDescriptorOfTheCallersReachesTheCommand() async throws {
        let folder = try TemporaryFolder()
        let outcome = await
            (try self.startAlone(
                ["emulator", "exec", "--", "sh", "-c", "echo reached >&3; " + Self.countSockets],
                redirection: "3>'\(folder.file("third"))'"
            )).outcome()
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        #expect(outcome.output == "0\n")
        #expect(try String(contentsOfFile: folder.file("third"), encoding: .utf8) == "reached\n")
    }

    /// The change reaches a URL; here, the cloud API, which has no such path and says so.
    @Test func aChangeIsSentToAURL() async throws {
        try await withActivatedProgram { emulator, home in
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            let watch = try Program.start(["watch", "--forward-to", emulator.cloudURL + "/hook"], home: home.url)
            #expect(await watch.nextErrorLine()?.contains("/hook answered with HTTP 404") == true)
            watch.send(signal: SIGTERM)
            _ = await watch.outcome()
            let request = try #require(await emulator.journal().first { $0.path == "/hook" })
            #expect(request.method == "POST")
            #expect(try JSONValue(parsing: request.body)["operations"]?.array?.first?["id"]?.string == login.id)
        }
    }

    @Test(arguments: [
        "http://192.0.2.1/", "http://127.0.0.1.example/", "http://u:p@127.0.0.1/", "ftp://127.0.0.1/", "nonsense",
    ])
    func whereNothingIsSent(url: String) async throws {
        try await withActivatedProgram { emulator, home async throws in
            #expect(try await Program.run("watch", "--forward-to", url, home: home.url).exitCode == 2)
        }
    }
}
