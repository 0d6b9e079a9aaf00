import ExactJSON
import Foundation
import MobileTokenEmulator
import TestSupport
import Testing

/// Pausing and resuming all agents, by an operator.
@Suite(.timeLimit(.minutes(5))) struct AgentCommandTests {
    @Test func decidingIsPausedAndResumedForAll() async throws {
        try await withActivatedProgram { emulator, home in
            func status() async throws -> JSONValue {
                try JSONValue(parsing: try await Program.run("agent", "status", "--json", home: home.url).output)
            }
            #expect(try await status()["paused"]?.bool == false)
            let pause = try await Program.run("agent", "pause", "--reason", "fraud\u{1B}[2J", home: home.url)
            #expect(pause.exitCode == 0)
            #expect(pause.output.contains("paused since") && pause.output.contains("fraud"))
            #expect(!pause.output.contains("\u{1B}"))
            #expect(try await status()["paused"]?.bool == true)
            #expect(try await status()["reason"]?.string == "fraud\u{1B}[2J")
            // By hand it goes on.
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await Program.run("reject", login.id, home: home.url).exitCode == 0)
            #expect(try await Program.run("agent", "resume", home: home.url).output == "Agents may decide.\n")
            #expect(try await status()["paused"]?.bool == false)
        }
    }
}
