import MobileTokenPostgres
import MobileTokenTesting
import PostgresTestServer
import Testing

@Suite(.timeLimit(.minutes(4)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
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

    @Test(arguments: ActivationStoreConformance.allCases)
    func nodesBehindAPoolerConform(to requirement: ActivationStoreConformance) async throws {
        try await withNodes { nodes in
            try await requirement.check {
                nodes.node("one") { $0.pollOnly = true }
            } openAgain: { _ in
                nodes.node("other") { $0.pollOnly = true }
            }
        }
    }
}
