extension PostgresSchema.Step {
    /// The greatest number that was given to a node, so that each is greater than those before whatever the clock says.
    static let fence = Self(
        statements: [
            "CREATE TABLE fence (last int8 NOT NULL)",
            """
            INSERT INTO fence SELECT greatest(
                (SELECT coalesce(max(number), 0) FROM node), (SELECT coalesce(max(fence), 0) FROM list),
                (SELECT coalesce(max(holder), 0) FROM activation)
            )
            """,
        ],
        oldestReader: 1
    )
}
