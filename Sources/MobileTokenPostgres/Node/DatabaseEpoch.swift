import PostgresDatabase

/// The epochs of a database, which the table `incarnation` numbers.
///
/// A restore, or the promotion of a standby that lagged, takes counters back. Such a database shows itself by another system
/// identifier, by another timeline, or by a counter behind the mark that a node keeps outside of it (a volume that was put back
/// keeps identifier and timeline). Each begins another epoch, and what was not compared with the server in this epoch may
/// have signed more than it knows.
///
/// An epoch takes all leases away, so that nothing is signed under one that was taken in the epoch before. The identifier and the
/// timeline are looked at by each new connection, by each heartbeat and, the timeline alone, by each change: a pooler may
/// keep a connection while it goes over to another server.
package enum DatabaseEpoch {
    private static let timeline = "left(pg_walfile_name(pg_current_wal_lsn()), 8)"
    private static let now = """
        SELECT (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier, \(Self.timeline) AS timeline
        """
    private static let comparison = """
        WITH now AS (\(Self.now)),
        last AS (SELECT system_identifier, timeline FROM incarnation ORDER BY number DESC LIMIT 1)
        """

    /// The question whether the last epoch has the identifier and the timeline of now.
    static let isKnown = PostgresStatement(
        "\(Self.comparison) SELECT EXISTS (SELECT FROM now JOIN last USING (system_identifier, timeline))"
    )

    /// One of the nodes that notice begins an epoch. No right to the table is needed for it.
    static let lock = PostgresStatement("SELECT pg_advisory_xact_lock('incarnation'::regclass::oid::int8)")

    /// The condition that an epoch is the last one, and the timeline still that of its beginning.
    ///
    /// - Parameter number: The place of the epoch's number in the statement.
    static func isCurrent(_ number: String) -> String {
        """
        EXISTS (SELECT FROM incarnation WHERE number = \(number) AND timeline = \(self.timeline))
        AND NOT EXISTS (SELECT FROM incarnation WHERE number > \(number))
        """
    }

    /// Makes sure of a new connection: it leads to a server that may write, and that is the one that it was.
    ///
    /// A session of a standby outlives its promotion, and would not be asked again.
    static func check(new connection: PostgresConnection) throws {
        let row = try connection.run("SELECT pg_is_in_recovery(), to_regclass('incarnation') IS NOT NULL", [], .none)[0]
        guard try !row.boolean(0) else {
            throw PostgresError(.unreachable, detail: "the server stands by, and is no primary")
        }
        if try row.boolean(1) { try self.check(connection) }
    }

    /// Looks whether the database is the one that it was, and begins another epoch when it is not.
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

    /// Begins another epoch because a counter is behind its mark, unless another node has done so since it was read.
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
        // Two statements, so that the second one sees what another node did before it had the lock.
        try connection.run([
            self.lock,
            PostgresStatement(
                """
                \(self.comparison), begun AS (\(insertion) RETURNING 1)
                DELETE FROM node WHERE EXISTS (SELECT FROM begun)
                """,
                values
            ),
        ])
    }

    /// An epoch, and no other one of its number: a failover that loses an epoch lets its number be given again.
    package struct Identity: Sendable, Hashable {
        package let number: Int64
        /// The time when it began by the database's clock, in microseconds since 1970.
        package let begun: Int64

        package init(number: Int64, begun: Int64) {
            self.number = number
            self.begun = begun
        }
    }

    /// The condition that an epoch is the one of its number that began at its time.
    ///
    /// - Parameters:
    ///   - number: The place of the epoch's number in the statement.
    ///   - begun: The place of its beginning.
    static func isSame(_ number: String, _ begun: String) -> String {
        "EXISTS (SELECT FROM incarnation WHERE number = \(number) AND \(self.begun) = \(begun))"
    }

    /// The question for the identity of the epoch of now, as `number` and `begun`.
    static let identity = "SELECT number, \(Self.begun) AS begun FROM incarnation ORDER BY number DESC LIMIT 1"

    private static let begun = "(extract(epoch FROM begun_at) * 1000000)::int8"

    /// The time in which no right may be given yet: nodes of the epoch before may still rely on theirs.
    package struct Quarantine: Sendable, Equatable {
        let epoch: Identity
        /// By the database's clock, and a lifetime at most; zero when a right may be given.
        let rest: Duration

        package init(epoch: Identity, rest: Duration) {
            self.epoch = epoch
            self.rest = rest
        }
    }

    /// Returns how long no right may be given yet in the epoch of now. The first one has none.
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
