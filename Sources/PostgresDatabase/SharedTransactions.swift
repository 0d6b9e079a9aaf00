import Coordination
import Synchronization

/// Lets statements that tasks ask for at the same time share a transaction, and with it a round trip and a commit.
///
/// ```swift
/// let transactions = SharedTransactions(in: pool, .durable)
/// let rows = try await transactions.run(PostgresStatement("UPDATE counter SET value = value + 1 WHERE id = $1", [.text(id)]))
/// ```
///
/// Nothing is waited for: what is asked for until a connection begins with the first statement is run with it. That is little
/// on a machine that is idle, and much on one that is busy, which is where it pays.
///
/// What happens to one statement is no other's concern: when the server refuses it, or a row that it wants is locked for longer
/// than a moment, nothing of the transaction was done, and each statement is run on its own.
///
/// Statements that lock rows say which by their place: those of a transaction are run in the order of their places, so that two
/// transactions that want the same rows, also of other processes, do not wait for each other.
package final class SharedTransactions: Sendable {
    /// The next step of a statement.
    fileprivate enum Turn: Sendable {
        /// It is the first of a transaction of this number, and runs it.
        case lead(UInt64)
        /// It was run with others.
        case done([PostgresRows])
        /// It is run on its own.
        case alone
    }

    /// Statements, and the place of the row that they lock.
    fileprivate struct Work: Sendable {
        let statements: [PostgresStatement]
        let place: Int64
    }

    fileprivate struct Entry: Sendable {
        let work: Work
        let waiter: Waiter<Turn>
    }

    fileprivate struct State {
        /// The statements that run with the first ones of transactions that have not begun.
        var gathered: [UInt64: [Entry]] = [:]
        /// The transaction that others may join.
        var open: UInt64?
    }

    /// The greatest number of statements in one transaction.
    private static let limit = 64
    /// Another's lock is waited for by the statement alone that wants it.
    private static let patience = PostgresStatement("SELECT set_config('lock_timeout', '100', true)")

    private let pool: PostgresPool
    private let effect: PostgresConnection.Effect
    private let state = Mutex(State())

    package init(in pool: PostgresPool, _ effect: PostgresConnection.Effect) {
        self.pool = pool
        self.effect = effect
    }

    /// The number of statements that wait for a transaction that another one begins, for tests.
    package var gatheredCount: Int { self.state.withLock { $0.gathered.values.reduce(0) { $0 + $1.count } } }

    /// Runs a statement in a transaction that others may share.
    ///
    /// - Parameter place: The place of the row that it locks; those that lock none may have any.
    /// - Throws: As ``PostgresPool/withConnection(isCancelable:_:)`` and what a connection throws that runs a statement. When the
    ///   connection is lost, all that shared the transaction are told.
    package func run(_ statement: PostgresStatement, place: Int64 = 0) async throws -> PostgresRows {
        guard let rows = try await self.run([statement], place: place).first else {
            throw PostgresError(.unexpectedResult)
        }
        return rows
    }

    /// Runs statements one after the other in a transaction that others may share; see ``run(_:place:)``.
    ///
    /// - Returns: The rows of each.
    package func run(_ statements: [PostgresStatement], place: Int64 = 0) async throws -> [PostgresRows] {
        let work = Work(statements: statements, place: place)
        let turn = try await self.state.wait { state, waiter in
            state.join(Entry(work: work, waiter: waiter), limit: Self.limit)
        } leave: { state, id in
            state.leave(id)
        }
        switch turn {
        case .done(let rows): return rows
        case .alone: return try await self.runAlone(statements)
        case .lead(let number): return try await self.lead(number, work)
        }
    }

    private func runAlone(_ statements: [PostgresStatement]) async throws -> [PostgresRows] {
        try await self.pool.withConnection { try $0.run(statements, self.effect) }
    }

    private func lead(_ number: UInt64, _ work: Work) async throws -> [PostgresRows] {
        do {
            let rows = try await self.pool.withConnection { connection in
                try self.run(work, with: self.begin(number), connection)
            }
            return if let rows { rows } else { try await self.runAlone(work.statements) }
        } catch {
            // Nothing was run: there is no connection, or this task was canceled, which is its own affair.
            let turn: Result<Turn, any Error> = error is CancellationError ? .success(.alone) : .failure(error)
            for other in self.begin(number) { other.waiter.resume(with: turn) }
            throw error
        }
    }

    /// Returns what is run with the first statement of a transaction, which no other joins from now on.
    private func begin(_ number: UInt64) -> [Entry] { self.state.withLock { $0.begin(number) } }

    /// - Returns: `nil` when each is to be run on its own.
    private func run(
        _ own: Work,
        with others: [Entry],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [PostgresRows]? {
        guard !others.isEmpty else { return try connection.run(own.statements, self.effect) }
        var all: [(work: Work, waiter: Waiter<Turn>?)] = [(own, nil)]
        for other in others { all.append((other.work, other.waiter)) }
        all.sort { $0.work.place < $1.work.place }
        do throws(PostgresError) {
            let statements = [Self.patience] + all.flatMap(\.work.statements)
            var results = try connection.run(statements, self.effect).dropFirst()
            guard results.count == statements.count - 1 else { throw PostgresError(.unexpectedResult) }
            var ownRows: [PostgresRows] = []
            for (work, waiter) in all {
                let rows = Array(results.prefix(work.statements.count))
                results = results.dropFirst(work.statements.count)
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
}

extension SharedTransactions.State {
    /// - Returns: `nil` when the statement is run with one that came before.
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

    fileprivate mutating func leave(_ id: UInt64) -> Waiter<SharedTransactions.Turn>? {
        for (number, entries) in self.gathered {
            guard let index = entries.firstIndex(where: { $0.waiter.id == id }) else { continue }
            return self.gathered[number]?.remove(at: index).waiter
        }
        return nil
    }
}
