import PostgresDatabase

/// The lives of a database.
///
/// A restore, or the promotion of a standby that lagged, takes counters back. Such a database shows itself by another system
/// identifier, by another timeline, or by a counter behind the mark that a node keeps outside of it (a volume that was put back
/// keeps identifier and timeline). Each begins another life, and what was not compared with the server in this life may
/// have signed more than it knows.
enum Incarnation {
    private static let now = """
        SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
            left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline
        """

    /// Looks whether the database is the one that it was, and begins another life when it is not.
    static func check(_ connection: PostgresConnection) throws {
        let isKnown = try connection.run(
            """
            WITH now AS (\(self.now)),
            last AS (SELECT system_identifier, timeline FROM incarnation ORDER BY number DESC LIMIT 1)
            SELECT EXISTS (SELECT FROM now JOIN last USING (system_identifier, timeline))
            """,
            [],
            .none
        )[0].boolean(0)
        if !isKnown { try self.begin(reason: "another system identifier or timeline", unlessKnown: true, connection) }
    }

    /// Begins another life.
    ///
    /// - Parameter isKnown: Whether nothing is to be done when the last life has the identifier and the timeline of now.
    static func begin(reason: String, unlessKnown isKnown: Bool, _ connection: PostgresConnection) throws {
        try connection.transaction { transaction in
            // One of the nodes that notice.
            try transaction.run("LOCK TABLE incarnation IN SHARE ROW EXCLUSIVE MODE")
            try transaction.run(
                """
                WITH now AS (\(self.now)),
                last AS (SELECT system_identifier, timeline FROM incarnation ORDER BY number DESC LIMIT 1)
                INSERT INTO incarnation (system_identifier, timeline, reason)
                SELECT system_identifier, timeline, $1 FROM now
                WHERE NOT ($2 AND EXISTS (SELECT FROM now JOIN last USING (system_identifier, timeline)))
                """,
                [.text(reason), .boolean(isKnown)]
            )
        }
    }

    /// Begins another life because a counter is behind its mark, unless another node has done so since it was read.
    ///
    /// - Parameter number: The life in which the counter was read.
    static func begin(after number: Int64, _ connection: PostgresConnection) throws {
        try connection.transaction { transaction in
            try transaction.run("LOCK TABLE incarnation IN SHARE ROW EXCLUSIVE MODE")
            try transaction.run(
                """
                INSERT INTO incarnation (system_identifier, timeline, reason)
                SELECT system_identifier, timeline, 'a counter behind its mark' FROM (\(self.now)) AS now
                WHERE (SELECT max(number) FROM incarnation) = $1
                """,
                [.integer(number)]
            )
        }
    }

    /// How long no right may be given yet: nodes of the life before may still rely on theirs.
    static func quarantine(_ lifetimes: NodeLifetimes, _ connection: PostgresConnection) throws -> Duration {
        let milliseconds = try connection.run(
            """
            SELECT coalesce((
                SELECT ceil(extract(epoch FROM begun_at - clock_timestamp()) * 1000)::int8 + $1
                FROM incarnation WHERE number > (SELECT min(number) FROM incarnation)
                ORDER BY number DESC LIMIT 1
            ), 0)
            """,
            [.integer(lifetimes.death.wholeMilliseconds)],
            .none
        )[0].integer(0)
        // A clock that was turned back must not keep anybody out for longer than that.
        return min(lifetimes.death, .milliseconds(max(0, milliseconds)))
    }
}
