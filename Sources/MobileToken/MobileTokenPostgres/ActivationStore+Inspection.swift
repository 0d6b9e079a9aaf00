import PostgresDatabase
package import PowerAuthClient

/// A node, as seen by the others.
package struct NodeStatus: Sendable {
    package let number: Int64
    package let name: String
    /// The time since the node joined.
    package let age: Duration
    /// The time until the node is considered dead without a heartbeat.
    package let timeLeft: Duration
    /// The latest format that the node reads; see `RecordFormat`.
    package let newestFormat: RecordFormat
    package let bucketCount: Int
    /// The number of activations that the node may sign with.
    package let rightCount: Int
}

/// The current epoch of the database; see ``DatabaseEpoch``.
package struct DatabaseLife: Sendable {
    /// 1, incremented after each restore or failover.
    package let number: Int64
    package let reason: String
    package let age: Duration
}

package struct ActivationCheck: Sendable {
    package let activationID: String
    /// The counter's moves; `nil` if the record cannot be decrypted.
    package let moves: UInt64?
    /// Indicates that the counter may be restored, so it is compared with the server's before the next signature.
    package let wasPutBack: Bool
    package let failure: MobileTokenError?
}

extension ActivationStore {
    /// Returns the living nodes in the order in which they joined.
    package func nodes() async throws -> [NodeStatus] {
        try await self.open()
        return try await self.postgres.withConnection(isCancelable: true) { connection in
            try connection.run(
                """
                SELECT number, name,
                    (extract(epoch FROM clock_timestamp() - joined_at) * 1000)::int8,
                    (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::int8,
                    (SELECT count(*) FROM bucket WHERE owner = node.number),
                    (SELECT count(*) FROM activation WHERE holder = node.number), newest_format
                FROM node WHERE expires_at > clock_timestamp() ORDER BY number
                """,
                [],
                .none
            ).map { row in
                NodeStatus(
                    number: try row.integer(0),
                    name: try row.text(1),
                    age: .milliseconds(try row.integer(2)),
                    timeLeft: .milliseconds(try row.integer(3)),
                    newestFormat: RecordFormat(rawValue: try row.integer(6)),
                    bucketCount: Int(clamping: try row.integer(4)),
                    rightCount: Int(clamping: try row.integer(5))
                )
            }
        }
    }

    /// Returns the database's current epoch, which this connection may have begun.
    package func databaseLife() async throws -> DatabaseLife? {
        try await self.open()
        return try await self.postgres.withConnection(isCancelable: true) { connection in
            try connection.run(
                """
                SELECT number, reason, (extract(epoch FROM clock_timestamp() - begun_at) * 1000)::int8
                FROM incarnation ORDER BY number DESC LIMIT 1
                """,
                [],
                .none
            ).first.map { row in
                DatabaseLife(
                    number: try row.integer(0),
                    reason: try row.text(1),
                    age: .milliseconds(try row.integer(2))
                )
            }
        }
    }

    /// Decrypts every activation, and compares its counter with its mark. Changes nothing, except that a counter behind its mark
    /// begins a new epoch.
    package func check() async throws -> [ActivationCheck] {
        var checks: [ActivationCheck] = []
        for id in try await self.activationIDs() {
            do {
                guard let record = try await self.record(of: id) else { continue }
                checks.append(
                    ActivationCheck(
                        activationID: id,
                        moves: record.counterMoves,
                        wasPutBack: record.ledger.wasPutBack,
                        failure: nil
                    )
                )
            } catch let error as MobileTokenError where error.code == .storeCorrupted || error.code == .storeFromFuture
            {
                checks.append(ActivationCheck(activationID: id, moves: nil, wasPutBack: false, failure: error))
            }
        }
        return checks
    }
}
