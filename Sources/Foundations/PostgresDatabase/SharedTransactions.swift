import Coordination
import Synchronization

/// Combines concurrent statements into shared transactions, to save round trips and commits.
///
/// ```swift
/// let transactions = SharedTransactions(in: pool, .durable)
/// let rows = try await transactions.run(PostgresStatement("UPDATE counter SET value = value + 1 WHERE id = $1", [.text(id)]))
/// ```
///
/// There is no added wait: a transaction includes the statements that arrived before its connection was ready. So groups are
/// small on an idle machine and large on a busy one. If the server refuses one statement, or a row is locked for longer than a
/// moment, the transaction is rolled back and each statement is run separately. Statements that lock rows name their place. A
/// transaction runs them in the order of places, so that transactions, even of other processes, do not deadlock.
///
/// Transactions that would wait for each other anyway run one at a time, on request. Statements that arrive meanwhile share the next.
/// Work that each of them would do for itself may be done once for all, by statements made of their parts; `Part` is `Never` otherwise.
package final class SharedTransactions<Part: Sendable>: Sendable {
    /// The statements to run instead in a transaction with others, and the part of the work that it then does for all.
    ///
    /// If one fails, all of the transaction is repeated with the original statements.
    package struct Share: Sendable {
        fileprivate let statements: [PostgresStatement]
        fileprivate let part: Part

        package init(_ statements: [PostgresStatement], _ part: Part) {
            self.statements = statements
            self.part = part
        }
    }

    fileprivate enum Turn: Sendable {
        /// The statement is the first one of the transaction with this number, and runs it.
        case lead(UInt64)
        /// The statement was run with others.
        case done([PostgresRows])
        /// The statement is run separately.
        case alone
    }

    /// Statements, what the transaction begins and ends with for them, and the place of the row that they lock.
    fileprivate struct Work: Sendable {
        let statements: [PostgresStatement]
        let share: Share?
        let opening: [PostgresStatement]
        let closing: [PostgresStatement]
        let place: Int64
    }

    fileprivate struct Entry: Sendable {
        let work: Work
        let waiter: Waiter<Turn>
    }

    fileprivate struct State {
        /// Statements that joined a transaction that has not begun.
        var gathered: [UInt64: [Entry]] = [:]
        /// The transaction that accepts further statements.
        var open: UInt64?
    }

    private static var limit: Int { 64 }
    /// Limits the wait for locks; a blocked statement then waits separately. What a transaction begins with waits as long as it takes,
    /// because each of its statements would.
    private static var patience: Duration { .milliseconds(100) }

    private let pool: PostgresPool
    private let effect: PostgresConnection.Effect
    private let turns: KeyedSemaphore?
    private let combine: @Sendable ([Part]) -> [PostgresStatement]?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - runsOneAtATime: `true` if a shared transaction begins when the one before has ended.
    ///   - combine: Returns the statements that end a transaction for all parts of it, and make it fail if a part cannot be done with
    ///     the others; `nil` if they cannot be done together.
    package init(
        in pool: PostgresPool,
        _ effect: PostgresConnection.Effect,
        runsOneAtATime: Bool = false,
        combine: @escaping @Sendable ([Part]) -> [PostgresStatement]? = { _ in nil }
    ) {
        self.pool = pool
        self.effect = effect
        self.turns = runsOneAtATime ? KeyedSemaphore() : nil
        self.combine = combine
    }

    /// The number of statements that joined another one's transaction, for tests.
    package var gatheredCount: Int { self.state.withLock { $0.gathered.values.reduce(0) { $0 + $1.count } } }

    /// Runs a statement in a transaction that others may share.
    ///
    /// - Parameter place: The place of the row that it locks; any value if it locks none.
    /// - Throws: The errors of ``PostgresPool/withConnection(isCancelable:_:)`` and of running a statement. A lost connection
    ///   fails all statements of the transaction.
    package func run(_ statement: PostgresStatement, place: Int64 = 0) async throws -> PostgresRows {
        guard let rows = try await self.run([statement], place: place).first else {
            throw PostgresError(.unexpectedResult)
        }
        return rows
    }

    /// Runs statements in order in a transaction that others may share; see ``run(_:place:)``.
    ///
    /// - Parameters:
    ///   - share: The work in a shared transaction instead, if all who share it have one.
    ///   - opening: Statements without values that the transaction begins with. They are run once for all that ask for the same.
    ///   - closing: The same that it ends with.
    /// - Returns: The rows of each of `statements`, or of those of `share`.
    package func run(
        _ statements: [PostgresStatement],
        share: Share? = nil,
        opening: [PostgresStatement] = [],
        closing: [PostgresStatement] = [],
        place: Int64 = 0
    ) async throws -> [PostgresRows] {
        let work = Work(statements: statements, share: share, opening: opening, closing: closing, place: place)
        let turn = try await self.state.wait { state, waiter in
            state.join(Entry(work: work, waiter: waiter), limit: Self.limit)
        } leave: { state, id in
            state.leave(id)
        }
        switch turn {
        case .done(let rows): return rows
        case .alone: return try await self.runAlone(work)
        case .lead(let number): return try await self.lead(number, work)
        }
    }

    private func runAlone(_ work: Work) async throws -> [PostgresRows] {
        try await self.pool.withConnection { try self.run(work, $0) }
    }

    private func run(_ work: Work, _ connection: PostgresConnection) throws(PostgresError) -> [PostgresRows] {
        let results = try connection.run(work.statements + work.closing, self.effect, opening: work.opening)
        return Array(results.prefix(work.statements.count))
    }

    private func lead(_ number: UInt64, _ work: Work) async throws -> [PostgresRows] {
        do {
            let rows = try await self.withTurn {
                try await self.pool.withConnection { try self.run(work, with: self.begin(number), $0) }
            }
            return if let rows { rows } else { try await self.runAlone(work) }
        } catch is CancellationError {
            // It does not concern the others, and nothing was run.
            if let heir = self.state.withLock({ $0.handOver(number) }) { heir.resume(with: .success(.lead(heir.id))) }
            throw CancellationError()
        } catch {
            // There is no connection.
            for other in self.begin(number) { other.waiter.resume(with: .failure(error)) }
            throw error
        }
    }

    private func withTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard let turns else { return try await body() }
        try await turns.enter("")
        defer { turns.leave("") }
        return try await body()
    }

    /// Closes a transaction to further statements, and returns the joined ones.
    private func begin(_ number: UInt64) -> [Entry] { self.state.withLock { $0.begin(number) } }

    private static func once(_ statements: [PostgresStatement]) -> [PostgresStatement] {
        statements.reduce(into: []) { once, statement in
            if !once.contains(where: { $0.sql == statement.sql }) { once.append(statement) }
        }
    }

    /// - Returns: `nil` if each is to be run separately.
    private func run(
        _ own: Work,
        with others: [Entry],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [PostgresRows]? {
        guard !others.isEmpty else { return try self.run(own, connection) }
        var all: [(work: Work, waiter: Waiter<Turn>?)] = [(own, nil)]
        for other in others { all.append((other.work, other.waiter)) }
        all.sort { $0.work.place < $1.work.place }
        do throws(PostgresError) {
            let results = try self.run(all.map(\.work), connection)
            var ownRows: [PostgresRows] = []
            for ((_, waiter), rows) in zip(all, results) {
                if let waiter { waiter.resume(with: .success(.done(rows))) } else { ownRows = rows }
            }
            return ownRows
        } catch {
            let isRefused = error.kind == .refused
            for other in others { other.waiter.resume(with: isRefused ? .success(.alone) : .failure(error)) }
            if isRefused { return nil }
            throw error
        }
    }

    /// Runs all in one transaction: their shares if that is possible, otherwise their statements.
    private func run(_ works: [Work], _ connection: PostgresConnection) throws(PostgresError) -> [[PostgresRows]] {
        let shares = works.compactMap(\.share)
        if shares.count == works.count, let combined = self.combine(shares.map(\.part)) {
            do {
                return try self.run(shares.map(\.statements), closing: combined, of: works, connection)
            } catch  where error.kind == .refused && error.refusal != .timeout {}
        }
        return try self.run(works.map(\.statements), closing: [], of: works, connection)
    }

    private func run(
        _ parts: [[PostgresStatement]],
        closing: [PostgresStatement],
        of works: [Work],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [[PostgresRows]] {
        let statements = parts.flatMap(\.self) + closing + Self.once(works.flatMap(\.closing))
        let opening = Self.once(works.flatMap(\.opening))
        var results = try connection.run(statements, self.effect, opening: opening, lockTimeout: Self.patience)[...]
        guard results.count == statements.count else { throw PostgresError(.unexpectedResult) }
        return parts.map { part in
            defer { results = results.dropFirst(part.count) }
            return Array(results.prefix(part.count))
        }
    }
}

extension SharedTransactions.State {
    /// - Returns: `nil` if the statement joined an earlier one.
    fileprivate mutating func join(
        _ entry: SharedTransactions.Entry,
        limit: Int
    ) -> Result<SharedTransactions.Turn, any Error>? {
        if let open, let gathered = self.gathered[open], gathered.count + 1 < limit {
            self.gathered[open]?.append(entry)
            return nil
        }
        let number = entry.waiter.id
        self.gathered[number] = []
        self.open = number
        return .success(.lead(number))
    }

    fileprivate mutating func begin(_ number: UInt64) -> [SharedTransactions.Entry] {
        if self.open == number { self.open = nil }
        return self.gathered.removeValue(forKey: number) ?? []
    }

    /// Lets the first of those who joined lead the transaction.
    fileprivate mutating func handOver(_ number: UInt64) -> Waiter<SharedTransactions.Turn>? {
        let isOpen = self.open == number
        var entries = self.begin(number)
        guard !entries.isEmpty else { return nil }
        let heir = entries.removeFirst().waiter
        self.gathered[heir.id] = entries
        if isOpen { self.open = heir.id }
        return heir
    }

    fileprivate mutating func leave(_ id: UInt64) -> Waiter<SharedTransactions.Turn>? {
        for (number, entries) in self.gathered {
            guard let index = entries.firstIndex(where: { $0.waiter.id == id }) else { continue }
            return self.gathered[number]?.remove(at: index).waiter
        }
        return nil
    }
}
