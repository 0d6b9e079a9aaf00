import PostgresDatabase

extension PostgresSchema {
    /// Grants a role exactly the rights of a node or desk. The role can neither delete nor rewrite receipts, keys and begun
    /// actions, except the columns that decisions, resealing and erasure change. The role can use tables of a later migration at
    /// once, with all rights until this is run again.
    func grant(to role: String, _ connection: PostgresConnection) throws {
        let (schema, role) = (PostgresConnection.quotedName(self.name), PostgresConnection.quotedName(role))
        let tables = { (names: [String]) in names.map { "\(schema).\($0)" }.joined(separator: ", ") }
        let statements = [
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(role)",
            "GRANT USAGE ON SCHEMA \(schema) TO \(role)",
            "GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(role)",
            """
            GRANT INSERT, UPDATE, DELETE ON \(tables(["setting", "node", "activation", "field", "wish", "charge"])) TO \(role)
            """,
            "GRANT INSERT, UPDATE ON \(tables(["ledger", "question"])) TO \(role)",
            "GRANT INSERT, DELETE ON \(tables(["asked"])) TO \(role)",
            "GRANT INSERT, UPDATE, DELETE ON \(tables(["claim"])) TO \(role)",
            "GRANT INSERT ON \(tables(["incarnation", "sealing_key", "receipt", "begun"])) TO \(role)",
            "GRANT UPDATE ON \(tables(["bucket", "fence"])) TO \(role)",
            """
            GRANT UPDATE (number, outcome, weight, is_released, sealing_key, body, personal_data) ON \(tables(["receipt"])) TO \(role)
            """,
            "ALTER DEFAULT PRIVILEGES IN SCHEMA \(schema) GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO \(role)",
        ]
        // In one transaction, so that running nodes notice nothing.
        try connection.run(statements.map { PostgresStatement($0) })
    }
}
