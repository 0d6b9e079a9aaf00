import Glibc
package import PowerAuthCrypto

/// Options that only tests set.
package struct SQLiteOptions: Sendable {
    /// The name of a registered SQLite VFS.
    package var vfs: String?
    package var synchronous = "FULL"
    package var maximumPageCount: Int?
    /// The number of pages in the log after which it is checkpointed.
    package var checkpointPages = 1_000

    package init() {}
}

extension ActivationStore {
    /// Returns a store in an SQLite file with sealed secrets: the default. It is opened at first use, or by ``open()``.
    ///
    /// Any number of processes may open the same file. Changes are on disk when a call returns, and visible to the next process
    /// before it signs. File and folder must be accessible only to their owner (modes 0600 and 0700). The store creates them so,
    /// and refuses others.
    ///
    /// Secrets are sealed with a key from a ``SealingKeyProvider``: a copy of the database reveals names, public keys and times,
    /// but cannot sign. The default key file is `<path>.key`, so a copy of the folder contains both. Keep the key elsewhere if
    /// that matters.
    ///
    /// ## What is in memory
    ///
    /// Decrypted secrets are ``SecretBytes``, wiped with their last reference. Swift cannot promise more: a password's original
    /// `String`, registers, stack slots, swap and core dumps are out of reach. Disable swap and core dumps where memory may be
    /// inspected.
    ///
    /// ## Receipts
    ///
    /// Receipts stay when their activation is removed. Their content is sealed. The deciding activation, the time, and whether
    /// the decision is open can be read without the key. See <doc:Receipts>.
    ///
    /// ## Backups
    ///
    /// A copy of the file is of little use: its counter is outdated by the next signature. After a restore, the lease file beside
    /// it (`<path>-lease`) still records how far the counter had come, and the counter is moved there before anything is signed,
    /// even offline. So leave that file in place. Without it the next status detects the loss: the counter is moved forward if
    /// the server's window allows, otherwise the error is `stateRolledBack`.
    ///
    /// - Parameters:
    ///   - path: The database, created if missing, in a folder of its own.
    ///   - sealingKey: The source of the sealing key. Default: the file `<path>.key`.
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

    /// `mobile-token/activations.sqlite` in the first of `$STATE_DIRECTORY` (set by service managers), `$XDG_STATE_HOME` and
    /// `~/.local/state`.
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

    /// Seals everything with another key, in one transaction.
    ///
    /// Keep both keys until the call returns, and create stores with the new provider from then on. Other processes with the
    /// store open get `storeWrongSealingKey` from their next call, and change nothing. They wait while receipts are resealed, so
    /// rotate a large store while nothing is signed.
    ///
    /// - Returns: The numbers of the tampered receipt entries. They stay as they are.
    @discardableResult
    public func rotateSealingKey(to provider: any SealingKeyProvider) async throws -> [UInt64] {
        let driver = try self.sqlite
        return try await self.rotateKey(to: SealingKeys(current: provider)) { former, sealing in
            try await driver.reseal(from: former, to: sealing)
        }
    }

    /// The driver of an SQLite store.
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

    /// Creates an empty store in memory, for tests and for programs that activate at every start.
    ///
    /// Secrets are sealed with a key of the process. The latest ten thousand receipt entries or more are kept; beyond twice that,
    /// the oldest are dropped.
    public static func inMemory() -> ActivationStore { self.inMemory { $0 } }

    /// Creates an empty store in memory.
    ///
    /// - Parameter wrap: Wraps the driver, for a test.
    package static func inMemory(_ wrap: (any JournalDriver) -> any JournalDriver) -> ActivationStore {
        self.inMemory(wrap(MemoryDriver()), sealingKey: SecureRandom.secret(Sealing.keyByteCount))
    }

    /// Creates a store over the rows of an existing in-memory driver, with their key.
    package static func inMemory(_ driver: any JournalDriver, sealingKey key: SecretBytes) -> ActivationStore {
        ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { key }))
    }
}

// MARK: - For tests

extension ActivationStore {
    /// The work done so far.
    var work: (statements: Int, decryptions: Int) {
        get async throws { (try await self.sqlite.statementCount, self.decryptionCount) }
    }
}
