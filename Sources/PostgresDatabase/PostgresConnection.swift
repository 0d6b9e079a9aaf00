import Basics
import CPostgreSQL

/// A connection to a PostgreSQL server, with the statements that it has prepared so far.
///
/// ```swift
/// let connection = try PostgresConnection(to: target)
/// let rows = try connection.run([
///     PostgresStatement("UPDATE counter SET value = value + 1 WHERE id = $1 RETURNING value", [.text(id)])
/// ])
/// ```
///
/// Calls block, and resolving a host's name may block for as long as the resolver likes. One thread at a time may use a
/// connection; an actor on a queue of its own is a good owner. Only its ``Interrupt`` may be raised from elsewhere.
package final class PostgresConnection {
    /// How statements are run.
    package struct Options: Sendable, Equatable {
        /// How long the server works on one statement.
        package var statementTimeout = Duration.seconds(5)
        /// How long the server's end of it is waited for beyond that, before the connection counts as lost.
        package var grace = Duration.seconds(2)
        /// Whether statements are prepared. A pooler that gives each transaction another connection may not carry that.
        package var preparesStatements = true
        /// The schema that unqualified names are looked for in; `nil` leaves it to the role.
        package var searchPath: String?

        package init() {}

        /// The same with times that can be counted with.
        var bounded: Self {
            var options = self
            options.statementTimeout = self.statementTimeout.bounded
            options.grace = self.grace.bounded
            return options
        }
    }

    private let handle: OpaquePointer
    private let options: Options
    private let interrupt: Interrupt?
    private var preparedNames: [String: String] = [:]
    private var lastPreparedNumber = 0
    private var channels: Set<String> = []
    /// Whether something went wrong after which nobody can say where the conversation stands.
    private var isLost = false
    /// How many round trips were made so far, for tests and statistics.
    package private(set) var roundTripCount = 0

    /// Connects.
    ///
    /// - Parameters:
    ///   - interrupt: Ends connecting, and cancels statements, when it is raised.
    /// - Throws: ``PostgresError/Kind/unreachable``, ``PostgresError/Kind/invalidConfiguration`` or
    ///   ``PostgresError/Kind/canceled``.
    package init(
        to target: PostgresTarget,
        options: Options = Options(),
        interrupt: Interrupt? = nil
    ) throws(PostgresError) {
        let handle = try Self.begin(try target.parameters())
        self.handle = handle
        self.options = options.bounded
        self.interrupt = interrupt
        // From here on `deinit` ends the connection when this throws.
        try self.connect(until: .now + target.connectTimeout.bounded)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            throw PostgresError(connecting: handle)
        }
        // What the server has to say beside results would go to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
    }

    deinit { PQfinish(self.handle) }  // sends a farewell if there is room for it, and does not block

    private static func begin(
        _ parameters: [(keyword: String, value: String)]
    ) throws(PostgresError) -> OpaquePointer {
        let handle = withCStrings(parameters.map(\.keyword)) { keywords in
            withCStrings(parameters.map(\.value)) { values in PQconnectStartParams(keywords, values, 0) }
        }
        guard let handle else { throw PostgresError(.unreachable, detail: "out of memory") }
        guard PQstatus(handle) != CONNECTION_BAD else {
            defer { PQfinish(handle) }
            throw PostgresError(connecting: handle)
        }
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        return handle
    }

    private func connect(until deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let isWriting: Bool
            switch PQconnectPoll(self.handle) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: isWriting = false
            case PGRES_POLLING_WRITING: isWriting = true
            default: throw PostgresError(connecting: self.handle)
            }
            // Another host may have another socket.
            let socket = PQsocket(self.handle)
            switch SocketWait.wait(for: socket, writing: isWriting, or: self.interrupt, until: deadline) {
            case .ready: break
            case .interrupted: throw PostgresError(.canceled)
            case .late: throw PostgresError(.unreachable, detail: "the server did not answer in time")
            }
        }
    }

    // MARK: Statements

    /// What statements leave behind.
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
    /// How durable the commit is and how long a statement may take are settings of this transaction alone, whatever the role,
    /// the database and a pooler in between say. All of them together must be done in the time that one may take.
    ///
    /// - Returns: The rows of each statement.
    /// - Throws: ``PostgresError``; nothing was changed then, except for ``PostgresError/Kind/outcomeUnknown``.
    @discardableResult
    package func run(
        _ statements: [PostgresStatement],
        _ effect: Effect = .durable
    ) throws(PostgresError) -> [PostgresRows] {
        var results = try self.exchange([self.settings(effect)] + statements, mayCommit: effect != .none)
        if !results.isEmpty { results.removeFirst() }
        return results
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

    /// Runs `body` as one transaction of several round trips. The server undoes it when the next one does not come in time, as
    /// of a process that is frozen: others would wait for its locks.
    ///
    /// - Throws: What `body` throws, and then nothing was changed; otherwise as ``run(_:_:)``.
    @discardableResult
    package func transaction<Result>(_ body: (borrowing PostgresTransaction) throws -> Result) throws -> Result {
        try self.exchange([PostgresStatement("BEGIN"), self.settings(.durable)], mayCommit: false)
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

    private func settings(_ effect: Effect) -> PostgresStatement {
        // `remote_apply` is stronger than what is asked for.
        let sql = """
            SELECT set_config('synchronous_commit', CASE
                    WHEN NOT $1 THEN 'off'
                    WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply'
                    ELSE 'on' END, true),
                set_config('statement_timeout', $2, true), set_config('idle_in_transaction_session_timeout', $2, true),
                set_config('search_path', coalesce($3, current_setting('search_path')), true)
            """
        // As much as the setting takes: some weeks.
        let milliseconds = Int32(saturating: max(1, self.options.statementTimeout / .milliseconds(1)))
        // Temporary tables last: unnamed, they would be looked at first.
        let searchPath = self.options.searchPath.map { PostgresValue.text(Self.quotedName($0) + ", pg_temp") } ?? .null
        return PostgresStatement(sql, [.boolean(effect != .relaxed), .text("\(milliseconds)"), searchPath])
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

    // MARK: The state of the connection

    /// Whether another call may use the connection: it stands, and no transaction is left open.
    package var isUsable: Bool {
        !self.isLost && PQstatus(self.handle) == CONNECTION_OK && PQtransactionStatus(self.handle) == PQTRANS_IDLE
    }

    /// Returns whether the server has said anything unasked, such as that it closes the connection. Does not block.
    package var hasUnexpectedInput: Bool { SocketWait.isReadable(PQsocket(self.handle)) }

    /// The version of the server, such as 150018.
    package var serverVersion: Int { Int(PQserverVersion(self.handle)) }

    // MARK: Notifications

    /// Listens to a channel from now on, for as long as the connection lives.
    package func listen(to channel: String) throws(PostgresError) {
        guard !self.channels.contains(channel) else { return }
        try self.run("LISTEN \(Self.quotedName(channel))")
        self.channels.insert(channel)
    }

    /// Waits for a notification on a channel that is listened to.
    ///
    /// - Returns: Whether there was any; all that have come so far are taken.
    /// - Throws: ``PostgresError/Kind/connectionLost`` or ``PostgresError/Kind/canceled``.
    package func waitForNotification(until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
        while true {
            guard PQconsumeInput(self.handle) == 1 else { throw self.lost(mayCommit: false) }
            if self.takeNotifications() { return true }
            let socket = PQsocket(self.handle)
            switch SocketWait.wait(for: socket, writing: false, or: self.interrupt, until: deadline) {
            case .ready: break
            case .interrupted: throw PostgresError(.canceled)
            case .late: return false
            }
        }
    }

    private func takeNotifications() -> Bool {
        var hasTaken = false
        while let notification = PQnotifies(self.handle) {
            PQfreemem(notification)
            hasTaken = true
        }
        return hasTaken
    }

    // MARK: One round trip

    /// Sends statements, and reads all results up to the point at which the server says that it is done.
    @discardableResult
    fileprivate func exchange(
        _ statements: [PostgresStatement],
        mayCommit: Bool
    ) throws(PostgresError) -> [PostgresRows] {
        guard !self.isLost, PQstatus(self.handle) == CONNECTION_OK else { throw PostgresError(.connectionLost) }
        self.roundTripCount += 1
        let deadline = ContinuousClock.now + self.options.statementTimeout + self.options.grace
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

    /// Reads the results of one command up to their end.
    private func results(_ exchange: inout Exchange) throws(PostgresError) -> [PostgresRows] {
        var results: [PostgresRows] = []
        while let result = try self.nextResult(&exchange) {
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: results.append(PostgresRows(result))
            case PGRES_PIPELINE_ABORTED: PQclear(result)
            default:
                defer { PQclear(result) }
                try self.note(result, &exchange)
            }
        }
        return results
    }

    /// Notes why the server refuses. Unless it says more later, nothing was done.
    private func note(_ result: OpaquePointer, _ exchange: inout Exchange) throws(PostgresError) {
        let sqlState = CPostgreSQL_sqlState(result).map { String(cString: $0) }
        // Made by libpq itself, or the last word of a server that ends the connection: perhaps in the middle of a commit.
        guard let sqlState, PQstatus(self.handle) == CONNECTION_OK, !Self.endsConnection(sqlState) else {
            throw self.lost(mayCommit: exchange.mayCommit, sqlState: sqlState)
        }
        let isAnswerToCancel = exchange.isCanceled && sqlState == "57014"
        exchange.failure =
            exchange.failure ?? PostgresError(isAnswerToCancel ? .canceled : .refused, sqlState: sqlState)
    }

    private static func endsConnection(_ sqlState: String) -> Bool {
        ["25P03", "57P01", "57P02", "57P03", "57P04", "57P05"].contains(sqlState)
    }

    private func readEnd(_ exchange: inout Exchange) throws(PostgresError) {
        while let result = try self.nextResult(&exchange) {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC {
                // The end of the queue, at which libpq counts the connection as idle.
                if PQisBusy(self.handle) == 0 { PQclear(PQgetResult(self.handle)) }
                return
            }
            // A commit fails behind the results of its statements.
            try self.note(result, &exchange)
        }
        throw self.lost(mayCommit: exchange.mayCommit)
    }

    /// What is known of a round trip on its way.
    private struct Exchange {
        var deadline: ContinuousClock.Instant
        let mayCommit: Bool
        var isCanceled = false
        var failure: PostgresError?

        /// A server ignores what comes before the statement that is meant, so canceling is repeated.
        var nextStep: ContinuousClock.Instant {
            self.isCanceled ? min(self.deadline, .now + .milliseconds(100)) : self.deadline
        }
    }

    /// Waits for the next result, without ever blocking within libpq; `nil` ends those of one command.
    private func nextResult(_ exchange: inout Exchange) throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(self.handle) != 0 {
            let unsent = PQflush(self.handle)
            guard unsent >= 0 else { throw self.lost(mayCommit: exchange.mayCommit) }
            let socket = PQsocket(self.handle)
            // Raised once, an interrupt would end every further wait at once.
            let interrupt = exchange.isCanceled ? nil : self.interrupt
            switch SocketWait.wait(for: socket, writing: unsent == 1, or: interrupt, until: exchange.nextStep) {
            case .ready: break
            case .late where exchange.deadline > .now: StatementCancellation(of: self.handle)?.send()
            case .late: throw self.lost(mayCommit: exchange.mayCommit)
            case .interrupted:
                exchange.isCanceled = true
                exchange.deadline = min(exchange.deadline, .now + self.options.grace)
                StatementCancellation(of: self.handle)?.send()
            }
            guard PQconsumeInput(self.handle) == 1 else { throw self.lost(mayCommit: exchange.mayCommit) }
        }
        return PQgetResult(self.handle)
    }

    private func lost(mayCommit: Bool, sqlState: String? = nil) -> PostgresError {
        self.isLost = true
        return PostgresError(mayCommit ? .outcomeUnknown : .connectionLost, sqlState: sqlState)
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
