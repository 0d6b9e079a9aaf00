import Coordination
import Glibc

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
public final class SQLiteActivationStore: PrunableJournal, JournalBacked {
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

    /// The path of the database.
    public let path: String
    package let journal: Journal
    let driver: SQLiteDriver

    /// Names a store; nothing is opened before it is needed, or ``open()`` is called.
    ///
    /// - Parameters:
    ///   - path: The database, which is made when it is missing, in a folder of its own.
    ///   - sealingKey: Where the key of the secrets comes from; by default the file `<path>.key`.
    public convenience init(
        path: String = SQLiteActivationStore.defaultPath,
        sealingKey: (any SealingKeyProvider)? = nil
    ) {
        self.init(path: path, sealingKey: sealingKey, options: Options())
    }

    package init(path: String, sealingKey: (any SealingKeyProvider)?, options: Options) {
        let files = StoreFiles(path: path)
        let key = sealingKey ?? .file(files.database + ".key")
        self.path = files.database
        self.driver = SQLiteDriver(files, options: options)
        self.journal = Journal(self.driver, name: files.database, keys: SealingKeys(current: key))
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
    public func open() async throws { try await self.journal.open() }

    /// Closes the files. Calls that follow throw `storeClosed`; turns that have begun keep the right to sign until they end.
    public func close() async { await self.journal.close() }

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
        try await self.journal.rotateKey(to: SealingKeys(current: provider)) { former, sealing in
            try await self.driver.reseal(from: former, to: sealing)
        }
    }
}

// MARK: - For tests

extension SQLiteActivationStore {
    /// The work that was done so far.
    var work: (statements: Int, decryptions: Int) {
        get async throws { (try await self.driver.statementCount, self.journal.decryptionCount) }
    }

    /// The order of this process's signatures.
    var gate: Gate { self.driver.gate }
}
