import Coordination
import Glibc
import SQLiteDatabase

/// Keeps activations in a SQLite file, with their secrets sealed: the default store.
///
/// Any number of processes may open the same file. A change is on the disk when the call returns, and the next process
/// sees it before it signs. The file, and the folder it is in, must be their owner's alone (modes 0600 and 0700); the
/// store makes them so, and refuses what it finds otherwise.
///
/// Secrets are sealed with a key from a ``SealingKeyProvider``: anyone who copies the database reads names, public keys
/// and times, and nothing to sign with. The default key lies beside the database, in `<path>.key`; anyone who copies the
/// folder has both. Keep the key elsewhere when that matters.
///
/// ## What is in memory
///
/// Opened secrets are ``SecretBytes``, wiped when their last owner goes. Swift cannot promise more: a `String` that held
/// a password before it came here, the registers and stack slots a value went through, and pages that the system wrote
/// to swap or into a core dump are beyond reach. Switch off swap and core dumps where memory may be looked at.
///
/// ## Receipts
///
/// Receipts of decisions stay when their activation is removed. What they say is sealed; which activation decided, when, and
/// that the decision is still open can be read without the key. See <doc:Receipts>.
///
/// ## Backups
///
/// A copy of the file is of little use: the counter in it is old as soon as another signature is made. When one is put
/// back nevertheless, the lease file beside it (`<path>-lease`) still tells how far the counter had come, and the counter is
/// moved there before anything is signed, offline too; so leave that file in place. Without it the next status of the
/// server shows the loss; the counter is moved forward when the server's window allows, and the error is `stateRolledBack`
/// otherwise.
public actor SQLiteActivationStore: ActivationStore {
    /// Options that only tests set.
    package struct Options: Sendable {
        /// The name of a registered SQLite VFS.
        package var vfs: String?
        package var synchronous = "FULL"
        package var maximumPageCount: Int?
        /// After how many pages in the log it is moved into the database.
        package var checkpointPages = 1_000

        package init() {}
    }

    struct Open {
        let database: ActivationDatabase
        let lease: LeaseFile
        let sealing: Sealing
        /// What the database holds as long as its key is not changed.
        let keyCheck: [UInt8]
    }

    enum State {
        case new
        case open(Open)
        case closed
    }

    /// Where the database is.
    public nonisolated let path: String
    /// Statements block, so they run on a queue of this store's own; see ``QueueExecutor``.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let files: StoreFiles
    private let sealingKey: any SealingKeyProvider
    private let options: Options
    let executor: QueueExecutor
    /// The order of this process's signatures.
    nonisolated let gate = Gate()
    var state = State.new
    var pendingWrites: [any PendingWrite] = []
    private var decryptionCount = 0

    /// Names a store; nothing is opened before it is needed, or ``open()`` is called.
    ///
    /// - Parameters:
    ///   - path: The database, which is made when it is missing, in a folder of its own.
    ///   - sealingKey: Where the key of the secrets comes from; by default the file `<path>.key`.
    public init(path: String = SQLiteActivationStore.defaultPath, sealingKey: (any SealingKeyProvider)? = nil) {
        self.init(path: path, sealingKey: sealingKey, options: Options())
    }

    package init(path: String, sealingKey: (any SealingKeyProvider)?, options: Options) {
        self.files = StoreFiles(path: path)
        self.path = self.files.database
        self.sealingKey = sealingKey ?? .file(self.files.database + ".key")
        self.options = options
        self.executor = QueueExecutor(label: "activation-store")
    }

    /// `mobile-token/activations.sqlite` in the first of `$STATE_DIRECTORY` (which a service manager sets),
    /// `$XDG_STATE_HOME` and `~/.local/state`.
    public static var defaultPath: String {
        func variable(_ name: String) -> String? {
            guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
            return value
        }
        let folder =
            variable("STATE_DIRECTORY").flatMap { $0.split(separator: ":").first.map(String.init) }
            ?? variable("XDG_STATE_HOME")
            ?? (variable("HOME") ?? ".") + "/.local/state"
        return folder + "/mobile-token/activations.sqlite"
    }

    /// Opens the store now rather than at its first use, so that a service notices at its start what is wrong.
    ///
    /// - Throws: one of the `store…` codes of ``MobileTokenError/Code``. A store that cannot be opened is left as it was.
    public func open() async throws {
        _ = try await self.opened()
    }

    /// Opens the store, and writes and takes back what takes as much room as an activation, both durably.
    public func prove() async throws {
        let open = try await self.opened()
        try self.mapErrors {
            try self.checkKey(of: open)
            try open.database.rehearseInsertion()
        }
    }

    /// Closes the files. Calls that follow throw `storeClosed`; turns that have begun keep the right to sign until they end.
    public func close() {
        if !self.pendingWrites.isEmpty { self.commitPendingWrites() }
        self.state = .closed
    }

    /// Returns the identifiers of all activations held, oldest first.
    public func activationIDs() async throws -> [String] {
        let open = try await self.opened()
        return try self.mapErrors { try open.database.activationIDs() }
    }

    /// Returns one activation as it stands now, or `nil`.
    public func record(of activationID: String) async throws -> ActivationRecord? {
        let open = try await self.opened()
        return try self.mapErrors {
            var highWaterMark: (slot: Int64, moves: UInt64)?
            while let stored = try self.stored(activationID, in: open) {
                let slot = stored.slot
                var record = try self.decrypting { try open.sealing.open(stored.sealed) }
                if let highWaterMark, highWaterMark.slot == slot {
                    record.ledger.catchUp(to: highWaterMark.moves)
                    return record
                }
                let moves = open.lease.highWaterMark(of: slot, activationID: activationID)
                guard moves > record.history.moves else { return record }
                // Another process may have moved both since the record was read. Only one that is read after the mark can be
                // behind it.
                highWaterMark = (slot, moves)
            }
            return nil
        }
    }

    /// Returns whether an activation is being upgraded, by this process or another one. Opens nothing that is sealed.
    public func isUpgrading(_ activationID: String) async throws -> Bool {
        let open = try await self.opened()
        return try self.mapErrors { try open.database.isUpgrading(activationID) }
    }

    /// Adds an activation, or throws `activationAlreadyStored`.
    public func insert(_ record: ActivationRecord) async throws {
        let open = try await self.opened()
        try self.mapErrors {
            let slot = try open.database.write {
                try self.checkKey(of: open)
                guard try open.database.slot(of: record.activationID) == nil else {
                    throw MobileTokenError.alreadyStored()
                }
                return try open.database.insert(open.sealing.seal(record))
            }
            open.lease.setHighWaterMark(record.history.moves, of: slot, activationID: record.activationID)
        }
    }

    /// Forgets an activation with its tokens and factors; their bytes are overwritten in the file.
    public func remove(_ activationID: String) async throws {
        let open = try await self.opened()
        try self.mapErrors {
            try open.database.write {
                try self.checkKey(of: open)
                guard let slot = try open.database.slot(of: activationID) else { return }
                try open.database.remove(slot: slot)
                open.lease.setHighWaterMark(0, of: slot, activationID: activationID)
            }
            open.database.emptyLog()
        }
    }

    /// Seals everything with another key, in one step: after a crash it is all under the one key or all under the other.
    ///
    /// Keep both keys until the call returns, and create stores with the new provider from then on. Other processes that
    /// have the store open get `storeWrongSealingKey` from their next call, and change nothing. They wait while receipts are
    /// sealed, so call it while nobody signs when there are many.
    ///
    /// - Returns: The numbers of the receipts' entries that could not be opened, because their bytes were changed. They stay as
    ///   they are.
    @discardableResult
    public func rotateSealingKey(to provider: any SealingKeyProvider) async throws -> [UInt64] {
        let sealing = try Sealing(key: try await provider.sealingKey(isForNewStore: true))
        let keyCheck = try sealing.makeKeyCheck()
        let open = try await self.opened()
        var unreadable: [UInt64] = []
        try self.mapErrors {
            try open.database.write {
                try self.checkKey(of: open)
                for activationID in try open.database.activationIDs() {
                    guard let stored = try open.database.activation(activationID) else { continue }
                    let resealed = try open.sealing.reseal(stored.sealed, with: sealing)
                    try open.database.apply(.init(written: resealed.fields, removed: []), in: stored.slot)
                }
                try open.database.changeReceipts { entry in
                    let resealed = try MobileTokenError.ifReadable {
                        try open.sealing.reseal(entry.sealed, isIntent: entry.intent == nil, with: sealing)
                    }
                    if resealed == nil { unreadable.append(entry.number) }
                    return resealed
                }
                try open.database.setKeyCheck(keyCheck)
            }
            open.database.emptyLog()
        }
        self.state = .open(
            Open(database: open.database, lease: open.lease, sealing: sealing, keyCheck: keyCheck)
        )
        return unreadable
    }

    func opened() async throws -> Open {
        switch self.state {
        case .open(let open): return open
        case .closed: throw self.closed()
        case .new: break
        }
        let database = try self.mapErrors {
            try self.files.prepare()
            let database = try ActivationDatabase(path: self.path, options: self.options)
            try self.files.check()
            return database
        }
        let stored = try self.mapErrors { try database.keyCheck() }
        let sealing = try Sealing(key: try await self.sealingKey.sealingKey(isForNewStore: stored == nil))
        // Another call may have opened the store, or closed it, while this one waited for the key.
        guard case .new = self.state else { return try await self.opened() }
        let open = try self.mapErrors {
            Open(
                database: database,
                lease: try LeaseFile(path: self.files.lease),
                sealing: sealing,
                keyCheck: try stored ?? self.adoptKey(of: sealing, in: database)
            )
        }
        guard sealing.matches(keyCheck: open.keyCheck) else { throw self.wrongKey() }
        self.state = .open(open)
        return open
    }

    /// Makes the key the one of a new store, unless another process was quicker; returns what the store has then.
    private func adoptKey(of sealing: Sealing, in database: ActivationDatabase) throws -> [UInt8] {
        try database.write {
            if let stored = try database.keyCheck() { return stored }
            let check = try sealing.makeKeyCheck()
            try database.setKeyCheck(check)
            return check
        }
    }

    /// Returns an activation in the form in which it is kept, read under the key that the store was opened with.
    func stored(_ activationID: String, in open: Open) throws -> ActivationDatabase.Stored? {
        guard let stored = try open.database.activation(activationID) else {
            try self.checkKey(of: open)
            return nil
        }
        if stored.keyCheck != open.keyCheck { try self.checkKey(of: open) }
        return stored
    }

    func decrypting<Result>(_ body: () throws -> Result) rethrows -> Result {
        self.decryptionCount += 1
        return try body()
    }

    /// Refuses to go on with a key that another process has replaced.
    func checkKey(of open: Open) throws {
        guard try open.database.keyCheck() == open.keyCheck else { throw self.wrongKey() }
    }

    private func wrongKey() -> MobileTokenError {
        let place =
            switch self.sealingKey {
            case let key as SealingKeyFile: " than that of file:\(key.path)"
            case let key as SealingKeySource: " than that of \(key)"
            default: ""
            }
        return MobileTokenError(
            .storeWrongSealingKey,
            "The secrets at \(self.path) were sealed with another key\(place)"
        )
    }

    /// Runs `body`, and gives SQLite's failures the codes that users know.
    func mapErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw self.mapped(error) }
    }

    func mapped(_ error: any Error) -> any Error {
        (error as? SQLiteError).map { MobileTokenError($0, path: self.path) } ?? error
    }

    func closed() -> MobileTokenError {
        MobileTokenError(.storeClosed, "The store at \(self.path) was closed")
    }

    // MARK: For tests

    /// How much was done so far, for tests.
    var work: (statements: Int, decryptions: Int) {
        guard case .open(let open) = self.state else { return (0, 0) }
        return (open.database.statementCount, self.decryptionCount)
    }

    /// How SQLite runs the statements that were run so far, for tests.
    var plans: [String: [String]] {
        get throws {
            guard case .open(let open) = self.state else { return [:] }
            return try open.database.connection.plans()
        }
    }

    /// How many calls wait for the store's thread, for tests.
    nonisolated var waitingCallCount: Int { self.executor.waitingJobCount }
}
