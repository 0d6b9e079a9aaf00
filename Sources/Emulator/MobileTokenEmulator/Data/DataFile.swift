import Coordination
import EmulatorBackend

/// The SQLite file that keeps the state over a restart: the reset state and the current state.
///
/// The reset state is one document. The current state has a row for each object, so a change costs only its own size. Each write
/// is one transaction: the file always holds a consistent state.
actor DataFile {
    struct Saved: Sendable {
        /// An exported document.
        var initial: [UInt8]
        var current: [StateRecord]
    }

    struct Changes: Sendable {
        /// If set, replaces everything else in the file.
        var initial: [UInt8]?
        /// The changed objects; nil for removed ones.
        var records: [StateKey: StateRecord?] = [:]
    }

    struct Statistics: Sendable, Equatable {
        var transactions = 0
        /// The number of added, replaced and removed rows.
        var rows = 0
        /// The number of bytes in documents.
        var bytes = 0
    }

    /// The queue for disk writes, which must not block the cooperative pool.
    private nonisolated let executor = QueueExecutor(label: "mobile-token-emulator.data-file")
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    let database: DataFileDatabase
    private(set) var statistics = Statistics()

    /// Opens or creates the file, and locks out other servers and other users.
    ///
    /// - Returns: The file, and its last written state, if any.
    static func open(path: String) throws(EmulatorError) -> (file: DataFile, saved: Saved?) {
        let database = try DataFileDatabase(path: path)
        let saved = try database.saved()
        return (DataFile(database), saved)
    }

    private init(_ database: sending DataFileDatabase) {
        self.database = database
    }

    func saved() throws(EmulatorError) -> Saved? { try self.database.saved() }

    /// Writes changes in one transaction; they are durable when this returns.
    func write(_ changes: Changes) throws(EmulatorError) {
        let written = try self.database.write(changes)
        self.statistics.transactions += 1
        self.statistics.rows += written.rows
        self.statistics.bytes += written.bytes
    }
}
