import Basics
import Foundation
import PostgresDatabase
import PowerAuthClient

/// The pause of automatic decisions, as a setting: the date in milliseconds, and the reason.
enum StoredPause {
    /// The name of the setting, which is also in the statement that moves a counter.
    static let name = "decision-pause"

    static let lock = "'setting'::regclass::oid::int8"
    private static let isThere = "EXISTS (SELECT FROM setting WHERE name = '\(Self.name)')"

    /// The condition for a change that a pause stops.
    static let isAbsent = "NOT \(Self.isThere)"

    /// The statements that a transaction ends with which makes a change that heeds a pause. They fail, and all of it with them, when there
    /// is one by now.
    ///
    /// The change may have waited for the lock of its row, and its condition is that of the moment before. From the first of
    /// these statements on, whoever pauses waits for the transaction's end; what paused before is seen by the second.
    static let confirmation = [
        PostgresStatement("SELECT pg_advisory_xact_lock_shared(\(Self.lock))"),
        PostgresStatement("SELECT 1 / CASE WHEN \(Self.isThere) THEN 0 ELSE 1 END"),
    ]

    /// Waits for the changes that did not see a committed pause.
    static let drain = PostgresStatement("SELECT pg_advisory_xact_lock(\(Self.lock))")

    /// Returns whether a pause made the transaction fail, the only cause of a division by zero.
    static func stopped(_ error: MobileTokenError) -> Bool {
        (error.underlying as? PostgresError)?.sqlState == "22012"
    }

    static let query = PostgresStatement("SELECT value FROM setting WHERE name = '\(Self.name)'")

    /// Never fails: an unreadable row still is a pause.
    static func read(_ bytes: [UInt8]) -> DecisionPause {
        let milliseconds = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return DecisionPause(
            date: Date(millisecondsSince1970: Int64(bitPattern: milliseconds)),
            reason: String(decoding: bytes.dropFirst(8), as: UTF8.self)
        )
    }

    static func change(to pause: DecisionPause?) -> PostgresStatement {
        guard let pause else { return PostgresStatement("DELETE FROM setting WHERE name = '\(Self.name)'") }
        return PostgresStatement(
            """
            INSERT INTO setting (name, value) VALUES ('\(Self.name)', $1)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value
            """,
            [.bytes(pause.date.milliseconds.bigEndianBytes + Array(pause.reason.utf8))]
        )
    }
}
