import Basics
import PostgresDatabase
import PowerAuth

struct PostgresNodeDatabase: NodeDatabase {
    /// The name of the node, for people.
    let name: String
    let lifetimes: NodeLifetimes
    /// The latest format that the node reads.
    let newestFormat: RecordFormat
    let schema: String
    /// The connections for callers' requests.
    let pool: PostgresPool
    /// The connection reserved for heartbeats.
    let keeperPool: PostgresPool
    /// The channel of handover requests; `nil` if sessions cannot listen.
    let channel: String?

    private func ask<Answer: Sendable>(
        _ pool: PostgresPool? = nil,
        _ body: @Sendable (PostgresConnection) throws -> Answer
    ) async throws -> Answer {
        try await MobileTokenError.mapping(schema: self.schema) {
            try await (pool ?? self.pool).withConnection(body)
        }
    }

    // MARK: The lease

    func quarantine() async throws -> DatabaseEpoch.Quarantine {
        try await self.ask { connection in
            try DatabaseEpoch.check(connection)
            return try DatabaseEpoch.quarantine(self.lifetimes, connection)
        }
    }

    /// Numbers follow the database's clock in microseconds, so that they grow after a restore, and exceed the last one, so that
    /// they grow after the clock is set back. If both happened, the number is random: two nodes with the same number would renew
    /// each other's lease and sign concurrently.
    func takeLease(in epoch: DatabaseEpoch.Identity) async throws -> NodeLease? {
        try await self.ask { connection in
            let sentAt = ContinuousClock.now
            let clock = "(extract(epoch FROM clock_timestamp()) * 1000000)::int8"
            let results = try connection.run([
                // No epoch begins between the check and the lease.
                DatabaseEpoch.lock,
                PostgresStatement(
                    """
                    WITH next AS (
                        UPDATE fence SET last = CASE WHEN last < \(clock) THEN \(clock)
                            ELSE last + 1 + (random() * 4294967295)::int8 END
                        WHERE \(DatabaseEpoch.isCurrent("$4")) AND \(DatabaseEpoch.isSame("$4", "$5")) RETURNING last
                    )
                    INSERT INTO node (number, name, expires_at, newest_format)
                    SELECT last, $1, clock_timestamp() + $2 * interval '1 millisecond', $3 FROM next
                    RETURNING number
                    """,
                    [
                        .text(self.name), .integer(self.lifetimes.death.wholeMilliseconds),
                        .integer(self.newestFormat.rawValue), .integer(epoch.number), .integer(epoch.begun),
                    ]
                ),
            ])
            guard let row = results.last?.first else { return nil }
            return NodeLease(number: try row.integer(0), reliableUntil: sentAt + self.lifetimes.reliance)
        }
    }

    /// A deletion either waits for a running heartbeat and finds the lease renewed, or precedes it, and the heartbeat finds no
    /// lease. So all readers agree on whether a lease exists.
    func renew(_ lease: NodeLease) async throws -> NodeLease.Heartbeat {
        try await self.ask(self.keeperPool) { connection in
            if let channel { try connection.listen(to: channel) }
            let sentAt = ContinuousClock.now
            let results = try connection.run([
                DatabaseEpoch.isKnown,
                PostgresStatement(
                    """
                    UPDATE node SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
                    WHERE number = $1 AND expires_at > clock_timestamp() RETURNING number
                    """,
                    [.integer(lease.number), .integer(self.lifetimes.death.wholeMilliseconds)]
                ),
                NodeLease.sweep(self.lifetimes),
                PostgresStatement(
                    "SELECT DISTINCT activation_id FROM wish JOIN activation USING (slot) WHERE holder = $1",
                    [.integer(lease.number)]
                ),
            ])
            guard results.count == 4, let epoch = results[0].first else { throw PostgresError(.unexpectedResult) }
            guard try epoch.boolean(0) else {
                try DatabaseEpoch.check(connection)
                return NodeLease.Heartbeat(lease: nil, handoverRequests: [])
            }
            let renewed = NodeLease(number: lease.number, reliableUntil: sentAt + self.lifetimes.reliance)
            return NodeLease.Heartbeat(
                lease: results[1].isEmpty ? nil : renewed,
                handoverRequests: try results[3].map { try $0.text(0) }
            )
        }
    }

    func leave(_ lease: NodeLease) async throws {
        _ = try await self.ask { try $0.run("DELETE FROM node WHERE number = $1", [.integer(lease.number)]) }
    }

    // MARK: Rights

    func take(_ activationID: String, as lease: NodeLease) async throws -> RightAnswer {
        let values: [PostgresValue] = [.text(activationID), .integer(lease.number)]
        let newestFormat = PostgresValue.integer(self.newestFormat.rawValue)
        return try await self.ask { connection in
            let results = try connection.run([
                NodeLease.sweep(self.lifetimes),
                PostgresStatement(
                    """
                    UPDATE activation SET holder = $2 WHERE activation_id = $1 AND format <= $3
                        AND EXISTS (SELECT FROM node WHERE number = $2)
                        AND (holder IS NULL OR holder = $2 OR NOT EXISTS (SELECT FROM node WHERE number = holder))
                    """,
                    values + [newestFormat]
                ),
                PostgresStatement(
                    """
                    DELETE FROM wish USING activation
                    WHERE wish.slot = activation.slot AND activation_id = $1 AND node = $2 AND holder = $2
                    """,
                    values
                ),
                PostgresStatement(
                    """
                    WITH new AS (
                        INSERT INTO wish (slot, node) SELECT slot, $2 FROM activation
                        WHERE activation_id = $1 AND holder <> $2 AND EXISTS (SELECT FROM node WHERE number = $2)
                        ON CONFLICT DO NOTHING RETURNING 1
                    )
                    SELECT pg_notify($3, '') FROM new WHERE $3 IS NOT NULL
                    """,
                    values + [PostgresValue(self.channel)]
                ),
                PostgresStatement(
                    """
                    SELECT holder = $2, format <= $3, EXISTS (SELECT FROM node WHERE number = $2)
                    FROM activation WHERE activation_id = $1
                    """,
                    values + [newestFormat]
                ),
            ])
            guard let row = results.last?.first else { return .noActivation }
            guard try row.boolean(2) else { return .leaseLost }
            guard try row.boolean(1) else { return .newerFormat }
            return try !row.isNull(0) && row.boolean(0) ? .taken : .requested
        }
    }

    func handOver(_ activationID: String, from lease: NodeLease) async throws {
        _ = try await self.ask { connection in
            try connection.run(
                """
                WITH next AS (
                    SELECT wish.number, wish.node FROM wish JOIN activation USING (slot)
                    WHERE activation_id = $1 AND wish.node <> $2 ORDER BY wish.number LIMIT 1
                ), moved AS (
                    UPDATE activation SET holder = next.node FROM next
                    WHERE activation_id = $1 AND holder = $2 RETURNING next.number
                )
                DELETE FROM wish USING moved WHERE wish.number = moved.number
                """,
                [.text(activationID), .integer(lease.number)]
            )
        }
    }
}

extension NodeLease {
    /// Deletes expired leases. A lease longer than any heartbeat allows predates a setback of the database's clock. It is
    /// shortened to one lifetime, in which a living node renews it.
    static func sweep(_ lifetimes: NodeLifetimes) -> PostgresStatement {
        PostgresStatement(
            """
            WITH bounded AS (
                UPDATE node SET expires_at = clock_timestamp() + $1 * interval '1 millisecond'
                WHERE expires_at > clock_timestamp() + 2 * $1 * interval '1 millisecond'
            )
            DELETE FROM node WHERE expires_at <= clock_timestamp()
            """,
            [.integer(lifetimes.death.wholeMilliseconds)]
        )
    }
}

extension Duration {
    var wholeMilliseconds: Int64 { Int64(saturating: self / .milliseconds(1)) }
}
