/// The shape of a kind of database, version by version.
///
/// ```swift
/// let schema = SQLiteSchema(applicationID: 0x5041_5374, migrations: [["CREATE TABLE setting (…) STRICT"]])
/// try schema.migrate(connection, from: try schema.check(connection))
/// ```
package struct SQLiteSchema: Sendable {
    /// Marks a file as a database of this kind, as `PRAGMA application_id` reads it.
    private let applicationID: Int32
    private let firstVersion: Int
    private let migrations: [[String]]

    /// Makes a schema.
    ///
    /// - Parameter firstVersion: The version that the first step leads to. Databases of earlier ones are refused.
    /// - Parameter migrations: The statements that lead from each version to the next; the first make an empty file a
    ///   database of this kind. Never edit a step that was released: add another.
    package init(applicationID: Int32, firstVersion: Int = 1, migrations: [[String]]) {
        self.applicationID = applicationID
        self.firstVersion = firstVersion
        self.migrations = migrations
    }

    /// The version that ``migrate(_:from:)`` leads to.
    package var currentVersion: Int { self.firstVersion + self.migrations.count - 1 }

    /// The reason a file is not a database that this schema knows.
    package enum Mismatch: Error, Equatable {
        /// It was written by a newer program, which may have put anything into it.
        case newer(version: Int)
        /// It was written by a program whose databases nobody migrates.
        case older(version: Int)
        /// It is a database of another kind.
        case foreign
    }

    /// Checks that the file is empty or a database of this kind; changes nothing.
    ///
    /// - Returns: The version of the file.
    /// - Throws: ``Mismatch``, or ``SQLiteError`` when the file cannot be read.
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

    /// Brings the file to the current version, in one transaction.
    ///
    /// - Parameter version: The version that ``check(_:)`` found.
    package func migrate(_ connection: SQLiteConnection, from version: Int) throws {
        guard version < self.currentVersion else { return }
        try connection.transaction {
            // Another process may have been quicker.
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
