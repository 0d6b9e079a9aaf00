import PostgresDatabase
import PowerAuthClient

/// The sealing keys in use, by number.
enum SealingKeyTable {
    private static let query = PostgresStatement("SELECT number, key_check FROM sealing_key ORDER BY number")

    static func read(_ connection: PostgresConnection) throws -> [StoreFacts.Key] {
        try self.keys(connection.run([self.query], .none).first)
    }

    /// Adds a key, unless another node added one since the keys were read; returns the resulting keys.
    static func add(
        _ check: [UInt8],
        to known: [StoreFacts.Key],
        _ connection: PostgresConnection
    ) throws -> [StoreFacts.Key] {
        try connection.transaction { transaction in
            // It needs no right to the table.
            try transaction.run("SELECT pg_advisory_xact_lock('sealing_key'::regclass::oid::int8)")
            let keys = try self.keys(transaction.run([self.query]).first)
            guard keys == known else { return keys }
            try transaction.run("INSERT INTO sealing_key (key_check) VALUES ($1)", [.bytes(check)])
            return try self.keys(transaction.run([self.query]).first)
        }
    }

    /// Returns whether a write failed because the tables no longer have its key, the only reference that can be broken.
    static func lacksKey(_ error: MobileTokenError) -> Bool {
        (error.underlying as? PostgresError)?.sqlState == "23503"
    }

    private static func keys(_ rows: PostgresRows?) throws -> [StoreFacts.Key] {
        try rows?.map { StoreFacts.Key(number: try $0.integer(0), check: try $0.bytes(1)) } ?? []
    }
}
