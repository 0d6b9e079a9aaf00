import PostgresDatabase

extension PostgresSchema {
    /// Gives a role the rights that a node or a desk needs, and no others.
    ///
    /// It can neither delete nor rewrite receipts, keys and what was begun, but for what every decision writes in its intent, and what
    /// another sealing key or an erasure changes. What an update adds can be used at once, until this is run again.
    func grant(to role: String, _ connection: PostgresConnection) throws {
        let (schema, role) = (PostgresConnection.quotedName(self.name), PostgresConnection.quotedName(role))
        let tables = { (names: [String]) in names.map { "\(schema).\($0)" }.joined(separator: ", ") }
        let statements = [
            "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM \(role)",
            "GRANT USAGE ON SCHEMA \(schema) TO \(role)",
            "GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(role)",
            """
            GRANT INSERT, UPDATE, DELETE ON \(tables(["setting", "node", "activation", "field", "wish", "list"])) TO \(role)
            """,
            "GRANT INSERT, UPDATE ON \(tables(["ledger", "question"])) TO \(role)",
            "GRANT INSERT, DELETE ON \(tables(["asked"])) TO \(role)",
            "GRANT INSERT, UPDATE, DELETE ON \(tables(["claim"])) TO \(role)",
            "GRANT INSERT ON \(tables(["incarnation", "sealing_key", "receipt", "begun"])) TO \(role)",
            "GRANT UPDATE ON \(tables(["bucket", "fence"])) TO \(role)",
            """
            GRANT UPDATE (number, outcome, weight, sealing_key, body, personal_data) ON \(tables(["receipt"])) TO \(role)
            """,
            "ALTER DEFAULT PRIVILEGES IN SCHEMA \(schema) GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO \(role)",
        ]
        // In one transaction, so that nodes at work notice nothing.
        try connection.run(statements.map { PostgresStatement($0) })
    }
}
