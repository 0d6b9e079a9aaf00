import Basics
import CPostgreSQL

// Running statements.
extension PostgresConnection {
    package enum Effect: Sendable {
        /// None: they may be repeated after a lost connection.
        case none
        /// Changes that are durable when the call returns.
        case durable
        /// Changes that a crash of the server shortly afterwards may undo.
        case relaxed
    }

    /// Runs statements as one transaction in one round trip: all are sent before the first result is awaited. Durability,
    /// statement timeout and isolation (`READ COMMITTED`) are set here, whatever the role, the database or a pooler says. All
    /// statements together must finish within one statement's timeout.
    ///
    /// - Parameters:
    ///   - opening: Statements before the others, which may wait for locks for as long as they may run.
    ///   - lockTimeout: The longest wait of a statement for a lock; `nil` for as long as it may run.
    /// - Returns: The rows of each of `statements`.
    /// - Throws: ``PostgresError``; nothing was changed, except for ``PostgresError/Kind/outcomeUnknown``.
    @discardableResult
    package func run(
        _ statements: [PostgresStatement],
        _ effect: Effect = .durable,
        opening: [PostgresStatement] = [],
        lockTimeout: Duration? = nil
    ) throws(PostgresError) -> [PostgresRows] {
        var before = self.settings(ofTransaction: effect, lockTimeout: opening.isEmpty ? lockTimeout : nil) + opening
        if !opening.isEmpty, let lockTimeout { before.append(PostgresStatement("SELECT " + Self.setting(lockTimeout))) }
        let results = try self.exchange(before + statements, mayCommit: effect != .none)
        return Array(results.dropFirst(before.count))
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

    /// Runs a statement that must not share a transaction, such as creating an index concurrently.
    package func runAlone(_ sql: String) throws(PostgresError) {
        try self.exchange([PostgresStatement(sql)], mayCommit: true)
    }

    /// Runs `body` as one transaction of several round trips. The server rolls it back if the next one is late, as with a
    /// suspended process, because its locks block others.
    ///
    /// - Throws: The error of `body`, after which nothing was changed; otherwise the errors of ``run(_:_:)``.
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
            // If this fails, the connection is dropped, which also rolls the transaction back.
            _ = try? self.exchange([PostgresStatement("ROLLBACK")], mayCommit: false)
            throw error
        }
        // The server would roll back a failed transaction on commit, and report success.
        guard PQtransactionStatus(self.handle) == PQTRANS_INTRANS else {
            throw self.lost(mayCommit: false)
        }
        try self.exchange([PostgresStatement("COMMIT")], mayCommit: true)
        return result
    }

    // MARK: Settings

    /// Applies our settings to the session if we own it, because they take a quarter of a short transaction's time. A pooler's
    /// shared session gets them with each transaction.
    func setSession(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        let settings = self.settings(.durable, ofSession: PQbackendPID(self.handle))
        let rows = try self.exchange([settings], mayCommit: false, until: deadline)
        guard let row = rows.first?.first else { throw PostgresError(.unexpectedResult) }
        self.sessionIsSet = try row.boolean(0)
    }

    /// Returns the statements before a transaction's own: none if the session's settings are right for it.
    private func settings(ofTransaction effect: Effect, lockTimeout: Duration? = nil) -> [PostgresStatement] {
        var own: [String] = []
        if self.sessionIsSet, effect == .relaxed { own.append("set_config('synchronous_commit', 'off', true)") }
        if let lockTimeout { own.append(Self.setting(lockTimeout)) }
        let ofTransaction = own.isEmpty ? [] : [PostgresStatement("SELECT " + own.joined(separator: ", "))]
        return self.sessionIsSet ? ofTransaction : [Self.isolation, self.settings(effect)] + ofTransaction
    }

    private static func setting(_ lockTimeout: Duration) -> String {
        "set_config('lock_timeout', '\(Int32(saturating: max(1, lockTimeout / .milliseconds(1))))', true)"
    }

    /// Sets the isolation of one transaction. It must be the first statement and take no snapshot, unlike `set_config`. `SET
    /// TRANSACTION` does the same, but without `BEGIN` it logs a warning each time.
    private static let isolation = PostgresStatement("SET transaction_isolation = 'read committed'")

    /// - Parameter process: Applies the settings to the session if this process serves it: a pooler reports another number.
    ///   Otherwise they apply to the transaction only.
    private func settings(_ effect: Effect, ofSession process: Int32? = nil) -> PostgresStatement {
        // `remote_apply` is stronger than required.
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
        // Clamped to the setting's maximum of some weeks.
        let milliseconds = Int32(saturating: max(1, self.options.statementTimeout / .milliseconds(1)))
        // Names temporary tables last; otherwise they would be searched first.
        let searchPath = self.options.searchPath.map { PostgresValue.text(Self.quotedName($0) + ", pg_temp") } ?? .null
        return PostgresStatement(
            sql,
            [
                .boolean(effect != .relaxed), .text("\(milliseconds)"), searchPath,
                PostgresValue(process.map { Int64($0) }),
            ]
        )
    }

    /// Returns a quoted name for a statement.
    package static func quotedName(_ name: String) -> String {
        var quoted = "\""
        for scalar in name.unicodeScalars {
            if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }

    // MARK: One round trip

    /// Sends statements, and reads all results until the server is done.
    ///
    /// - Parameter deadline: The time at which the connection counts as lost; `nil` for the options' timeouts.
    @discardableResult
    func exchange(
        _ statements: [PostgresStatement],
        mayCommit: Bool,
        until deadline: ContinuousClock.Instant? = nil
    ) throws(PostgresError) -> [PostgresRows] {
        guard !self.isLost, PQstatus(self.handle) == CONNECTION_OK else { throw PostgresError(.connectionLost) }
        self.roundTripCount += 1
        self.statementCount += statements.count
        let deadline = deadline ?? .now + self.options.statementTimeout + self.options.grace
        var exchange = Exchange(deadline: deadline, mayCommit: mayCommit)
        let fresh = try self.send(statements, mayCommit: mayCommit)
        var results: [PostgresRows] = []
        for sql in fresh {
            if let sql {
                _ = try self.results(&exchange)
                // The server did not prepare it.
                if exchange.failure != nil { self.preparedNames[sql] = nil }
            }
            results += try self.results(&exchange)
        }
        try self.readEnd(&exchange)
        // A cancellation request may still be in flight, and would hit the next statement.
        if exchange.isCanceled { self.isLost = true }
        if let failure = exchange.failure { throw failure }
        return results
    }

    /// Queues everything. Until the last call, which ends the transaction, the server commits nothing.
    ///
    /// - Returns: For each statement its string, if it is prepared now.
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

/// A transaction in ``PostgresConnection/transaction(_:)``.
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
