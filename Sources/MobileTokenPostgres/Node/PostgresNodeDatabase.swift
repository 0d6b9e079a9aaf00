import PostgresDatabase
import PowerAuth

/// The statements of a node.
struct PostgresNodeDatabase: NodeDatabase {
    /// The name of the node, for people.
    let name: String
    let lifetimes: NodeLifetimes
    /// The latest form of activations that the node reads.
    let newestFormat: RecordFormat
    let schema: String
    /// The connections for all that callers wait for.
    let pool: PostgresPool
    /// The one connection for heartbeats, which wait for nothing else.
    let keeperPool: PostgresPool
    /// The channel of handover requests; `nil` where sessions cannot listen.
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

    func takeLease(in epoch: DatabaseEpoch.Identity) async throws -> NodeLease? {
        try await self.ask {
            try NodeLease.take(name: self.name, reading: self.newestFormat, in: epoch, self.lifetimes, $0)
        }
    }

    func renew(_ lease: NodeLease) async throws -> NodeLease.Heartbeat {
        try await self.ask(self.keeperPool) { connection in
            if let channel { try connection.listen(to: channel) }
            return try lease.renew(self.lifetimes, connection)
        }
    }

    func leave(_ lease: NodeLease) async throws { try await self.ask { try lease.leave($0) } }

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
