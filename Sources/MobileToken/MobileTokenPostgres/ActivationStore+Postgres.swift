public import PowerAuthClient

extension ActivationStore {
    /// Returns a store in PostgreSQL with sealed secrets, for any number of nodes.
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
    /// Every node may sign with every activation. The right to sign stays with the last node while its heartbeat continues
    /// (``NodeLifetimes``), and is handed over on request. A dead node loses it after a lifetime. While it stays, a signature
    /// takes one durable statement. Concurrent signatures of different activations share a commit.
    ///
    /// A change is on the server's disk when the call returns, whatever `synchronous_commit`. It may still be lost by failover to
    /// an asynchronous standby or by a restore: see <doc:Restoring>.
    ///
    /// The store is opened at first use, or by `open()`.
    public static func postgres(_ configuration: PostgresConfiguration) -> ActivationStore {
        ActivationStore(
            PostgresDriver(configuration),
            name: "the schema \(configuration.schema)",
            keys: configuration.sealingKeys.keys,
            clock: configuration.clock
        )
    }

    /// The driver of a PostgreSQL store.
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

    /// Creates or migrates the tables, using a role with that right. Nodes may be running.
    ///
    /// Each attempt waits a fifth of a second for tables in use, so that nodes do not queue behind it, and is retried for half a
    /// minute. Indexes are created concurrently, which may take minutes and does not work through a session-sharing pooler.
    ///
    /// - Parameter role: A role to grant exactly a node's rights; `nil` for none.
    /// - Throws: `storeBusy` if a table was in use all the time.
    public func migrate(grantingTo role: String? = nil) async throws {
        let driver = try self.postgres
        try await driver.prepare(migrates: true)
        let schema = driver.configuration.tables
        if let role { try await driver.withConnection { try schema.grant(to: role, $0) } }
    }

    /// Switches to another key ring; see ``SealingKeyRing``.
    public func use(_ ring: SealingKeyRing) async throws {
        _ = try self.postgres
        try await self.use(ring.keys)
    }
}
