public import MobileTokenApprovals

extension ApprovalLedger {
    /// Returns a ledger in PostgreSQL, for desks on any number of machines.
    ///
    /// ```swift
    /// let ledger = ApprovalLedger.postgres(
    ///     .init(
    ///         connectionString: "host=db.example.com dbname=bank user=deployer",
    ///         sealingKeys: SealingKeyRing(current: .environment("SEALING_KEY"))
    ///     )
    /// )
    /// ```
    ///
    /// The tables are in the configured schema, created like a store's, and may share it with one. Each audience has its own
    /// ledger. Questions are sealed with the ledger's first key, until ``PowerAuthClient/ActivationStore/reseal()`` reseals them with
    /// the current one. Keep both in the ring until then; see ``SealingKeyRing``.
    ///
    /// Changes are durable on the primary before they take effect. A question is valid only on the database and timeline where it
    /// was created; after a restore or failover, unfinished questions become `unknown`. A restored volume keeps its timeline and
    /// cannot be detected: call `adopt(audience:)`. An acting desk sends heartbeats every few seconds. If it misses them for
    /// `lifetimes.death`, its running actions become `unknown`.
    ///
    /// - Parameter configuration: The database. Its lifetimes apply to acting desks.
    public static func postgres(_ configuration: PostgresConfiguration) -> Self {
        Self(
            driver: PostgresLedger(configuration),
            sealing: configuration.sealingKeys.current,
            earlier: configuration.sealingKeys.earlier
        )
    }
}
