import Basics
import Foundation
import PostgresDatabase
import PowerAuth

/// The pause of automatic decisions, as a setting: the date in milliseconds, and the reason.
enum StoredPause {
    /// The name of the setting, which stands in the statement that moves a counter as well.
    static let name = "decision-pause"

    static let query = PostgresStatement("SELECT value FROM setting WHERE name = '\(Self.name)'")

    /// - Returns: `nil` when there is no row. Whatever a row says, it stops: reading it must not be what goes wrong.
    static func read(_ rows: PostgresRows?) throws -> DecisionPause? {
        guard let row = rows?.first else { return nil }
        let bytes = try row.bytes(0)
        let milliseconds = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return DecisionPause(
            date: Date(milliseconds: Int64(bitPattern: milliseconds)),
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
