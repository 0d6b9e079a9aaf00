/// The versioned schema of a kind of database.
///
/// ```swift
/// let schema = SQLiteSchema(applicationID: 0x5041_5374, migrations: [["CREATE TABLE setting (…) STRICT"]])
/// try schema.migrate(connection, from: try schema.check(connection))
/// ```
package struct SQLiteSchema: Sendable {
    /// Identifies the kind of database, in `PRAGMA application_id`.
    private let applicationID: Int32
    private let firstVersion: Int
    private let migrations: [[String]]

    /// - Parameter firstVersion: The version after the first migration. Databases of earlier ones are refused.
    /// - Parameter migrations: The statements from each version to the next, starting with an empty file. Never edit a released
    ///   migration: add another one.
    package init(applicationID: Int32, firstVersion: Int = 1, migrations: [[String]]) {
        self.applicationID = applicationID
        self.firstVersion = firstVersion
        self.migrations = migrations
    }

    /// The version after ``migrate(_:from:)``.
    package var currentVersion: Int { self.firstVersion + self.migrations.count - 1 }

    package enum Mismatch: Error, Equatable {
        /// A newer program wrote it, in an unknown format.
        case newer(version: Int)
        /// An older program wrote it, without a migration.
        case older(version: Int)
        /// It is a database of another kind.
        case foreign
    }

    /// Checks that the file is empty or of this kind, and returns its version. Changes nothing.
    ///
    /// - Throws: ``Mismatch``, or ``SQLiteError`` if the file cannot be read.
    package func check(_ connection: SQLiteConnection) throws -> Int {
        let version = try Self.version(of: connection)
        guard version <= self.currentVersion else { throw Mismatch.newer(version: version) }
        let applicationID = try Self.integer("PRAGMA application_id", of: connection)
        let isEmpty = try Self.integer("SELECT count(*) FROM sqlite_schema", of: connection) == 0
        guard version >= 0, applicationID == self.applicationID || (applicationID == 0 && isEmpty) else {
            throw Mismatch.foreign
        }
        guard version == 0 || version >= self.firstVersion else { throw Mismatch.older(version: version) }
        return version
    }

    /// Migrates the file to the current version in one transaction.
    ///
    /// - Parameter version: The version from ``check(_:)``.
    package func migrate(_ connection: SQLiteConnection, from version: Int) throws {
        guard version < self.currentVersion else { return }
        try connection.transaction {
            // Another process may have migrated it.
            for step in self.migrations.dropFirst(max(0, try Self.version(of: connection) + 1 - self.firstVersion)) {
                for statement in step { try connection.run(statement) }
            }
            try connection.run("PRAGMA application_id = \(self.applicationID)")
            try connection.run("PRAGMA user_version = \(self.currentVersion)")
        }
    }

    private static func version(of connection: SQLiteConnection) throws -> Int {
        Int(try self.integer("PRAGMA user_version", of: connection))
    }

    private static func integer(_ query: String, of connection: SQLiteConnection) throws -> Int64 {
        try connection.firstRow(query) { $0.integer(0) } ?? 0
    }
}
