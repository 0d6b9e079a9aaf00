import Basics
import DecisionReceipts
import PostgresDatabase
import PowerAuthClient

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

    /// Returns the condition that a decision stays within the limits of all checks.
    ///
    /// - Parameter parameter: Adds a value, and returns its place as SQL.
    static func areWithin(_ checks: [LimitCharges.Check], _ parameter: (PostgresValue) -> String) -> String {
        self.areWithin(checks, checks.map { $0.demand.allowed.subtractingSaturated($0.demand.amount) }, parameter)
    }

    /// - Parameter rooms: The largest use of each window before.
    private static func areWithin(
        _ checks: [LimitCharges.Check],
        _ rooms: [Int64],
        _ parameter: (PostgresValue) -> String
    ) -> String {
        let rooms = parameter(.integers(rooms))
        return """
            NOT EXISTS (
                SELECT FROM unnest(\(Self.windows(of: checks, parameter)), \(rooms)::int8[]) AS demand (key, first, has_people, room)
                WHERE \(Self.use) > room OR EXISTS (SELECT FROM charge WHERE charge.key = '' AND minute >= first)
            )
            """
    }

    /// Returns the columns `key`, `first` and `has_people` of checks, for `unnest`: one subquery for all of them costs the server less
    /// than one for each.
    private static func windows(of checks: [LimitCharges.Check], _ parameter: (PostgresValue) -> String) -> String {
        let columns = [
            parameter(.texts(checks.map(\.demand.key))) + "::text[]",
            parameter(.integers(checks.map(\.first))) + "::int8[]",
            parameter(.booleans(checks.map(\.demand.includesPeople))) + "::bool[]",
        ]
        return columns.joined(separator: ", ")
    }

    /// The content of a window as SQL: the difference of two sums.
    private static let use = "\(Self.sum()) - \(Self.sum(" AND minute < first"))"

    private static func sum(_ condition: String = "") -> String {
        """
        coalesce((
            SELECT CASE WHEN has_people THEN agents + people ELSE agents END FROM charge
            WHERE charge.key = demand.key\(condition) ORDER BY minute DESC LIMIT 1
        ), 0)
        """
    }

    /// Reads the content of each window, in order.
    static func query(_ checks: [LimitCharges.Check]) -> PostgresStatement {
        var values: [PostgresValue] = []
        let windows = Self.windows(of: checks) { value in
            values.append(value)
            return "$\(values.count)"
        }
        let demands = "unnest(\(windows)) WITH ORDINALITY AS demand (key, first, has_people, number)"
        return PostgresStatement("SELECT \(Self.use) FROM \(demands) ORDER BY number", values)
    }

    /// Returns the statement that charges decisions which were written in the same transaction, and makes it fail unless there is room
    /// for all of them; `nil` if they are of different minutes, whose order matters.
    ///
    /// One look at each window and one new sum of each key cost the server far less than those of each decision.
    static func charging(_ all: [LimitCharges]) -> [PostgresStatement]? {
        guard let minute = all.first?.minute, all.allSatisfy({ $0.minute == minute }) else { return nil }
        let entries = Dictionary(all.flatMap(\.entries).map { ($0.key, $0) }, uniquingKeysWith: { $0.adding($1) })
        var checks: [Window: (check: LimitCharges.Check, room: Int64)] = [:]
        for check in all.flatMap(\.checks) {
            let demand = check.demand
            guard let entry = entries[demand.key] else { return nil }
            let sum = demand.includesPeople ? entry.agents.addingSaturated(entry.people) : entry.agents
            let room = demand.allowed.subtractingSaturated(sum)
            let window = Window(key: demand.key, first: check.first, includesPeople: demand.includesPeople)
            if room < checks[window]?.room ?? .max { checks[window] = (check, room) }
        }
        var values: [PostgresValue] = []
        func parameter(_ value: PostgresValue) -> String {
            values.append(value)
            return "$\(values.count)"
        }
        let areWithin = self.areWithin(checks.values.map(\.check), checks.values.map(\.room), parameter)
        let charging = self.charging(entries.values.sorted { $0.key < $1.key }, of: "", parameter)
        return [PostgresStatement("WITH \(charging) SELECT 1 / CASE WHEN \(areWithin) THEN 1 ELSE 0 END", values)]
    }

    private struct Window: Hashable {
        let key: String
        let first: Int64
        let includesPeople: Bool
    }

    /// Returns the expressions that add charges, and forget old sums when a minute begins.
    ///
    /// - Parameter source: The rows that the charges depend on, as the beginning of a list in SQL.
    static func charging(
        _ entries: [LimitCharges.Entry],
        of source: String,
        _ parameter: (PostgresValue) -> String
    ) -> String {
        let columns = [
            parameter(.texts(entries.map(\.key))) + "::text[]",
            parameter(.integers(entries.map(\.minute))) + "::int8[]",
            parameter(.integers(entries.map(\.agents))) + "::int8[]",
            parameter(.integers(entries.map(\.people))) + "::int8[]",
        ]
        return """
            entry AS (
                SELECT new.*, last.minute AS last, last.agents AS old_agents, last.people AS old_people
                FROM \(source)unnest(\(columns.joined(separator: ", "))) AS new (key, minute, agents, people) LEFT JOIN LATERAL (
                    SELECT * FROM charge WHERE charge.key = new.key ORDER BY minute DESC LIMIT 1
                ) AS last ON true
            ), charged AS (
                INSERT INTO charge (key, minute, agents, people)
                SELECT key, greatest(minute, last), agents + coalesce(old_agents, 0), people + coalesce(old_people, 0) FROM entry
                ON CONFLICT (key, minute) DO UPDATE SET agents = excluded.agents, people = excluded.people
            ), forgotten AS (
                DELETE FROM charge USING entry WHERE entry.minute > entry.last AND charge.key = entry.key AND charge.minute < (
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
