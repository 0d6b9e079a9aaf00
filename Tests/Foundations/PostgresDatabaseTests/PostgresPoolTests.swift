import PostgresDatabase
import PostgresTestServer
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
struct PostgresPoolTests {
    private func makePool(size: Int, _ server: PostgresTestServer? = nil) async throws -> PostgresPool {
        let server = if let server { server } else { try await PostgresTestServer.shared() }
        return PostgresPool(size: size) { .of(server) }
    }

    @Test func noMoreConnectionsAreUsedThanAllowed() async throws {
        let pool = try await self.makePool(size: 3)
        let backends = try await withThrowingTaskGroup(of: Int64.self) { group in
            for _ in 0..<30 {
                group.addTask {
                    try await pool.withConnection { try $0.run("SELECT pg_backend_pid()", [], .none)[0].integer(0) }
                }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.insert($1) }
        }
        #expect(backends.count <= 3)
    }

    @Test func whoWaitsForAConnectionMayGiveUp() async throws {
        let pool = try await self.makePool(size: 1)
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let holder = Task {
            try await pool.withConnection(isCancelable: true) { connection in
                begin.yield()
                _ = try connection.run("SELECT pg_sleep(4)::text", [], .none)
            }
        }
        for await _ in began { break }
        let waiter = Task { try await pool.withConnection { _ in } }
        await until { pool.waitingCount == 1 }
        await #expect(throws: CancellationError.self) { try await waiter.stop() }
        holder.cancel()  // the statement is given up, not waited for
        let error = await #expect(throws: PostgresError.self) { try await holder.value }
        #expect(error?.kind == .canceled)
        #expect(try await pool.withConnection { try $0.run("SELECT 1::int8", [], .none)[0].integer(0) } == 1)
    }

    @Test func aConnectionThatTheServerClosedIsMadeAnew() async throws {
        let server = try await PostgresTestServer.start()
        let pool = try await self.makePool(size: 1, server)
        let query: @Sendable (PostgresConnection) throws -> Int64 = {
            try $0.run("SELECT 1::int8", [], .none)[0].integer(0)
        }
        #expect(try await pool.withConnection(query) == 1)
        try await server.stop()
        let error = await #expect(throws: PostgresError.self) { try await pool.withConnection(query) }
        #expect(error?.kind == .unreachable)
        try await server.start()
        #expect(try await pool.withConnection(query) == 1)
        try await server.stop()
        try await server.start()
        #expect(try await pool.withConnection(query) == 1)
    }

    @Test func credentialsAreAskedForAtEachConnection() async throws {
        let server = try await PostgresTestServer.start()
        let user = Shared("nobody")
        let pool = PostgresPool(size: 1) {
            PostgresTarget(
                connectionString: "host=\(server.folder) port=\(server.port) dbname=postgres user=\(user.value)",
                tls: .disabled
            )
        }
        let refused = await #expect(throws: PostgresError.self) { try await pool.withConnection { _ in } }
        #expect(refused?.refusal == .authentication)
        user.value = "postgres"
        try await pool.withConnection { _ in }
    }
}
