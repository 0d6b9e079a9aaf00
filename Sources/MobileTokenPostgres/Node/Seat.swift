import Basics
import PostgresDatabase
import PowerAuth

/// A node's membership: the number under which it holds rights, and how long it may rely on it.
///
/// The number is the fence. A node that was silent for too long is deleted, and comes back under a greater number; what it
/// held under the old one is nobody's.
struct Seat: Sendable, Equatable {
    let number: Int64
    /// By this machine's clock, which goes on while it is suspended.
    var reliableUntil: ContinuousClock.Instant

    var isReliable: Bool { .now < self.reliableUntil }
}

extension Seat {
    /// Takes a seat.
    ///
    /// Numbers follow the database's clock, in microseconds, so that they grow even when the database was put back to a state in
    /// which the latest ones had not been given.
    static func take(
        name: String,
        reading newestFormat: RecordFormat,
        _ lifetimes: NodeLifetimes,
        _ connection: PostgresConnection
    ) throws -> Seat {
        let sentAt = ContinuousClock.now
        let rows = try connection.run(
            """
            INSERT INTO node (number, name, expires_at, newest_format)
            SELECT greatest(
                    (extract(epoch FROM clock_timestamp()) * 1000000)::int8,
                    coalesce((SELECT max(number) + 1 FROM node), 0)
                ), $1, clock_timestamp() + $2 * interval '1 millisecond', $3
            ON CONFLICT DO NOTHING
            RETURNING number
            """,
            [.text(name), .integer(lifetimes.death.wholeMilliseconds), .integer(newestFormat.rawValue)]
        )
        // Two nodes in one microsecond: the next attempt has another one.
        guard let row = rows.first else {
            return try self.take(name: name, reading: newestFormat, lifetimes, connection)
        }
        return Seat(number: try row.integer(0), reliableUntil: sentAt + lifetimes.reliance)
    }

    /// What a heartbeat finds.
    struct Heartbeat: Sendable {
        /// `nil` when the seat was taken away.
        let seat: Seat?
        /// The activations which this node may sign with and another one waits for.
        let wishes: [String]
    }

    /// Renews a seat, and takes away those of nodes that were silent for too long.
    ///
    /// Whoever deletes a seat waits for a heartbeat that is under way, and finds it renewed, or deletes it before, and the
    /// heartbeat finds nothing. So a seat is there or gone, whatever reads it.
    func renew(_ lifetimes: NodeLifetimes, _ connection: PostgresConnection) throws -> Heartbeat {
        let sentAt = ContinuousClock.now
        let results = try connection.run([
            PostgresStatement(
                """
                UPDATE node SET expires_at = clock_timestamp() + $2 * interval '1 millisecond'
                WHERE number = $1 AND expires_at > clock_timestamp() RETURNING number
                """,
                [.integer(self.number), .integer(lifetimes.death.wholeMilliseconds)]
            ),
            Self.sweep,
            PostgresStatement(
                """
                SELECT DISTINCT activation_id FROM wish JOIN activation USING (slot) WHERE holder = $1
                """,
                [.integer(self.number)]
            ),
        ])
        guard results.count == 3 else { throw PostgresError(.unexpectedResult) }
        let isRenewed = !results[0].isEmpty
        return Heartbeat(
            seat: isRenewed ? Seat(number: self.number, reliableUntil: sentAt + lifetimes.reliance) : nil,
            wishes: try results[2].map { try $0.text(0) }
        )
    }

    /// Gives a seat back, with all rights that are held under it.
    func leave(_ connection: PostgresConnection) throws {
        try connection.run("DELETE FROM node WHERE number = $1", [.integer(self.number)])
    }

    /// Takes away the seats of nodes that were silent for too long.
    static let sweep = PostgresStatement("DELETE FROM node WHERE expires_at <= clock_timestamp()")
}

extension Duration {
    var wholeMilliseconds: Int64 { Int64(saturating: self / .milliseconds(1)) }
}
