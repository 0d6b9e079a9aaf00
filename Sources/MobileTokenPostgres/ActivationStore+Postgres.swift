import PostgresDatabase
public import PowerAuth

extension ActivationStore {
    /// Names a store in PostgreSQL, with secrets sealed, for any number of nodes.
    ///
    /// ```swift
    /// let store = ActivationStore.postgres(
    ///     .init(
    ///         connectionString: "host=db.example.com dbname=bank user=bot",
    ///         sealingKeys: SealingKeyRing(current: .environment("SEALING_KEY"))
    ///     )
    /// )
    /// ```
    ///
    /// Every node may sign with every activation. The right to sign stays with the node that signed last, for as long as it shows
    /// the database that it is alive (``NodeLifetimes``), and is handed over when another one asks for it; a node that dies loses
    /// it after a lifetime. While it stays, a signature costs one durable statement, and those of different activations that are
    /// asked for at the same time share one commit.
    ///
    /// A change is on the server's disk when the call returns, whatever `synchronous_commit` says. It may be lost nevertheless
    /// when a standby without synchronous replication takes the server's place, or a backup is put back: see <doc:Restoring>.
    ///
    /// Nothing is opened before it is needed, or `open()` is called.
    public static func postgres(_ configuration: PostgresConfiguration) -> ActivationStore {
        ActivationStore(
            PostgresDriver(configuration),
            name: "the schema \(configuration.schema)",
            keys: configuration.sealingKeys.keys,
            clock: configuration.clock
        )
    }

    /// The driver of a store in PostgreSQL.
    ///
    /// - Throws: `invalidConfiguration` for another store.
    package var postgres: PostgresDriver {
        get throws(MobileTokenError) {
            guard let driver = self.driver as? PostgresDriver else {
                throw MobileTokenError(.invalidConfiguration, "\(self.name) is no store in PostgreSQL")
            }
            return driver
        }
    }

    /// Makes or changes the tables, with a role that may; nodes may be at work meanwhile.
    ///
    /// A change waits for others who use a table for a fifth of a second at a time, so that nodes do not wait behind it for
    /// longer, and is tried again for half a minute. Indexes of tables that are in use are made while others write, which
    /// may take minutes, and not through a pooler that lends sessions.
    ///
    /// - Parameter role: A role that is given the rights that a node needs, and no others; `nil` changes none.
    /// - Throws: `storeBusy` when a table was in use all the time.
    public func migrate(grantingTo role: String? = nil) async throws {
        let driver = try self.postgres
        try await driver.prepare(migrates: true)
        let schema = driver.configuration.tables
        if let role { try await driver.withConnection { try schema.grant(to: role, $0) } }
    }

    /// Takes another ring of keys into use; see ``SealingKeyRing``.
    public func use(_ ring: SealingKeyRing) async throws {
        _ = try self.postgres
        try await self.use(ring.keys)
    }
}
