import Coordination
import DecisionReceipts
import Foundation
import SQLiteDatabase

/// Keeps sealed rows in an SQLite file, shared by any number of processes. Statements block, so they run on the driver's own
/// queue; see ``QueueExecutor``.
actor SQLiteDriver: JournalDriver {
    struct Open {
        let database: ActivationDatabase
        let lease: LeaseFile
        let identity: StoreFiles.Identity
    }

    private enum State {
        case new
        case open(Open)
        case closed
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    nonisolated let path: String
    private let files: StoreFiles
    private let options: SQLiteOptions
    private let executor = QueueExecutor(label: "activation-store")
    /// Orders this process's signatures.
    nonisolated let gate = KeyedSemaphore()
    private var state = State.new
    private let swaps = GroupCommit<RowChange, SwapAnswer>()
    private let outcomes = GroupCommit<SealedOutcome, Result<AppendAnswer, any Error>>()

    init(_ files: StoreFiles, options: SQLiteOptions) {
        self.files = files
        self.path = files.database
        self.options = options
    }

    // MARK: Opening and closing

    func open() async throws -> StoreFacts {
        let open = try self.opened()
        return StoreFacts(keys: try self.run { try $0.keys() }, marks: open.lease.marks, isShared: true)
    }

    func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key] {
        try self.write { database in
            if try database.keys() == known { try database.addKey(check) }
            return try database.keys()
        }
    }

    func close() async {
        self.swaps.commitAll(by: self.commit)
        self.outcomes.commitAll(by: self.append)
        self.state = .closed
    }

    func opened() throws -> Open {
        switch self.state {
        case .open(let open): return open
        case .closed: throw MobileTokenError(.storeClosed, "The store at \(self.path) was closed")
        case .new: break
        }
        let open = try self.mappingErrors {
            try self.files.prepare()
            let database = try ActivationDatabase(path: self.path, options: self.options)
            try self.files.check()
            let lease = try LeaseFile(path: self.files.lease)
            return Open(database: database, lease: lease, identity: try self.files.identity)
        }
        self.state = .open(open)
        return open
    }

    /// Runs `body` with the database, and translates SQLite's errors.
    func run<Result>(_ body: (ActivationDatabase) throws -> Result) throws -> Result {
        let open = try self.opened()
        return try self.mappingErrors { try body(open.database) }
    }

    /// Runs `body` in a durable transaction.
    func write<Result>(_ body: (ActivationDatabase) throws -> Result) throws -> Result {
        try self.run { database in try database.connection.transaction { try body(database) } }
    }

    private func mappingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as SQLiteError { throw MobileTokenError(error, path: self.path) }
    }

    // MARK: Activations

    func load(_ activationID: String) async throws -> LoadedRow? {
        let charged = try self.opened().lease.marks.chargedReceipt
        return try self.run { try $0.activation(activationID, charged: charged) }
    }

    func swap(_ change: RowChange) async throws -> SwapAnswer {
        try await self.swaps.commit(change, on: self.executor, by: self.commit)
    }

    private func commit(_ changes: [RowChange]) throws -> [SwapAnswer] {
        // No process reads a file that is no longer at its path, and a process with the new file could sign concurrently.
        let open = try self.opened()
        guard try open.identity == self.files.identity else {
            throw MobileTokenError(
                .storeReplaced,
                "The files of the store at \(self.path) were replaced since they were opened; nothing was changed. Run it again"
            )
        }
        let answers = try self.write { database in try changes.map(database.swap) }
        // As the marks of counters: after the commit.
        if zip(changes, answers).contains(where: { $0.charges != nil && $1 == .written }) {
            let (marks, number) = (open.lease.marks, UInt64(clamping: open.database.connection.lastRowID))
            if marks.chargedReceipt < number { marks.chargedReceipt = number }
        }
        return answers
    }

    func insert(_ row: NewRow) async throws -> InsertAnswer {
        try self.write { database in
            guard try database.keys().first?.number == row.key else { return .otherKey }
            if let held = try database.activation(row.sealed.activationID) {
                return held.tag == row.tag ? .written(slot: held.slot) : .held
            }
            return .written(slot: try database.insert(row.sealed, tag: row.tag))
        }
    }

    /// Inserts the row in a transaction that is rolled back, because a crash must not leave half an activation. A setting that is
    /// never read shows that a commit reaches the disk.
    func rehearse(_ row: NewRow) async throws -> Bool {
        struct End: Error {}
        do {
            try self.write { database in
                guard try database.keys().first?.number == row.key else { return }
                _ = try database.insert(row.sealed, tag: row.tag)
                throw End()
            }
        } catch is End {
            let (name, bytes) = ("rehearsal", row.sealed.fields.flatMap(\.bytes))
            try self.write { try $0.set(name, to: bytes) }
            try self.write { try $0.removeSetting(name) }
            return true
        }
        return false
    }

    func remove(_ activationID: String) async throws -> Int64? {
        try self.write { database in
            guard let slot = try database.slot(of: activationID) else { return nil }
            try database.remove(slot: slot)
            return slot
        }
    }

    func activationIDs(_ filter: RowFilter) async throws -> [String] { try self.run { try $0.activationIDs(filter) } }

    func checkReaders(of format: RecordFormat) async throws {}

    /// Only the marks detect a restored file.
    func beginEpoch(after epoch: Int64) async throws -> Bool { false }

    nonisolated func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        let (lease, slot) = try await self.acquireLease(of: activationID, slot: slot)
        defer { lease.release() }
        return try await body(Turn(slot: slot))
    }

    func acquireLease(of activationID: String, slot known: Int64? = nil) async throws -> (ProcessLease, slot: Int64) {
        guard let slot = try known ?? self.run({ try $0.slot(of: activationID) }) else {
            throw MobileTokenError.notStored()
        }
        let file = try self.opened().lease
        let lease = try await ProcessLease.acquire(
            activationID: activationID,
            slot: slot,
            gate: self.gate,
            file: file
        )
        return (lease, slot)
    }

    // MARK: Receipts

    func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        try await self.outcomes.commit(outcome, on: self.executor, by: self.append).get()
    }

    private func append(_ outcomes: [SealedOutcome]) throws -> [Result<AppendAnswer, any Error>] {
        let isWritten = try self.run { try $0.append(outcomes) }
        return zip(outcomes, isWritten).map { outcome, isWritten in
            isWritten ? .success(.written) : Result { try self.run { try $0.appendWithIntent(outcome) } }
        }
    }

    func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage { try self.run { try $0.receipts(query) } }

    func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts {
        guard let end = try self.run({ try $0.end(ofPartAfter: number) }) else {
            return PrunedReceipts(count: 0, end: nil)
        }
        let count = try self.write { try $0.erase(selection, after: number, through: end) }
        return PrunedReceipts(count: count, end: end)
    }

    /// Deletes receipts, and returns the space to the file system.
    func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        let step = try self.write { database in
            guard let end = try database.end(ofPartAfter: number), number < last,
                try database.hasReceipts(after: number, through: end, decidedBefore: date)
            else { return PrunedReceipts(count: 0, end: nil) }
            let count = try database.deleteReceipts(after: number, through: end, before: last, decidedBefore: date)
            return PrunedReceipts(count: count, end: end)
        }
        try self.run { try $0.releasePages() }
        return step
    }

    func overwriteDeleted() async throws { try self.run { $0.connection.emptyLog() } }

    func note(_ export: ExportNote) async throws { try self.write { try $0.set(ExportNote.name, to: export.stored) } }

    func receiptFigures() async throws -> ReceiptFigures {
        try self.run { database in
            let (last, note) = (try database.lastReceiptNumber(), try database.exportNote())
            let exported = min(note?.number ?? 0, last)
            return ReceiptFigures(
                unexportedCount: Int(clamping: last - exported),
                lastExport: note?.date,
                byteCount: try database.usedByteCount()
            )
        }
    }

    // MARK: Limits

    func limitUse(_ checks: [LimitCharges.Check]) async throws -> [Int64] {
        try self.run { database in try checks.map(database.used) }
    }

    func limitClosure() async throws -> Int64? { try self.run { try $0.limitClosure() } }

    func setLimitClosure(_ minute: Int64?) async throws {
        try self.write { try $0.setLimitClosure(minute) }
        try self.opened().lease.marks.chargedReceipt = 0
    }

    // MARK: Pausing

    func decisionPause() async throws -> DecisionPause? { try self.run { try $0.decisionPause() } }

    func setDecisionPause(_ pause: DecisionPause?) async throws { try self.write { try $0.setDecisionPause(pause) } }

    // MARK: For tests

    var statementCount: Int { get throws { try self.opened().database.statementCount } }

    /// The query plans of all statements so far.
    var plans: [String: [String]] {
        get throws {
            let database = try self.opened().database
            return try database.connection.plans().merging(database.relaxedConnection().plans()) { $1 }
        }
    }

    nonisolated var waitingCallCount: Int { self.executor.waitingJobCount }
}
