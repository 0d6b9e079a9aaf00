import Coordination
import Glibc
package import PowerAuthCrypto

/// Options that only tests set.
package struct SQLiteOptions: Sendable {
    /// The name of a registered SQLite VFS.
    package var vfs: String?
    package var synchronous = "FULL"
    package var maximumPageCount: Int?
    /// After how many pages in the log it is moved into the database.
    package var checkpointPages = 1_000

    package init() {}
}

extension ActivationStore {
    /// Names a store in a SQLite file, with secrets sealed: the default. Nothing is opened before it is needed, or ``open()`` is called.
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
    ///
    /// - Parameters:
    ///   - path: The database, which is made when it is missing, in a folder of its own.
    ///   - sealingKey: The source of the key of the secrets; by default the file `<path>.key`.
    public static func sqlite(
        path: String = ActivationStore.defaultPath,
        sealingKey: (any SealingKeyProvider)? = nil
    ) -> ActivationStore {
        self.sqlite(path: path, sealingKey: sealingKey, options: SQLiteOptions())
    }

    package static func sqlite(
        path: String,
        sealingKey: (any SealingKeyProvider)?,
        options: SQLiteOptions,
        _ wrap: (any JournalDriver) -> any JournalDriver = { $0 }
    ) -> ActivationStore {
        let files = StoreFiles(path: path)
        return ActivationStore(
            wrap(SQLiteDriver(files, options: options)),
            name: files.database,
            keys: SealingKeys(current: sealingKey ?? .file(files.database + ".key"))
        )
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
        let driver = try self.sqlite
        return try await self.rotateKey(to: SealingKeys(current: provider)) { former, sealing in
            try await driver.reseal(from: former, to: sealing)
        }
    }

    /// The driver of a store in a file.
    ///
    /// - Throws: `invalidConfiguration` for another store.
    var sqlite: SQLiteDriver {
        get throws(MobileTokenError) {
            guard let driver = self.driver as? SQLiteDriver else {
                throw MobileTokenError(.invalidConfiguration, "\(self.name) is no store in a file")
            }
            return driver
        }
    }

    // MARK: In memory

    /// Creates an empty store in memory: for tests, and for programs that activate anew at every start.
    ///
    /// Secrets are sealed there too, with a key of the process, so that no copy of them lies open.
    ///
    /// Of the receipts of decisions it keeps the latest ten thousand entries at least, and forgets the oldest beyond twice that.
    public static func inMemory() -> ActivationStore { self.inMemory { $0 } }

    /// Creates an empty store in memory.
    ///
    /// - Parameter wrap: Puts something in front of the driver, for a test.
    package static func inMemory(_ wrap: (any JournalDriver) -> any JournalDriver) -> ActivationStore {
        self.inMemory(wrap(MemoryDriver()), sealingKey: SecureRandom.secret(Sealing.keyByteCount))
    }

    /// Creates a store over rows in memory, which are kept with their key by somebody else.
    package static func inMemory(_ driver: any JournalDriver, sealingKey key: SecretBytes) -> ActivationStore {
        ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { key }))
    }
}

// MARK: - For tests

extension ActivationStore {
    /// The work that was done so far.
    var work: (statements: Int, decryptions: Int) {
        get async throws { (try await self.sqlite.statementCount, self.decryptionCount) }
    }
}
