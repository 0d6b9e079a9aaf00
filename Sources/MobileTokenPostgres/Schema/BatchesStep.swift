extension PostgresSchema.Step {
    /// What lets receipts be numbered, resealed, erased and deleted in small steps, however many there are.
    ///
    /// Receipts do not refer to each other any more: to delete one, all others would be looked at. What they name as their
    /// intent and their outcome goes with them.
    ///
    /// `fence` is the greatest number that was given to a node, so that each is greater than those before whatever the clock
    /// says.
    static let batches = Self(
        statements: [
            "CREATE TABLE fence (last int8 NOT NULL)",
            """
            INSERT INTO fence SELECT greatest(
                (SELECT coalesce(max(number), 0) FROM node), (SELECT coalesce(max(fence), 0) FROM list),
                (SELECT coalesce(max(holder), 0) FROM activation)
            )
            """,
            """
            ALTER TABLE receipt DROP CONSTRAINT IF EXISTS receipt_intent_fkey,
                DROP CONSTRAINT IF EXISTS receipt_outcome_fkey
            """,
            // What is deleted makes room for what comes: a twentieth may wait for the vacuum, in place of a fifth.
            "ALTER TABLE receipt SET (autovacuum_vacuum_scale_factor = 0.05)",
        ],
        indexes: [
            .init(name: "receipt_sealed", table: "receipt", columns: "(sealing_key, id)"),
            .init(name: "receipt_personal", table: "receipt", columns: "(date) WHERE personal_data IS NOT NULL"),
            .init(name: "receipt_of_intent", table: "receipt", columns: "(intent) WHERE intent IS NOT NULL"),
        ],
        oldestReader: 1
    )
}
