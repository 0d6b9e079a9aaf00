public import MobileTokenApprovals

extension ApprovalLedger {
    /// Keeps the ledger in PostgreSQL, for desks on any number of machines.
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
    /// The tables are in the schema of the configuration, beside those of a store if there is one, and are made like them. Each audience has
    /// a ledger of its own there. What was asked is sealed with the key with which the ledger began, until
    /// ``PowerAuth/ActivationStore/reseal()`` seals it with the current one; keep both in the ring until then, as ``SealingKeyRing`` tells.
    ///
    /// A change is on the primary's disk when it counts. A question counts only in the database and the timeline in which it was drafted:
    /// after a restore, or when a standby has taken the primary's place, what was not final is `unknown`. A volume that was put back to an
    /// earlier state has the same timeline, and nothing tells it: say `adopt(audience:)` then. A desk that acts shows
    /// the database every few seconds that it is alive; of one that was silent for `lifetimes.death`, nobody knows how far it came.
    ///
    /// - Parameter configuration: The database. Of the lifetimes, heartbeat and death are those of a desk that acts.
    public static func postgres(_ configuration: PostgresConfiguration) -> Self {
        Self(
            driver: PostgresLedger(configuration),
            sealing: configuration.sealingKeys.current,
            earlier: configuration.sealingKeys.earlier
        )
    }
}
