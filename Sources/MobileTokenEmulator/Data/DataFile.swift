import Coordination
import EmulatorBackend
import Foundation

/// The SQLite file that keeps the state over a restart: what a reset goes back to, and what is.
///
/// What a reset goes back to is one document. What is, is a row for each object, so that a change costs what it changes,
/// however much there is. Each write is one transaction: the file always holds one state, whatever happens meanwhile.
actor DataFile {
    /// The content of the file.
    struct Saved: Sendable {
        /// An exported document.
        var initial: [UInt8]
        var current: [StateRecord]
    }

    /// The changes to write.
    struct Changes: Sendable {
        /// When set, all else in the file is replaced.
        var initial: [UInt8]?
        /// Objects as they are now; those that are gone are nil.
        var records: [StateKey: StateRecord?] = [:]
    }

    /// The statistics of what was written.
    struct Statistics: Sendable, Equatable {
        var transactions = 0
        /// Added, replaced and removed ones.
        var rows = 0
        /// Of documents.
        var bytes = 0
    }

    /// The queue on which writing waits for the disk, which the cooperative pool must not do.
    private nonisolated let executor = QueueExecutor(label: "mobile-token-emulator.data-file")
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    let database: DataFileDatabase
    private(set) var statistics = Statistics()

    /// Opens or makes the file, and keeps other servers and other users from it.
    ///
    /// - Returns: the file, and what was last written to it, if anything was.
    static func open(path: String) throws(EmulatorError) -> (file: DataFile, saved: Saved?) {
        let database = try DataFileDatabase(path: path)
        let saved = try database.saved()
        return (DataFile(database), saved)
    }

    private init(_ database: sending DataFileDatabase) {
        self.database = database
    }

    /// Reads the content of the file.
    func saved() throws(EmulatorError) -> Saved? { try self.database.saved() }

    /// Writes changes in one transaction; when this returns, they are durable.
    func write(_ changes: Changes) throws(EmulatorError) {
        let written = try self.database.write(changes)
        self.statistics.transactions += 1
        self.statistics.rows += written.rows
        self.statistics.bytes += written.bytes
    }
}
