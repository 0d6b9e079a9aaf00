import Foundation
import Glibc
import MobileToken
import MobileTokenPostgres
import MobileTokenTesting
import PostgresTestServer
import TestSupport
import Testing

/// A process that is stopped in the midst of signing, and goes on when another node has signed long since.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct FrozenSignerTests {
    /// The first act of the process when it goes on.
    enum Moment: String, CaseIterable {
        case write
        case request
    }

    @Test(arguments: Moment.allCases) func whatWasBegunUnderALostRightIsRefused(moment: Moment) async throws {
        let server = try await PostgresTestServer.start()
        try await withEmulator { emulator in
            try await withNodes(server) { nodes in
                let store = nodes.node("other") { configuration in
                    configuration.lifetimes = NodeLifetimes(heartbeat: .seconds(60), death: .seconds(3_600))
                }
                let client = try emulator.makeClient { $0.store = store }
                let activation = try await emulator.makeActivation(
                    user: "alice",
                    password: Stage.password,
                    client: client
                )
                let frozen = try ChildProcess(
                    ChildProcess.besideTests("NodeExerciser"),
                    [
                        "name=frozen", "freezes-before=\(moment)", "activation=\(activation.activationID)",
                        "database=\(nodes.server.connectionString())", "schema=\(nodes.schema)",
                        "marks=\(nodes.folder.path)/frozen", "url=\(emulator.baseURL)",
                        "sdk-configuration=\(emulator.sdkConfiguration)", "password=\(Stage.password)", "death=5000",
                    ],
                    environment: ["SEALING_KEY": PostgresStoreFixture.encodedKey, "HOME": nodes.folder.path]
                )
                let line = try #require(await frozen.nextLine())
                let identifier = try #require(pid_t(line), "it failed before it was to freeze: \(line)")
                try await until { try Self.isStopped(identifier) }

                // Waits until the lifetime of the right has passed: nothing else takes it from a turn that goes on.
                let position = await emulator.journalPosition
                try await activation.validate(.possessionAndKnowledge(password: Stage.password))
                let record = try await store.record(of: activation.activationID)

                frozen.send(signal: SIGCONT)
                #expect(await frozen.nextLine() == "signingTurnLost")
                #expect(await frozen.outcome().exitCode == 1)
                #expect(try await store.record(of: activation.activationID) == record)
                let signed = await emulator.signedRequests(of: activation, since: position)
                #expect(signed.count == 1 && signed.refusals == [])
                #expect(await emulator.summary(of: activation)?.failedAttempts == 0)
                // Nor is anything left behind.
                try await activation.validate(.possessionAndKnowledge(password: Stage.password))
            }
        }
    }

    private static func isStopped(_ identifier: pid_t) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)
        return status.split(separator: "\n").contains { $0.hasPrefix("State:") && $0.contains("T (stopped)") }
    }
}
