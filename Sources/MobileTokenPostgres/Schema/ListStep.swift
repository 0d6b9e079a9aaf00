extension PostgresSchema.Step {
    /// The lists of operations, as the nodes that poll them last saw them: one row an activation, written when its list changes.
    ///
    /// Every write makes a greater `version`, also in a database that was put back, and names its transaction in `written_by`,
    /// by which readers find what they have not seen. `fence` is the number of the node that wrote it.
    static let lists = Self(
        statements: [
            """
            CREATE TABLE list (
                slot int8 PRIMARY KEY REFERENCES activation ON DELETE CASCADE,
                version int8 NOT NULL,
                fence int8 NOT NULL,
                written_by int8 NOT NULL,
                sealing_key int8 NOT NULL REFERENCES sealing_key,
                body bytea NOT NULL
            ) WITH (fillfactor = 50)
            """,
            "CREATE INDEX list_written_by ON list (written_by, slot)",
        ],
        oldestReader: 1
    )
}
