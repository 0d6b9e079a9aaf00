import PostgresDatabase
import PowerAuth

/// The use of limits as rows, and its statements; see ``ChargeSums`` for the rules.
enum StoredLimits {
    private static let exclusion = "pg_advisory_xact_lock('charge'::regclass::oid::int8)"

    /// The statement that a transaction begins with which takes charges back. Transactions that change charges run one at a time,
    /// from before they lock a row: each sees what the others left, and none waits for another in a circle.
    static let lock = PostgresStatement("SELECT \(Self.exclusion)")

    /// The same for one that charges. It needs no ``StoredPause/confirmation``: what paused before is seen by its changes, and who
    /// pauses later waits for its end. So limits take no statement more, and a pause may have to wait a little longer.
    static let opening = PostgresStatement(
        "SELECT pg_advisory_xact_lock_shared(\(StoredPause.lock)), \(Self.exclusion)"
    )

    /// Returns the condition that a decision stays within a check's limit.
    ///
    /// - Parameter parameter: Adds a value, and returns its place as SQL.
    static func isWithin(_ check: LimitCharges.Check, _ parameter: (PostgresValue) -> String) -> String {
        let first = parameter(.integer(check.first))
        let use = self.use(check, first, parameter)
        let (amount, allowed) = (parameter(.integer(check.demand.amount)), parameter(.integer(check.demand.allowed)))
        return """
            NOT EXISTS (SELECT FROM charge WHERE key = '' AND minute >= \(first)) AND \(use) + \(amount) <= \(allowed)
            """
    }

    /// Returns the content of a window as SQL: the difference of two sums.
    private static func use(
        _ check: LimitCharges.Check,
        _ first: String,
        _ parameter: (PostgresValue) -> String
    ) -> String {
        let key = parameter(.text(check.demand.key))
        let value = check.demand.includesPeople ? "agents + people" : "agents"
        func sum(_ condition: String) -> String {
            "coalesce((SELECT \(value) FROM charge WHERE key = \(key)\(condition) ORDER BY minute DESC LIMIT 1), 0)"
        }
        return "\(sum("")) - \(sum(" AND minute < \(first)"))"
    }

    static func query(_ check: LimitCharges.Check) -> PostgresStatement {
        var values: [PostgresValue] = []
        func parameter(_ value: PostgresValue) -> String {
            values.append(value)
            return "$\(values.count)"
        }
        let sql = "SELECT " + self.use(check, parameter(.integer(check.first)), parameter)
        return PostgresStatement(sql, values)
    }

    /// Returns the expressions that add a decision's charges, if the row in `moved` was written, and forget old sums.
    static func charging(_ entries: [LimitCharges.Entry], _ parameter: (PostgresValue) -> String) -> String {
        let columns = [
            parameter(.texts(entries.map(\.key))) + "::text[]",
            parameter(.integers(entries.map(\.minute))) + "::int8[]",
            parameter(.integers(entries.map(\.agents))) + "::int8[]",
            parameter(.integers(entries.map(\.people))) + "::int8[]",
        ]
        let entry = "unnest(\(columns.joined(separator: ", "))) AS entry (key, minute, agents, people)"
        return """
            , charged AS (
                INSERT INTO charge (key, minute, agents, people)
                SELECT entry.key, greatest(entry.minute, last.minute), entry.agents + coalesce(last.agents, 0),
                    entry.people + coalesce(last.people, 0)
                FROM moved, \(entry) LEFT JOIN LATERAL (
                    SELECT * FROM charge WHERE charge.key = entry.key ORDER BY minute DESC LIMIT 1
                ) AS last ON true
                ON CONFLICT (key, minute) DO UPDATE SET agents = excluded.agents, people = excluded.people
            ), forgotten AS (
                DELETE FROM charge USING moved, \(entry) WHERE charge.key = entry.key AND charge.minute < (
                    SELECT max(minute) FROM charge AS old
                    WHERE old.key = entry.key AND old.minute < entry.minute - \(ChargeSums.lifetime)
                )
            )
            """
    }

    /// The expression that takes the charges of `intent` back, or makes them again, if an outcome in `new` says so.
    ///
    /// - Parameter isReleased: SQL that is true if the outcome takes them back.
    static func releasing(_ isReleased: String) -> String {
        """
        released AS (
            UPDATE charge SET agents = charge.agents + entry.sign * entry.agents,
                people = charge.people + entry.sign * entry.people
            FROM (
                SELECT \(LimitCharges.columns(of: "intent.charges", "place")),
                    CASE WHEN \(isReleased) THEN -1 ELSE 1 END AS sign
                FROM new, intent, generate_series(0, length(intent.charges) / \(LimitCharges.width) - 1) AS place
                WHERE intent.is_released <> \(isReleased)
            ) AS entry WHERE charge.key = entry.key AND charge.minute >= entry.minute
        )
        """
    }

    // MARK: The closure

    static let closure = PostgresStatement("SELECT max(minute) FROM charge WHERE key = ''")

    static func change(to minute: Int64?) -> [PostgresStatement] {
        let deletion = PostgresStatement("DELETE FROM charge WHERE key = ''")
        guard let minute else { return [deletion] }
        return [
            deletion,
            PostgresStatement("INSERT INTO charge VALUES ('', $1, 0, 0) ON CONFLICT DO NOTHING", [.integer(minute)]),
        ]
    }

    /// The expression that closes the limits because another epoch begins in `begun`. The first epoch lacks no charges.
    static let closing = """
        closed AS (
            INSERT INTO charge SELECT '', \(ChargeSums.undatedClosure), 0, 0
            FROM begun WHERE EXISTS (SELECT FROM incarnation) ON CONFLICT DO NOTHING
        )
        """
}
