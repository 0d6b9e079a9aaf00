import StoreTesting
import MobileTokenPostgres
import PowerAuth
import PostgresTestServer
import Testing

@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct PostgresStoreConformanceTests {
    @Test(arguments: ActivationStoreConformance.allCases)
    func twoNodesConform(to requirement: ActivationStoreConformance) async throws {
        try await withNodes { nodes in
            try await requirement.check {
                nodes.node("one")
            } openAgain: { _ in
                nodes.node("other")
            }
        }
    }

    @Test(
        .enabled(if: PostgresTestPooler.isInstalled, "no pooler is installed"),
        arguments: ActivationStoreConformance.allCases
    )
    func nodesBehindAPoolerConform(to requirement: ActivationStoreConformance) async throws {
        let pooler = try await Self.pooler.value
        try await withNodes { nodes in
            @Sendable func node(_ name: String) -> ActivationStore {
                nodes.node(name) {
                    $0.connectionString = { pooler.connectionString }
                    $0.pollOnly = true
                }
            }
            try await requirement.check {
                node("one")
            } openAgain: { _ in
                node("other")
            }
        }
    }

    /// One for all, as the server is.
    private static let pooler = Task {
        try await PostgresTestPooler.start(before: try await PostgresTestServer.shared())
    }
}
