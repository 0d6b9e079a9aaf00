import Basics
import CPostgreSQL

/// A connection to a PostgreSQL server, with its prepared statements.
///
/// ```swift
/// let connection = try PostgresConnection(to: target)
/// let rows = try connection.run([
///     PostgresStatement("UPDATE counter SET value = value + 1 WHERE id = $1 RETURNING value", [.text(id)])
/// ])
/// ```
///
/// Calls block, and host name resolution may block for any time. Only one thread at a time may use a connection, such as an
/// actor's own queue. Other threads may only raise its ``Interrupt``.
package final class PostgresConnection {
    package struct Options: Sendable, Equatable {
        /// The statement timeout at the server.
        package var statementTimeout = Duration.seconds(5)
        /// The additional time for the server to cancel a statement, before the connection counts as lost.
        package var grace = Duration.seconds(2)
        /// Indicates whether statements are prepared. Transaction-level poolers may not support that.
        package var preparesStatements = true
        /// The schema of unqualified names; `nil` for the role's default.
        package var searchPath: String?

        package init() {}

        /// The options with durations that cannot overflow.
        var bounded: Self {
            var options = self
            options.statementTimeout = self.statementTimeout.bounded
            options.grace = self.grace.bounded
            return options
        }
    }

    let handle: OpaquePointer
    let options: Options
    let interrupt: Interrupt?
    var preparedNames: [String: String] = [:]
    var lastPreparedNumber = 0
    var channels: Set<String> = []
    /// Indicates that the state of the protocol is unknown after an error.
    var isLost = false
    /// Indicates that the session has our settings, so that transactions need not set them.
    var sessionIsSet = false
    /// The number of round trips, for tests and statistics.
    package internal(set) var roundTripCount = 0
    /// The number of statements, ours for settings included.
    package internal(set) var statementCount = 0

    /// Connects to a server.
    ///
    /// - Parameters:
    ///   - interrupt: Cancels connecting and statements when raised.
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
        // From here on `deinit` closes the connection after an error.
        let deadline = ContinuousClock.now + target.connectTimeout.bounded
        try self.connect(until: deadline)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            throw PostgresError(connecting: handle)
        }
        // Otherwise notices go to standard error.
        PQsetNoticeProcessor(handle, { _, _ in }, nil)
        do throws(PostgresError) {
            try self.setSession(until: deadline)
        } catch {
            throw error.kind == .canceled ? error : PostgresError(.unreachable, sqlState: error.sqlState)
        }
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

    // MARK: The state of the connection

    /// Indicates whether the connection is intact, without an open transaction.
    package var isUsable: Bool {
        !self.isLost && PQstatus(self.handle) == CONNECTION_OK && PQtransactionStatus(self.handle) == PQTRANS_IDLE
    }

    /// Returns whether there is unsolicited input, such as the server's end of the connection. Does not block.
    package var hasUnexpectedInput: Bool { SocketWait.isReadable(PQsocket(self.handle)) }

    /// Indicates that no pooler shares the session, so that its locks outlast a transaction.
    package var ownsSession: Bool { self.sessionIsSet }

    /// Marks the protocol's state as unknown, and returns the error.
    func lost(mayCommit: Bool, sqlState: String? = nil) -> PostgresError {
        self.isLost = true
        return PostgresError(mayCommit ? .outcomeUnknown : .connectionLost, sqlState: sqlState)
    }
}
