import DecisionReceipts
import SQLiteDatabase

/// The use of limits; see ``ChargeSums`` for the rules, which triggers of the schema follow.
extension ActivationDatabase {
    /// Returns the condition that a decision passes no limit, after those of its other parameters; empty without charges.
    static func condition(of charges: LimitCharges?) -> (sql: String, values: [SQLiteValue]) {
        guard let charges, !charges.checks.isEmpty else { return ("", []) }
        return (
            String(repeating: " AND \(Self.isWithin)", count: charges.checks.count),
            charges.checks.flatMap { check -> [SQLiteValue] in
                [.integer(check.first)] + Self.window(check) + [
                    .integer(check.demand.amount), .integer(check.demand.allowed),
                ]
            }
        )
    }

    private static let isWithin = """
        NOT EXISTS (SELECT 1 FROM charge WHERE key = '' AND minute >= ?)
            AND \(use) + ? <= ?
        """

    /// SQL of a window's content, with five values: 1 if people count, the key, the same again, and the first minute.
    private static let use = "\(sum("key = ?")) - \(sum("key = ? AND minute < ?"))"

    private static func sum(_ condition: String) -> String {
        "coalesce((SELECT agents + ? * people FROM charge WHERE \(condition) ORDER BY minute DESC LIMIT 1), 0)"
    }

    private static func window(_ check: LimitCharges.Check) -> [SQLiteValue] {
        let (people, key) = (
            SQLiteValue.integer(check.demand.includesPeople ? 1 : 0), SQLiteValue.text(check.demand.key)
        )
        return [people, key, people, key, .integer(check.first)]
    }

    /// Returns the first limit that charges would pass.
    func limit(passedBy charges: LimitCharges?) throws -> String? {
        guard let charges else { return nil }
        return charges.limit(passedAt: try charges.checks.map(self.used), try self.limitClosure())
    }

    /// Returns what a check's window holds.
    func used(_ check: LimitCharges.Check) throws -> Int64 {
        try self.connection.firstRow("SELECT \(Self.use)", Self.window(check)) { $0.integer(0) } ?? 0
    }

    func limitClosure() throws -> Int64? {
        try self.connection.firstRow("SELECT minute FROM charge WHERE key = ''") { $0.integer(0) }
    }

    func setLimitClosure(_ minute: Int64?) throws {
        try self.connection.run("DELETE FROM charge WHERE key = ''")
        guard let minute else { return }
        try self.connection.run("INSERT INTO charge VALUES ('', ?, 0, 0)", [.integer(minute)])
    }
}
