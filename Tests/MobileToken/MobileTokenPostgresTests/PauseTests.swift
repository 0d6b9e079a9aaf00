import Dispatch
import Foundation
import StoreTesting
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import TestSupport
import Testing

@testable import MobileTokenPostgres

/// A pause that comes while an automatic decision is on its way to its commit.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PauseTests {
    private static let pause = DecisionPause(date: Date(timeIntervalSince1970: 1_700_000_000), reason: "fraud")

    /// Runs a statement, and keeps its locks until it is released.
    private final class Holder: Sendable {
        private let (isHeld, end) = (Shared(false), DispatchSemaphore(value: 0))
        private let task: Task<Void, any Error>

        init(_ store: ActivationStore, _ statement: PostgresStatement) async {
            self.task = Task { [isHeld, end] in
                try await store.postgres.pool.withConnection { connection in
                    try connection.transaction { transaction in
                        try transaction.run([statement])
                        isHeld.value = true
                        end.wait()
                    }
                }
            }
            await until { self.isHeld.value }
        }

        func release() async throws {
            self.end.signal()
            try await self.task.value
        }
    }

    private static func isAnyoneWaiting(for kind: String, _ store: ActivationStore) async throws -> Bool {
        let query = """
            SELECT EXISTS (
                SELECT FROM pg_locks JOIN pg_stat_activity USING (pid)
                WHERE NOT granted AND locktype = $1 AND wait_event_type = 'Lock'
            )
            """
        return try await store.postgres.withConnection { try $0.run(query, [.text(kind)], .none)[0].boolean(0) }
    }

    /// - Parameter isolation: The default of the server, which is not ours.
    @Test(arguments: ["read committed", "repeatable read", "serializable"])
    func whatWaitsForALockWhenThePauseReturnsDecidesNothing(isolation: String) async throws {
        let server = try await PostgresTestServer.start(
            .init(settings: ["default_transaction_isolation = '\(isolation)'"])
        )
        try await withNodes(server) { nodes in
            let (agent, person) = (nodes.node("agent"), nodes.node("person"))
            try await agent.insert(ActivationStoreConformance.record("a"))
            try await agent.withSigningTurn(of: "a") { turn in
                let row = await Holder(person, PostgresStatement("SELECT FROM activation FOR UPDATE"))
                let deciding = Task {
                    try await turn.update(recording: ActivationStoreConformance.intent("a", "1")) { $0.takeMove() }
                }
                try await until { try await Self.isAnyoneWaiting(for: "transactionid", person) }
                try await person.setDecisionPause(Self.pause)
                try await row.release()
                let error = await #expect(throws: MobileTokenError.self) { try await deciding.value }
                #expect(error?.code == .decidingPaused)
                // By hand all goes on.
                _ = try await turn.update { $0.takeMove() }
            }
            #expect(try await agent.record(of: "a")?.counterMoves == 507)
            #expect(try await agent.receipts(of: nil, after: 0, limit: 1).isEmpty)
        }
    }

    /// One that did not see the pause, and commits, is waited for.
    @Test func aPauseReturnsWhenNoDecisionIsBeingCommittedAnyMore() async throws {
        let server = try await PostgresTestServer.start()
        try await withNodes(server) { nodes in
            let (agent, person) = (nodes.node("agent"), nodes.node("person"))
            try await agent.open()
            let first = try #require(StoredPause.confirmation.first)
            let decision = await Holder(agent, first)
            let hasReturned = Shared(false)
            let pausing = Task {
                try await person.setDecisionPause(Self.pause)
                hasReturned.value = true
            }
            try await until { try await Self.isAnyoneWaiting(for: "advisory", person) }
            #expect(!hasReturned.value)
            #expect(try await agent.decisionPause() == Self.pause)
            try await decision.release()
            try await pausing.value
            // To end a pause, nobody is waited for.
            let other = await Holder(agent, first)
            try await person.setDecisionPause(nil)
            try await other.release()
        }
    }
}
