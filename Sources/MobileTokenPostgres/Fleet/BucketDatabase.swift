import PostgresDatabase
import PowerAuth

/// The database as nodes ask it that divide buckets.
package protocol BucketDatabase: Sendable {
    /// Makes known that a node polls, which it does while it reads every activation that is stored.
    ///
    /// - Returns: The buckets that the node owns, the number of nodes that poll, and `true` if it is one of them.
    func look(as lease: NodeLease) async throws -> (owned: Set<Int>, count: Int, readsAll: Bool)

    /// Takes buckets that nobody has.
    func take(_ count: Int, as lease: NodeLease) async throws -> [Int]

    func giveBack(_ buckets: [Int], as lease: NodeLease) async throws

    /// Gives back all that are owned under a lease, whose node does not poll any more.
    func leave(as lease: Int64) async throws
}

/// The buckets of a PostgreSQL store.
struct PostgresBuckets: BucketDatabase {
    let driver: PostgresDriver

    func look(as lease: NodeLease) async throws -> (owned: Set<Int>, count: Int, readsAll: Bool) {
        let configuration = self.driver.configuration
        return try await self.driver.withConnection {
            try FleetTables.look(as: lease, reading: configuration.newestFormat, configuration.lifetimes, $0)
        }
    }

    func take(_ count: Int, as lease: NodeLease) async throws -> [Int] {
        try await self.driver.withConnection { try FleetTables.take(count, as: lease, $0) }
    }

    func giveBack(_ buckets: [Int], as lease: NodeLease) async throws {
        try await self.driver.withConnection { try FleetTables.giveBack(buckets, as: lease, $0) }
    }

    func leave(as lease: Int64) async throws {
        try await self.driver.withConnection { try FleetTables.leave(as: lease, $0) }
    }
}

/// The statements by which nodes divide buckets.
enum FleetTables {
    static func look(
        as lease: NodeLease,
        reading newestFormat: RecordFormat,
        _ lifetimes: NodeLifetimes,
        _ connection: PostgresConnection
    ) throws -> (owned: Set<Int>, count: Int, readsAll: Bool) {
        let readsAll = "(NOT EXISTS (SELECT FROM activation WHERE format > $1))"
        let results = try connection.run([
            NodeLease.sweep(lifetimes),
            PostgresStatement(
                "UPDATE node SET polls = NOT polls WHERE number = $2 AND polls <> \(readsAll)",
                [.integer(newestFormat.rawValue), .integer(lease.number)]
            ),
            PostgresStatement("SELECT number FROM bucket WHERE owner = $1", [.integer(lease.number)]),
            PostgresStatement("SELECT count(*), \(readsAll) FROM node WHERE polls", [.integer(newestFormat.rawValue)]),
        ])
        guard results.count == 4, let row = results[3].first else { throw PostgresError(.unexpectedResult) }
        let owned = try results[2].map { Int(clamping: try $0.integer(0)) }
        return (Set(owned), max(1, Int(clamping: try row.integer(0))), try row.boolean(1))
    }

    /// Takes buckets that nobody has. Two nodes that look at once do not wait for each other.
    static func take(_ count: Int, as lease: NodeLease, _ connection: PostgresConnection) throws -> [Int] {
        try connection.run(
            """
            UPDATE bucket SET owner = $1
            WHERE number IN (
                SELECT number FROM bucket WHERE owner IS NULL ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED
            ) AND EXISTS (SELECT FROM node WHERE number = $1)
            RETURNING number
            """,
            [.integer(lease.number), .integer(Int64(clamping: count))]
        ).map { Int(clamping: try $0.integer(0)) }
    }

    static func giveBack(_ buckets: [Int], as lease: NodeLease, _ connection: PostgresConnection) throws {
        try connection.run(
            "UPDATE bucket SET owner = NULL WHERE owner = $1 AND number = ANY ($2::int8[])",
            [.integer(lease.number), .integers(buckets.map { Int64($0) })]
        )
    }

    static func leave(as lease: Int64, _ connection: PostgresConnection) throws {
        try connection.run([
            PostgresStatement("UPDATE bucket SET owner = NULL WHERE owner = $1", [.integer(lease)]),
            PostgresStatement("UPDATE node SET polls = false WHERE number = $1", [.integer(lease)]),
        ])
    }
}
