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

    fileprivate struct Entry: Sendable {
        let statements: [PostgresStatement]
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
    /// Another's lock is waited for by the statement alone that wants it. It also ends two nodes' waiting for each other.
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
    /// - Throws: As ``PostgresPool/withConnection(isCancelable:_:)`` and what a connection throws that runs a statement. When the
    ///   connection is lost, all that shared the transaction are told.
    package func run(_ statement: PostgresStatement) async throws -> PostgresRows {
        guard let rows = try await self.run([statement]).first else { throw PostgresError(.unexpectedResult) }
        return rows
    }

    /// Runs statements one after the other in a transaction that others may share; see ``run(_:)``.
    ///
    /// - Returns: The rows of each.
    package func run(_ statements: [PostgresStatement]) async throws -> [PostgresRows] {
        let turn = try await self.state.wait { state, waiter in
            state.join(Entry(statements: statements, waiter: waiter), limit: Self.limit)
        } leave: { state, id in
            state.leave(id)
        }
        switch turn {
        case .done(let rows): return rows
        case .alone: return try await self.runAlone(statements)
        case .lead(let number): return try await self.lead(number, statements)
        }
    }

    private func runAlone(_ statements: [PostgresStatement]) async throws -> [PostgresRows] {
        try await self.pool.withConnection { try $0.run(statements, self.effect) }
    }

    private func lead(_ number: UInt64, _ statements: [PostgresStatement]) async throws -> [PostgresRows] {
        do {
            let rows = try await self.pool.withConnection { connection in
                try self.run(statements, with: self.begin(number), connection)
            }
            return if let rows { rows } else { try await self.runAlone(statements) }
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
        _ statements: [PostgresStatement],
        with others: [Entry],
        _ connection: PostgresConnection
    ) throws(PostgresError) -> [PostgresRows]? {
        guard !others.isEmpty else { return try connection.run(statements, self.effect) }
        do throws(PostgresError) {
            let all = [Self.patience] + statements + others.flatMap(\.statements)
            var results = try connection.run(all, self.effect).dropFirst()
            guard results.count == all.count - 1 else { throw PostgresError(.unexpectedResult) }
            let own = Array(results.prefix(statements.count))
            results = results.dropFirst(statements.count)
            for other in others {
                let rows = Array(results.prefix(other.statements.count))
                results = results.dropFirst(other.statements.count)
                other.waiter.resume(with: .success(.done(rows)))
            }
            return own
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
