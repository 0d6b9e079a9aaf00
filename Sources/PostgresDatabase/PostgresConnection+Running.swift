import Basics
import CPostgreSQL

// Running: what callers run, and how it is sent.
extension PostgresConnection {
    /// The effect of statements.
    package enum Effect: Sendable {
        /// Nothing: they may be repeated whenever the connection is lost.
        case none
        /// Changes, on the disk when the call returns.
        case durable
        /// Changes that a crash of the server may take back within a moment.
        case relaxed
    }

    /// Runs statements as one transaction, in one round trip: all are sent before the first result is waited for.
    ///
    /// How durable the commit is, how long a statement may take, and that each statement sees what was committed before it (the
    /// isolation is `READ COMMITTED`) are our settings, whatever the role, the database and a pooler in between say. All of
    /// them together must be done in the time that one may take.
    ///
    /// - Returns: The rows of each statement.
    /// - Throws: ``PostgresError``; nothing was changed then, except for ``PostgresError/Kind/outcomeUnknown``.
    @discardableResult
    package func run(
        _ statements: [PostgresStatement],
        _ effect: Effect = .durable
    ) throws(PostgresError) -> [PostgresRows] {
        let settings = self.settings(ofTransaction: effect)
        let results = try self.exchange(settings + statements, mayCommit: effect != .none)
        return Array(results.dropFirst(settings.count))
    }

    /// Runs one statement as a transaction; see ``run(_:_:)``.
    @discardableResult
    package func run(
        _ sql: String,
        _ values: [PostgresValue] = [],
        _ effect: Effect = .durable
    ) throws(PostgresError) -> PostgresRows {
        guard let rows = try self.run([PostgresStatement(sql, values)], effect).first else {
            throw PostgresError(.unexpectedResult)
        }
        return rows
    }

    /// Runs a statement that must not share a transaction with any other, such as one that makes an index while others write.
    package func runAlone(_ sql: String) throws(PostgresError) {
        try self.exchange([PostgresStatement(sql)], mayCommit: true)
    }

    /// Runs `body` as one transaction of several round trips. The server undoes it when the next one does not come in time, as
    /// of a process that is frozen: others would wait for its locks.
    ///
    /// - Throws: The error of `body`, and then nothing was changed; otherwise as ``run(_:_:)``.
    @discardableResult
    package func transaction<Result>(_ body: (borrowing PostgresTransaction) throws -> Result) throws -> Result {
        try self.exchange(
            [PostgresStatement("BEGIN")] + self.settings(ofTransaction: .durable),
            mayCommit: false
        )
        let result: Result
        do {
            result = try body(PostgresTransaction(connection: self))
        } catch {
            // Should this fail, the connection is not used any more, and its end undoes the transaction as well.
            _ = try? self.exchange([PostgresStatement("ROLLBACK")], mayCommit: false)
            throw error
        }
        // The server would answer the commit of a failed transaction with a rollback, and call that a success.
        guard PQtransactionStatus(self.handle) == PQTRANS_INTRANS else {
            throw self.lost(mayCommit: false)
        }
        try self.exchange([PostgresStatement("COMMIT")], mayCommit: true)
        return result
    }

    // MARK: Settings

    /// Makes our settings those of the session, if it is ours alone: they take the server a quarter of the time of a short
    /// transaction. One that a pooler lends to others gets them for each transaction.
    func setSession(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        let settings = self.settings(.durable, ofSession: PQbackendPID(self.handle))
        let rows = try self.exchange([settings], mayCommit: false, until: deadline)
        guard let row = rows.first?.first else { throw PostgresError(.unexpectedResult) }
        self.sessionIsSet = try row.boolean(0)
    }

    /// Returns what precedes a transaction's own statements.
    private func settings(ofTransaction effect: Effect) -> [PostgresStatement] {
        guard self.sessionIsSet else { return [Self.isolation, self.settings(effect)] }
        return effect == .relaxed ? [self.settings(effect)] : []
    }

    /// Sets the isolation of one transaction. It must be the first statement, and one that takes no snapshot: the function
    /// `set_config` would be called with one. `SET TRANSACTION` does the same, and where there was no `BEGIN` leaves a warning
    /// in the server's log each time.
    private static let isolation = PostgresStatement("SET transaction_isolation = 'read committed'")

    /// - Parameter process: Makes them settings of the session, if this process serves it: a pooler tells its clients a number
    ///   of its own. Otherwise they are those of the transaction alone.
    private func settings(_ effect: Effect, ofSession process: Int32? = nil) -> PostgresStatement {
        // `remote_apply` is stronger than what is asked for.
        let sql = """
            SELECT process = $4, set_config('synchronous_commit', CASE
                    WHEN NOT $1 THEN 'off'
                    WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply'
                    ELSE 'on' END, process IS DISTINCT FROM $4),
                set_config('statement_timeout', $2, process IS DISTINCT FROM $4),
                set_config('idle_in_transaction_session_timeout', $2, process IS DISTINCT FROM $4),
                set_config('default_transaction_isolation', 'read committed', process IS DISTINCT FROM $4),
                set_config('search_path', coalesce($3, current_setting('search_path')), process IS DISTINCT FROM $4)
            FROM pg_backend_pid() AS process
            """
        // As much as the setting takes: some weeks.
        let milliseconds = Int32(saturating: max(1, self.options.statementTimeout / .milliseconds(1)))
        // Temporary tables last: unnamed, they would be looked at first.
        let searchPath = self.options.searchPath.map { PostgresValue.text(Self.quotedName($0) + ", pg_temp") } ?? .null
        return PostgresStatement(
            sql,
            [
                .boolean(effect != .relaxed), .text("\(milliseconds)"), searchPath,
                PostgresValue(process.map { Int64($0) }),
            ]
        )
    }

    /// Returns a name as it stands in a statement, whatever it contains.
    package static func quotedName(_ name: String) -> String {
        var quoted = "\""
        for scalar in name.unicodeScalars {
            if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    // MARK: One round trip

    /// Sends statements, and reads all results up to the point at which the server says that it is done.
    ///
    /// - Parameter deadline: The time at which the connection counts as lost; `nil` goes by the options.
    @discardableResult
    func exchange(
        _ statements: [PostgresStatement],
        mayCommit: Bool,
        until deadline: ContinuousClock.Instant? = nil
    ) throws(PostgresError) -> [PostgresRows] {
        guard !self.isLost, PQstatus(self.handle) == CONNECTION_OK else { throw PostgresError(.connectionLost) }
        self.roundTripCount += 1
        let deadline = deadline ?? .now + self.options.statementTimeout + self.options.grace
        var exchange = Exchange(deadline: deadline, mayCommit: mayCommit)
        let fresh = try self.send(statements, mayCommit: mayCommit)
        var results: [PostgresRows] = []
        for sql in fresh {
            if let sql {
                _ = try self.results(&exchange)
                // The server has not prepared it.
                if exchange.failure != nil { self.preparedNames[sql] = nil }
            }
            results += try self.results(&exchange)
        }
        try self.readEnd(&exchange)
        // A request to cancel may still be on its way, and would hit the next statement.
        if exchange.isCanceled { self.isLost = true }
        if let failure = exchange.failure { throw failure }
        return results
    }

    /// Queues everything. Until the last call, which ends the transaction, the server commits nothing.
    ///
    /// - Returns: For each statement its string when it is prepared now.
    private func send(
        _ statements: [PostgresStatement],
        mayCommit: Bool
    ) throws(PostgresError) -> [String?] {
        var fresh: [String?] = []
        for statement in statements { fresh.append(try self.send(statement)) }
        guard PQpipelineSync(self.handle) == 1 else { throw self.lost(mayCommit: mayCommit) }
        return fresh
    }

    private func send(_ statement: PostgresStatement) throws(PostgresError) -> String? {
        let types = statement.values.map(\.type)
        let values = statement.values.map(\.encoded)
        var fresh: String?
        var isSent: Int32
        if self.options.preparesStatements {
            let name: String
            if let known = self.preparedNames[statement.sql] {
                name = known
            } else {
                self.lastPreparedNumber += 1
                name = "s\(self.lastPreparedNumber)"
                self.preparedNames[statement.sql] = name
                fresh = statement.sql
                isSent = PQsendPrepare(self.handle, name, statement.sql, Int32(types.count), types)
                guard isSent == 1 else { throw self.lost(mayCommit: false) }
            }
            isSent = withParameters(values) { values, lengths, formats in
                PQsendQueryPrepared(self.handle, name, Int32(types.count), values, lengths, formats, 1)
            }
        } else {
            isSent = withParameters(values) { values, lengths, formats in
                PQsendQueryParams(self.handle, statement.sql, Int32(types.count), types, values, lengths, formats, 1)
            }
        }
        guard isSent == 1 else { throw self.lost(mayCommit: false) }
        return fresh
    }
}

/// The inside of ``PostgresConnection/transaction(_:)``.
package struct PostgresTransaction: ~Copyable {
    fileprivate let connection: PostgresConnection

    /// Runs statements in one round trip; see ``PostgresConnection/run(_:_:)``.
    @discardableResult
    package borrowing func run(_ statements: [PostgresStatement]) throws(PostgresError) -> [PostgresRows] {
        try self.connection.exchange(statements, mayCommit: false)
    }

    /// Runs one statement.
    @discardableResult
    package borrowing func run(
        _ sql: String,
        _ values: [PostgresValue] = []
    ) throws(PostgresError) -> PostgresRows {
        guard let rows = try self.run([PostgresStatement(sql, values)]).first else {
            throw PostgresError(.unexpectedResult)
        }
        return rows
    }
}
