import PostgresDatabase
import PowerAuthClient

/// The database for a membership.
package protocol BucketDatabase: Sendable {
    /// Registers a node as polling.
    ///
    /// - Returns: The node's buckets, the number of polling nodes, and whether this node reads every stored activation.
    func look(as lease: NodeLease) async throws -> (owned: Set<Int>, count: Int, readsAll: Bool)

    /// Takes up to `count` free buckets.
    func take(_ count: Int, as lease: NodeLease) async throws -> [Int]

    func giveBack(_ buckets: [Int], as lease: NodeLease) async throws

    /// Returns all buckets of a lease when its node no longer polls.
    func leave(as lease: Int64) async throws
}

struct PostgresBuckets: BucketDatabase {
    let driver: PostgresDriver

    func look(as lease: NodeLease) async throws -> (owned: Set<Int>, count: Int, readsAll: Bool) {
        let newestFormat = PostgresValue.integer(self.driver.configuration.newestFormat.rawValue)
        let sweep = NodeLease.sweep(self.driver.configuration.lifetimes)
        let readsAll = "(NOT EXISTS (SELECT FROM activation WHERE format > $1))"
        return try await self.driver.withConnection { connection in
            let results = try connection.run([
                sweep,
                PostgresStatement(
                    "UPDATE node SET polls = NOT polls WHERE number = $2 AND polls <> \(readsAll)",
                    [newestFormat, .integer(lease.number)]
                ),
                PostgresStatement("SELECT number FROM bucket WHERE owner = $1", [.integer(lease.number)]),
                PostgresStatement("SELECT count(*), \(readsAll) FROM node WHERE polls", [newestFormat]),
            ])
            guard results.count == 4, let row = results[3].first else { throw PostgresError(.unexpectedResult) }
            let owned = try results[2].map { Int(clamping: try $0.integer(0)) }
            return (Set(owned), max(1, Int(clamping: try row.integer(0))), try row.boolean(1))
        }
    }

    func take(_ count: Int, as lease: NodeLease) async throws -> [Int] {
        try await self.driver.withConnection { connection in
            // Concurrent nodes do not wait for each other.
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
    }

    func giveBack(_ buckets: [Int], as lease: NodeLease) async throws {
        _ = try await self.driver.withConnection { connection in
            try connection.run(
                "UPDATE bucket SET owner = NULL WHERE owner = $1 AND number = ANY ($2::int8[])",
                [.integer(lease.number), .integers(buckets.map { Int64($0) })]
            )
        }
    }

    func leave(as lease: Int64) async throws {
        _ = try await self.driver.withConnection { connection in
            try connection.run([
                PostgresStatement("UPDATE bucket SET owner = NULL WHERE owner = $1", [.integer(lease)]),
                PostgresStatement("UPDATE node SET polls = false WHERE number = $1", [.integer(lease)]),
            ])
        }
    }
}
