import MobileToken
import PostgresDatabase

/// The statements by which nodes share lists.
enum ListTable {
    /// The name that the values are sealed as.
    static let name = "operation-list"
    /// The number of rows that are read or written at once.
    static let pageSize = 200

    /// A list as it is kept.
    struct Row: Sendable {
        let activationID: String
        let place: ListPlace
        let sealingKey: Int64
        let body: [UInt8]
    }

    /// The result of one reading.
    struct Page: Sendable {
        let horizon: ListHorizon
        let rows: [Row]
    }

    // MARK: Reading

    /// Reads lists that were written by a transaction that may have been under way at the last reading, or began since.
    ///
    /// The horizon is taken by a statement of its own, before the lists: what commits in between is read again, not missed.
    static func read(after cursor: ListCursor, _ connection: PostgresConnection) throws -> Page {
        let seen = cursor.seen
        let results = try connection.run(
            [
                PostgresStatement(
                    """
                    SELECT pg_snapshot_xmin(now)::text::int8, pg_snapshot_xmax(now)::text::int8, number, begun
                    FROM pg_current_snapshot() AS now, (\(DatabaseEpoch.identity)) AS epoch
                    """
                ),
                PostgresStatement(
                    """
                    SELECT activation_id, slot, list.version, written_by, list.sealing_key, body
                    FROM list JOIN activation USING (slot)
                    WHERE (written_by, slot) >= ($1, $2) AND NOT EXISTS (
                        SELECT FROM unnest($3::int8[], $4::int8[]) AS seen (slot, version)
                        WHERE seen.slot = list.slot AND seen.version = list.version
                    )
                    ORDER BY written_by, slot LIMIT $5
                    """,
                    [
                        .integer(cursor.start.transaction), .integer(cursor.start.slot),
                        .integers(seen.map(\.slot)), .integers(seen.map(\.version)), .integer(Int64(self.pageSize)),
                    ]
                ),
            ],
            .none
        )
        guard results.count == 2, let now = results[0].first else { throw PostgresError(.unexpectedResult) }
        return Page(
            horizon: ListHorizon(
                oldest: try now.integer(0),
                next: try now.integer(1),
                epoch: DatabaseEpoch.Identity(number: try now.integer(2), begun: try now.integer(3))
            ),
            rows: try self.rows(results[1])
        )
    }

    private static func rows(_ rows: PostgresRows) throws -> [Row] {
        try rows.map { row in
            Row(
                activationID: try row.text(0),
                place: try self.place(row),
                sealingKey: try row.integer(4),
                body: try row.bytes(5)
            )
        }
    }

    private static func place(_ row: PostgresRow) throws -> ListPlace {
        ListPlace(slot: try row.integer(1), version: try row.integer(2), transaction: try row.integer(3))
    }

    // MARK: Writing

    /// A list to be kept.
    struct Change: Sendable {
        let activationID: String
        let body: [UInt8]
    }

    /// Writes lists of activations whose buckets a node owns, and of no others.
    ///
    /// The bucket is locked until this is done: whoever takes it over finds the last list that the node before wrote, and a
    /// late statement of that node finds that the bucket is not its own any more. The fence of the list that is there tells nothing: a node
    /// that has been alive for longer takes buckets over from a younger one.
    ///
    /// - Returns: The activations whose lists were written, each with the place where its list can be read.
    static func write(
        _ changes: [Change],
        as lease: NodeLease,
        key: Int64,
        _ connection: PostgresConnection
    ) throws -> [(activationID: String, place: ListPlace)] {
        let buckets = changes.map { Int64(OperationsFleet.Buckets.bucket(of: $0.activationID)) }
        let statement = PostgresStatement(
            """
            WITH change AS MATERIALIZED (
                SELECT slot, change.* FROM unnest($2::text[], $3::int8[], $4::bytea[]) AS change (activation_id, bucket, body)
                JOIN activation USING (activation_id)
            ), mine AS MATERIALIZED (
                SELECT number FROM bucket WHERE owner = $1 AND number = ANY ($3::int8[]) ORDER BY number FOR SHARE
            ), written AS (
                INSERT INTO list (slot, version, fence, written_by, sealing_key, body)
                SELECT slot, (extract(epoch FROM clock_timestamp()) * 1000000)::int8, $1, pg_current_xact_id()::text::int8,
                    $5, body
                FROM change JOIN mine ON mine.number = change.bucket ORDER BY slot
                ON CONFLICT (slot) DO UPDATE SET version = greatest(excluded.version, list.version + 1),
                    fence = excluded.fence, written_by = excluded.written_by, sealing_key = excluded.sealing_key,
                    body = excluded.body
                RETURNING slot, version, written_by
            )
            SELECT activation_id, slot, version, written_by FROM written JOIN change USING (slot)
            """,
            [
                .integer(lease.number), .texts(changes.map(\.activationID)), .integers(buckets),
                .byteStrings(changes.map(\.body)), .integer(key),
            ]
        )
        // A crash may take back what the next poll finds again.
        guard let rows = try connection.run([statement], .relaxed).first else { throw PostgresError(.unexpectedResult) }
        return try rows.map { (try $0.text(0), try self.place($0)) }
    }

    /// Tells the nodes that listen that there is something to read. In a transaction of its own: notifying ones commit one after
    /// the other.
    static func notify(_ channel: String, _ connection: PostgresConnection) throws {
        try connection.run("SELECT pg_notify($1, '')", [.text(channel)], .relaxed)
    }

    // MARK: Another key

    /// Finds lists that another key has sealed, behind the one of an activation.
    static func notSealed(
        with key: Int64,
        after slot: Int64,
        _ connection: PostgresConnection
    ) throws -> [Row] {
        try self.rows(
            connection.run(
                """
                SELECT activation_id, slot, list.version, written_by, list.sealing_key, body
                FROM list JOIN activation USING (slot) WHERE list.sealing_key <> $1 AND slot > $2 ORDER BY slot LIMIT $3
                """,
                [.integer(key), .integer(slot), .integer(Int64(self.pageSize))],
                .none
            )
        )
    }

    /// Writes the same list sealed with another key, which is no news, unless there is a newer one.
    static func replace(_ place: ListPlace, with body: [UInt8], key: Int64, _ connection: PostgresConnection) throws {
        try connection.run(
            "UPDATE list SET sealing_key = $3, body = $4 WHERE slot = $1 AND version = $2",
            [.integer(place.slot), .integer(place.version), .integer(key), .bytes(body)],
            .relaxed
        )
    }
}
