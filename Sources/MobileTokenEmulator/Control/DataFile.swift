import Coordination
import EmulatorBackend
import Foundation

/// The SQLite file that keeps the state over a restart: what a reset goes back to, and what is.
///
/// What a reset goes back to is one document. What is, is a row for each object, so that a change costs what it changes,
/// however much there is. Each write is one transaction: the file always holds one state, whatever happens meanwhile.
actor DataFile {
    /// What the file holds.
    struct Saved: Sendable {
        /// An exported document.
        var initial: [UInt8]
        var current: State
    }

    enum State: Sendable {
        case records([StateRecord])
        /// An exported document, as versions wrote it that rewrote the whole state each time.
        case document([UInt8])
    }

    /// What is to be written.
    struct Changes: Sendable {
        /// When set, all else in the file is replaced.
        var initial: [UInt8]?
        /// Objects as they are now; those that are gone are nil.
        var records: [StateKey: StateRecord?] = [:]

        /// Adds what changed later.
        mutating func merge(_ later: Self) {
            if later.initial != nil {
                self = later
            } else {
                self.records.merge(later.records) { _, later in later }
            }
        }
    }

    /// What was written so far.
    struct Statistics: Sendable, Equatable {
        var transactions = 0
        /// Added, replaced and removed ones.
        var rows = 0
        /// Of documents.
        var bytes = 0
    }

    /// Where writing waits for the disk, which the cooperative pool must not do.
    private nonisolated let executor = QueueExecutor(label: "mobile-token-emulator.data-file")
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let database: DataFileDatabase
    private var durableVersion: UInt64 = 0
    /// What a write that failed left to the next.
    private var unwritten = Changes()
    private var writing: Task<Void, any Error>?
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

    /// Returns when the state is durable as it was at `version`, or later.
    ///
    /// Requests that arrive while the file is written share the next write. When nothing has changed since the last
    /// one, nothing is written.
    ///
    /// - Parameter latest: Hands over what changed since it was last called.
    func persist(
        version: UInt64,
        latest: @escaping @Sendable () async throws -> (version: UInt64, changes: Changes)
    ) async throws {
        while self.durableVersion < version {
            if let writing = self.writing {
                _ = await writing.result  // perhaps of a state before `version`; a failure is its own caller's affair
                continue
            }
            let writing = Task {
                // Before the task ends, so that a caller that waited for it never finds it still there.
                defer { self.writing = nil }
                let (version, changes) = try await latest()
                self.unwritten.merge(changes)
                let written = try self.database.write(self.unwritten)
                self.unwritten = Changes()
                self.statistics.transactions += 1
                self.statistics.rows += written.rows
                self.statistics.bytes += written.bytes
                self.durableVersion = version
            }
            self.writing = writing
            try await writing.value
        }
    }
}
