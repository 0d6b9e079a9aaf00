import Foundation
import PostgresDatabase
package import PowerAuth

/// A node as the others see it.
package struct NodeStatus: Sendable {
    package let number: Int64
    package let name: String
    /// The time for which it has been there.
    package let age: Duration
    /// The time for which it is taken for alive unless it says more.
    package let timeLeft: Duration
    /// The latest form of activations that it reads; see `RecordFormat`.
    package let newestFormat: RecordFormat
    package let bucketCount: Int
    /// The activations that it may sign with.
    package let rightCount: Int
}

/// The epoch of a database that nodes are in; see ``DatabaseEpoch``.
package struct DatabaseLife: Sendable {
    /// 1, and one more each time that the database was put back or another server became the primary.
    package let number: Int64
    package let reason: String
    package let age: Duration
}

/// The result of the check of one activation.
package struct ActivationCheck: Sendable {
    package let activationID: String
    /// The counter's moves; `nil` when the record cannot be opened.
    package let moves: UInt64?
    /// Indicates that the counter may have been put back, and is compared with the server before the next signature.
    package let wasPutBack: Bool
    package let failure: MobileTokenError?
}

extension ActivationStore {
    /// Returns the nodes that are alive, in the order in which they joined.
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

    /// Returns the epoch that the database is in, which this connection may have begun.
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

    /// Opens every activation, and compares its counter with its mark. Changes nothing, unless a counter is behind its mark:
    /// that begins another epoch of the database.
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
