import PostgresDatabase

/// The epochs of a database, numbered in the table `incarnation`. A restore, or the promotion of a lagging standby, sets counters
/// back. It is detected by another system identifier, another timeline, or a counter behind a node's external mark (a restored
/// volume keeps identifier and timeline). Each begins a new epoch, in which activations may have signed more than the database
/// knows until they are compared with the server. An epoch deletes all leases, so that nothing is signed under an earlier one,
/// and closes limits, whose charges may be missing.
/// Each new connection and heartbeat checks identifier and timeline; each change checks the timeline only, because a pooler may
/// switch a connection to another server.
package enum DatabaseEpoch {
    private static let timeline = "left(pg_walfile_name(pg_current_wal_lsn()), 8)"
    private static let now = """
        SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier, \(Self.timeline) AS timeline
        """
    private static let comparison = """
        WITH now AS (\(Self.now)),
        last AS (SELECT system_identifier, timeline FROM incarnation ORDER BY number DESC LIMIT 1)
        """

    /// Queries whether the last epoch has the present identifier and timeline.
    static let isKnown = PostgresStatement(
        "\(Self.comparison) SELECT EXISTS (SELECT FROM now JOIN last USING (system_identifier, timeline))"
    )

    /// Only one of the nodes that notice begins an epoch. It needs no right to the table.
    static let lock = PostgresStatement("SELECT pg_advisory_xact_lock('incarnation'::regclass::oid::int8)")

    /// The condition that an epoch is the last one and its timeline is current.
    ///
    /// - Parameter number: The epoch's number as SQL.
    static func isCurrent(_ number: String) -> String {
        """
        EXISTS (SELECT FROM incarnation WHERE number = \(number) AND timeline = \(self.timeline))
        AND NOT EXISTS (SELECT FROM incarnation WHERE number > \(number))
        """
    }

    /// Checks a new connection: the server is writable, and the database is the same. A standby's session survives its promotion,
    /// and would not be checked again.
    static func check(new connection: PostgresConnection) throws {
        let row = try connection.run("SELECT pg_is_in_recovery(), to_regclass('incarnation') IS NOT NULL", [], .none)[0]
        guard try !row.boolean(0) else {
            throw PostgresError(.unreachable, detail: "the server stands by, and is no primary")
        }
        if try row.boolean(1) { try self.check(connection) }
    }

    /// Checks whether the database is the same, and otherwise begins a new epoch.
    static func check(_ connection: PostgresConnection) throws {
        let isKnown = try connection.run([self.isKnown], .none).first?.first?.boolean(0)
        if isKnown != true {
            try self.begin(
                """
                INSERT INTO incarnation (system_identifier, timeline, reason)
                SELECT system_identifier, timeline, 'another system identifier or timeline' FROM now
                WHERE NOT EXISTS (SELECT FROM now JOIN last USING (system_identifier, timeline))
                """,
                [],
                connection
            )
        }
    }

    /// Begins a new epoch because a counter is behind its mark, unless one has begun since.
    ///
    /// - Parameter number: The epoch in which the counter was read.
    static func begin(after number: Int64, _ connection: PostgresConnection) throws {
        try self.begin(
            """
            INSERT INTO incarnation (system_identifier, timeline, reason)
            SELECT system_identifier, timeline, 'a counter behind its mark' FROM now
            WHERE (SELECT max(number) FROM incarnation) = $1
            """,
            [.integer(number)],
            connection
        )
    }

    private static func begin(_ insertion: String, _ values: [PostgresValue], _ connection: PostgresConnection) throws {
        // A connection is checked before its tables are migrated: those of before there were limits lack no charges.
        let hasLimits = try connection.run("SELECT to_regclass('charge') IS NOT NULL", [], .none).first?.boolean(0)
        let closing = hasLimits == true ? ", " + StoredLimits.closing : ""
        // Two statements, so that the second one sees the changes of the lock's former holder.
        try connection.run([
            self.lock,
            PostgresStatement(
                """
                \(self.comparison), begun AS (\(insertion) RETURNING 1)\(closing)
                DELETE FROM node WHERE EXISTS (SELECT FROM begun)
                """,
                values
            ),
        ])
    }

    /// Identifies an epoch. The number alone is not unique: a failover may lose an epoch and reuse its number.
    package struct Identity: Sendable, Hashable {
        package let number: Int64
        /// The start by the database's clock, in microseconds since 1970.
        package let begun: Int64

        package init(number: Int64, begun: Int64) {
            self.number = number
            self.begun = begun
        }
    }

    /// SQL condition: the epoch with this number began at this time.
    ///
    /// - Parameters:
    ///   - number: The epoch's number as SQL.
    ///   - begun: The epoch's start as SQL.
    static func isSame(_ number: String, _ begun: String) -> String {
        "EXISTS (SELECT FROM incarnation WHERE number = \(number) AND \(self.begun) = \(begun))"
    }

    private static let begun = "(extract(epoch FROM begun_at) * 1000000)::int8"

    /// The period without new rights after an epoch begins: former nodes may still rely on theirs.
    package struct Quarantine: Sendable, Equatable {
        let epoch: Identity
        /// By the database's clock, at most a lifetime; zero if rights may be given.
        let rest: Duration

        package init(epoch: Identity, rest: Duration) {
            self.epoch = epoch
            self.rest = rest
        }
    }

    /// Returns the remaining quarantine of the present epoch. The first epoch has none.
    static func quarantine(_ lifetimes: NodeLifetimes, _ connection: PostgresConnection) throws -> Quarantine {
        let row = try connection.run(
            """
            SELECT number, \(self.begun), CASE WHEN number > (SELECT min(number) FROM incarnation)
                THEN ceil(extract(epoch FROM begun_at - clock_timestamp()) * 1000)::int8 + $1 ELSE 0 END
            FROM incarnation ORDER BY number DESC LIMIT 1
            """,
            [.integer(lifetimes.death.wholeMilliseconds)],
            .none
        ).first
        guard let row else { throw PostgresError(.unexpectedResult) }
        let rest = Duration.milliseconds(try row.integer(2))
        return Quarantine(
            epoch: Identity(number: try row.integer(0), begun: try row.integer(1)),
            rest: max(.zero, min(lifetimes.death, rest))
        )
    }
}
