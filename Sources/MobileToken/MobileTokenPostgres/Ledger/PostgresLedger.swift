import Basics
import Coordination
package import MobileTokenApprovals
import PostgresDatabase
import PowerAuthClient
import Synchronization

/// Keeps questions in PostgreSQL. Claims' leases use the database's clock.
package final class PostgresLedger: LedgerDriver {
    /// The state of the ledger that this process writes in.
    private struct Life: Sendable, Equatable {
        let epoch: Int64
        /// The number of adoptions of the ledger.
        let adoptions: Int64
        let audience: [UInt8]
        /// The check value of the current sealing key; `nil` until one is set.
        let keyCheck: [UInt8]?
    }

    private struct State {
        var life: Life?
        /// The claims to renew.
        var held: Set<Int64> = []
        var keeper: Task<Void, Never>?
        var isClosed = false
    }

    let database: PostgresDriver
    private let state = Mutex(State())

    package init(_ configuration: PostgresConfiguration) {
        self.database = PostgresDriver(configuration)
    }

    private func requireOpen() throws {
        guard !self.state.withLock({ $0.isClosed }) else { throw ApprovalError(.ledgerFailed, "The ledger was closed") }
    }

    private func life() throws -> Life {
        guard let life = self.state.withLock({ $0.life }) else {
            throw ApprovalError(.ledgerFailed, "The ledger is not open")
        }
        return life
    }

    // MARK: Opening

    package func open(audience: [UInt8]) async throws -> LedgerFacts {
        try self.requireOpen()
        let configuration = self.database.configuration
        guard configuration.lifetimes.areUsable else {
            throw MobileTokenError(.invalidConfiguration, "lifetimes: a death must come after two heartbeats at least")
        }
        try await self.database.prepare(migrates: configuration.migrates)
        let (life, facts) = try await self.database.withConnection { connection in
            try DatabaseEpoch.check(connection)
            let results = try connection.run([
                PostgresStatement(
                    "INSERT INTO ledger (audience) VALUES ($1) ON CONFLICT DO NOTHING",
                    [.bytes(audience)]
                ),
                PostgresStatement(
                    """
                    SELECT number, system_identifier, timeline, adoptions, key_check
                    FROM ledger, (SELECT * FROM incarnation ORDER BY number DESC LIMIT 1) AS epoch WHERE audience = $1
                    """,
                    [.bytes(audience)]
                ),
            ])
            guard let row = results.last?.first else { throw PostgresError(.unexpectedResult) }
            let life = Life(
                epoch: try row.integer(0),
                adoptions: try row.integer(3),
                audience: audience,
                keyCheck: row.isNull(4) ? nil : try row.bytes(4)
            )
            let name = "\(try row.text(1))/\(try row.text(2))/\(life.epoch)/\(life.adoptions)"
            return (life, LedgerFacts(keyCheck: life.keyCheck, incarnation: Array(name.utf8)))
        }
        self.state.withLock { $0.life = life }
        return facts
    }

    package func setKey(check: [UInt8]) async throws -> LedgerFacts {
        let audience = try self.life().audience
        try await self.database.withConnection { connection in
            _ = try connection.run(
                "UPDATE ledger SET key_check = $2 WHERE audience = $1 AND key_check IS NULL",
                [.bytes(audience), .bytes(check)]
            )
        }
        return try await self.open(audience: audience)
    }

    package func adopt(audience: [UInt8]) async throws {
        _ = try await self.open(audience: audience)
        try await self.database.withConnection { connection in
            _ = try connection.run(
                "UPDATE ledger SET adoptions = adoptions + 1 WHERE audience = $1",
                [.bytes(audience)]
            )
        }
        self.state.withLock { $0.life = nil }
    }

    package func close() async {
        let keeper = self.state.withLock { state in
            state.life = nil
            state.isClosed = true
            return state.keeper.take()
        }
        keeper?.cancel()
        await keeper?.value
        await self.database.close()
    }

    // MARK: Questions

    private static let columns = "key, state, incarnation, tag, needs_attention, asked, content"
    /// Begins a query for rows, including whether their action was begun.
    static let selection =
        "SELECT \(columns), EXISTS (SELECT FROM begun WHERE begun.key = question.key) FROM question"

    static func row(_ row: PostgresRow) throws -> LedgerRow {
        LedgerRow(
            key: LedgerKey(bytes: try row.bytes(0)),
            state: ApprovalState(rawValue: try row.text(1)),
            incarnation: try row.bytes(2),
            tag: try row.integer(3),
            needsAttention: try row.boolean(4),
            asked: try row.integer(5),
            content: try row.bytes(6),
            wasBegun: try row.boolean(7)
        )
    }

    /// The condition that database, ledger and sealing key are still those of this process's life.
    ///
    /// - Parameter place: The position of the life's values in the statement.
    private static func isCurrent(_ place: Int) -> String {
        """
        \(DatabaseEpoch.isCurrent("$\(place)"))
        AND EXISTS (
            SELECT FROM ledger WHERE audience = $\(place + 1) AND adoptions = $\(place + 2)
                AND key_check IS NOT DISTINCT FROM $\(place + 3)
        )
        """
    }

    private static func values(_ life: Life) -> [PostgresValue] {
        [
            .integer(life.epoch), .bytes(life.audience), .integer(life.adoptions),
            PostgresValue(life.keyCheck),
        ]
    }

    package func load(_ key: LedgerKey) async throws -> LedgerRow? {
        _ = try self.life()
        return try await self.database.withConnection { connection in
            try connection.run(
                "\(Self.selection) WHERE key = $1",
                [.bytes(key.bytes)],
                .none
            ).first.map { try Self.row($0) }
        }
    }

    package func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion {
        let life = try self.life()
        return try await self.database.withConnection { connection in
            try connection.transaction { transaction in
                let people = asking.people.sorted { $0.lexicographicallyPrecedes($1) }
                let results = try transaction.run([
                    // Questions to the same person wait here, everywhere in the same order.
                    PostgresStatement(
                        """
                        SELECT pg_advisory_xact_lock(hashtextextended('mobile-token asking ' || encode(person, 'hex'), 0))
                        FROM unnest($1::bytea[]) AS person
                        """,
                        [.byteStrings(people)]
                    ),
                    // A key change waits for this row lock, and then finds the question.
                    PostgresStatement("SELECT 1 FROM ledger WHERE audience = $1 FOR SHARE", [.bytes(life.audience)]),
                    PostgresStatement("SELECT \(Self.isCurrent(1))", Self.values(life)),
                    PostgresStatement(
                        "\(Self.selection) WHERE key = $1",
                        [.bytes(row.key.bytes)]
                    ),
                    PostgresStatement(
                        """
                        SELECT count(question.key) FILTER (WHERE state IN ('drafted', 'open')), max(at)
                        FROM unnest($1::bytea[]) WITH ORDINALITY AS one (person, place)
                        LEFT JOIN asked USING (person) LEFT JOIN question USING (key) GROUP BY place ORDER BY place
                        """,
                        [.byteStrings(asking.people)]
                    ),
                ])
                guard results.count == 5, let isCurrent = results[2].first else {
                    throw PostgresError(.unexpectedResult)
                }
                guard try isCurrent.boolean(0) else { return .otherIncarnation }
                if let held = try results[3].first.map({ try Self.row($0) }) {
                    return held.tag == row.tag ? .written : .held(held)
                }
                for person in try results[4].map({ (try $0.integer(0), $0.isNull(1) ? nil : try $0.integer(1)) }) {
                    if person.0 >= asking.maximumOpen { return .tooManyOpen }
                    if let objection = asking.objection(to: row.asked, after: person.1) { return objection }
                }
                let written = try transaction.run([
                    // Only open and recent questions count for limits. Others would be counted forever.
                    PostgresStatement(
                        """
                        DELETE FROM asked WHERE person = ANY ($1::bytea[]) AND at < $2 AND NOT EXISTS
                            (SELECT FROM question WHERE question.key = asked.key AND state IN ('drafted', 'open'))
                        """,
                        [
                            .byteStrings(asking.people),
                            .integer(row.asked.subtractingSaturated(asking.interval)),
                        ]
                    ),
                    PostgresStatement(
                        """
                        INSERT INTO question (\(Self.columns), audience) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                        ON CONFLICT DO NOTHING RETURNING 1
                        """,
                        [
                            .bytes(row.key.bytes), .text(row.state?.rawValue ?? ""), .bytes(row.incarnation),
                            .integer(row.tag), .boolean(row.needsAttention), .integer(row.asked), .bytes(row.content),
                            .bytes(life.audience),
                        ]
                    ),
                    PostgresStatement(
                        """
                        INSERT INTO asked (person, at, key) SELECT person, $2, $3 FROM unnest($1::bytea[]) AS person
                        WHERE EXISTS (SELECT FROM question WHERE key = $3 AND tag = $4) ON CONFLICT DO NOTHING
                        """,
                        [
                            .byteStrings(asking.people), .integer(row.asked), .bytes(row.key.bytes), .integer(row.tag),
                        ]
                    ),
                    PostgresStatement(
                        "\(Self.selection) WHERE key = $1",
                        [.bytes(row.key.bytes)]
                    ),
                ])
                guard let stored = try written.last?.first.map({ try Self.row($0) }) else {
                    throw PostgresError(.unexpectedResult)
                }
                // Two questions with the same name but other people may be drafted concurrently.
                return stored.tag == row.tag ? .written : .held(stored)
            }
        }
    }

    package func swap(_ change: LedgerChange) async throws -> LedgerSwap {
        let life = try self.life()
        let update = """
            UPDATE question SET state = $1, tag = $2, needs_attention = $3, content = $4
            WHERE key = $5 AND state = $6 AND incarnation = $7 AND tag = $8 AND \(Self.isCurrent(9))
            """
        let claim = """
            WITH claimed AS (\(update) AND NOT EXISTS (SELECT FROM begun WHERE key = $5) RETURNING key)
            INSERT INTO begun (key) SELECT key FROM claimed RETURNING 1
            """
        let statements = [
            PostgresStatement(
                change.isClaim ? claim : update + " RETURNING 1",
                [
                    .text(change.newState.rawValue), .integer(change.newTag), .boolean(change.needsAttention),
                    .bytes(change.content), .bytes(change.key.bytes), .text(change.state.rawValue),
                    .bytes(change.incarnation), .integer(change.tag),
                ] + Self.values(life)
            ),
            PostgresStatement("SELECT \(Self.isCurrent(1))", Self.values(life)),
        ]
        let results = try await self.database.run(statements, in: self.database.durable, slot: Self.place(change.key))
        guard results.count == 2, let isCurrent = results[1].first else { throw PostgresError(.unexpectedResult) }
        if !results[0].isEmpty { return .written }
        return try isCurrent.boolean(0) ? .otherRow : .otherIncarnation
    }

    /// The position of a question in the global order of row locks.
    static func place(_ key: LedgerKey) -> Int64 { key.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) } }

    package func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws {
        try self.requireOpen()
        try await self.database.withConnection { connection in
            _ = try connection.run(
                "DELETE FROM asked WHERE person = ANY ($1::bytea[]) AND key = $2",
                [.byteStrings(people), .bytes(key.bytes)],
                .relaxed
            )
        }
    }

    package func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) async throws -> [LedgerRow] {
        let condition: String
        var values: [PostgresValue] = [
            .bytes(try self.life().audience), .bytes(key?.bytes ?? []), .integer(Int64(limit)),
        ]
        switch filter {
        case .needingAttention: condition = "needs_attention"
        case .states(let states):
            condition = "state = ANY ($4::text[])"
            values.append(.texts(states.map(\.rawValue).sorted()))
        }
        return try await self.database.withConnection { [values] connection in
            try connection.run(
                """
                \(Self.selection) WHERE audience = $1 AND key > $2 AND \(condition)
                ORDER BY key LIMIT $3
                """,
                values,
                .none
            ).map { try Self.row($0) }
        }
    }

    // MARK: Leases

    package func hold(_ token: Int64) async throws {
        try self.requireOpen()
        let lifetime = PostgresValue.integer(self.database.configuration.lifetimes.death.wholeMilliseconds)
        // After a server crash, the next claim has the same information, because it commits later.
        try await self.database.withConnection { connection in
            _ = try connection.run(
                [
                    PostgresStatement("DELETE FROM claim WHERE expires_at < clock_timestamp() - interval '1 day'"),
                    PostgresStatement(
                        """
                        INSERT INTO claim (token, expires_at)
                        VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
                        """,
                        [.integer(token), lifetime]
                    ),
                ],
                .relaxed
            )
        }
        let isKept = self.state.withLock { state in
            guard !state.isClosed else { return false }
            state.held.insert(token)
            // Not the caller's task: it runs while claims are held, and ends by itself or with `close()`.
            if state.keeper == nil { state.keeper = Task { await self.keep() } }
            return true
        }
        // The ledger was closed meanwhile, and the unrenewed lease expires.
        if !isKept { try self.requireOpen() }
    }

    package func release(_ token: Int64) async {
        let isOpen = self.state.withLock { state in
            state.held.remove(token)
            return !state.isClosed
        }
        guard isOpen else { return }
        // If this fails, or the ledger is closed, the lease expires. The caller may be canceled.
        await shielded { [database] in
            _ = try? await database.withConnection { connection in
                try connection.run("DELETE FROM claim WHERE token = $1", [.integer(token)], .relaxed)
            }
        }
    }

    package func isHeld(_ token: Int64) async throws -> Bool {
        try self.requireOpen()
        return try await self.database.withConnection { connection in
            try connection.run(
                "SELECT EXISTS (SELECT FROM claim WHERE token = $1 AND expires_at > clock_timestamp())",
                [.integer(token)],
                .none
            ).first?.boolean(0) ?? false
        }
    }

    /// Renews the leases of held claims. An expired one stays expired, because another process may have seen that.
    private func keep() async {
        let lifetimes = self.database.configuration.lifetimes
        while true {
            try? await self.database.clock.sleep(until: self.database.clock.now + lifetimes.heartbeat)
            let held = self.state.withLock { state -> [Int64] in
                if state.held.isEmpty || Task.isCancelled { state.keeper = nil }
                return Array(state.held)
            }
            guard !held.isEmpty, !Task.isCancelled else { return }
            _ = try? await self.database.withKeeperConnection { connection in
                try connection.run(
                    """
                    UPDATE claim SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
                    WHERE token = ANY ($1::int8[]) AND expires_at > clock_timestamp()
                    """,
                    [.integers(held), .integer(lifetimes.death.wholeMilliseconds)],
                    .relaxed
                )
            }
        }
    }
}
