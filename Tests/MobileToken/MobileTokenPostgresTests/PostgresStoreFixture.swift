import Dispatch
import Foundation
@testable import MobileTokenPostgres
import PostgresDatabase
import PostgresTestServer
import PowerAuth
import StoreTesting
import Synchronization
import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
    static var ifPostgresIsInstalled: Self {
        .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed")
    }
}

/// Nodes of one store: each with connections, a lease and, unless they share one, a folder of its own.
final class PostgresStoreFixture: Sendable {
    let server: PostgresTestServer
    let schema: String
    let folder: TemporaryFolder
    private let stores = Mutex<[ActivationStore]>([])

    /// A store of its own on a server that others may use as well.
    init(_ server: PostgresTestServer? = nil) async throws {
        self.server = if let server { server } else { try await PostgresTestServer.shared() }
        self.schema = "test " + UUID().uuidString
        self.folder = try TemporaryFolder()
    }

    /// Short enough for a test, and long enough for a machine that has other things to do.
    static let lifetimes = NodeLifetimes(heartbeat: .milliseconds(500), death: .milliseconds(2_500))

    static func key(_ number: UInt8 = 7) -> some SealingKeyProvider {
        SealingKey.closure { SecretBytes(copying: [UInt8](repeating: number, count: 32)) }
    }

    /// The same as `key()`, for the environment of a process.
    static let encodedKey = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

    /// Opens the store as another node would.
    func node(
        _ name: String = "node",
        _ change: (inout PostgresConfiguration) -> Void = { _ in }
    ) -> ActivationStore {
        var configuration = PostgresConfiguration(
            connectionString: self.server.connectionString(),
            sealingKeys: SealingKeyRing(current: Self.key())
        )
        configuration.tls = .disabled
        configuration.schema = self.schema
        configuration.poolSize = 3
        configuration.nodeName = name
        configuration.lifetimes = Self.lifetimes
        configuration.markFolder = self.folder.path + "/" + name
        change(&configuration)
        let store = ActivationStore.postgres(configuration)
        self.stores.withLock { $0.append(store) }
        return store
    }

    /// A connection past all rules, to the tables of the store.
    func connect() throws -> PostgresConnection {
        var options = PostgresConnection.Options()
        options.searchPath = self.schema
        let target = PostgresTarget(connectionString: self.server.connectionString(), tls: .disabled)
        return try PostgresConnection(to: target, options: options)
    }

    /// Gives back what the nodes hold, so that nothing goes on after the test.
    func close() async {
        for store in self.stores.withLock({ $0 }) { await store.close() }
    }
}

extension ActivationStore {
    /// Decides by the activation `a`, and is told that each decision was accepted.
    func decide(_ operations: ClosedRange<Int>) async throws {
        for number in operations {
            let intent = ActivationStoreConformance.intent("a", "\(number)")
            let move = try await self.update("a", recording: intent) { $0.takeMove() + 1 }
            try await self.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: "a")
        }
    }
}

func withNodes(
    _ server: PostgresTestServer? = nil,
    _ body: (PostgresStoreFixture) async throws -> Void
) async throws {
    let fixture = try await PostgresStoreFixture(server)
    do {
        try await body(fixture)
    } catch {
        await fixture.close()
        throw error
    }
    await fixture.close()
}

extension PostgresDriver {
    /// Runs `body` with each identifier while the only connection is held, so that all of them are in one transaction.
    func together<Result: Sendable, Part>(
        _ ids: [String],
        in transactions: SharedTransactions<Part>,
        _ body: @escaping @Sendable (String) async throws -> Result
    ) async throws -> [String: Result] {
        let (isHeld, release) = (Shared(false), DispatchSemaphore(value: 0))
        let holder = Task {
            try await self.pool.withConnection { _ in
                isHeld.value = true
                release.wait()
            }
        }
        await until { isHeld.value }
        return try await withThrowingTaskGroup(of: (String, Result).self) { group in
            for id in ids { group.addTask { (id, try await body(id)) } }
            await until { transactions.gatheredCount == ids.count - 1 }
            release.signal()
            try await holder.value
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }
}
