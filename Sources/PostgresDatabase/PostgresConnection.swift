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
    /// The settings with which statements are run.
    package struct Options: Sendable, Equatable {
        /// The longest time that the server works on one statement.
        package var statementTimeout = Duration.seconds(5)
        /// The time to wait beyond that for the server to end it, before the connection counts as lost.
        package var grace = Duration.seconds(2)
        /// Indicates whether statements are prepared. A pooler that gives each transaction another connection may not carry that.
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

    let handle: OpaquePointer
    let options: Options
    let interrupt: Interrupt?
    var preparedNames: [String: String] = [:]
    var lastPreparedNumber = 0
    var channels: Set<String> = []
    /// Indicates whether something went wrong after which nobody can say where the conversation stands.
    var isLost = false
    /// Indicates whether our settings are the session's, so that no transaction needs to bring them.
    var sessionIsSet = false
    /// The number of round trips so far, for tests and statistics.
    package internal(set) var roundTripCount = 0

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
        let deadline = ContinuousClock.now + target.connectTimeout.bounded
        try self.connect(until: deadline)
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            throw PostgresError(connecting: handle)
        }
        // Notices of the server would go to standard error.
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

    /// Indicates whether another call may use the connection: it stands, and no transaction is left open.
    package var isUsable: Bool {
        !self.isLost && PQstatus(self.handle) == CONNECTION_OK && PQtransactionStatus(self.handle) == PQTRANS_IDLE
    }

    /// Returns whether the server has said anything unasked, such as that it closes the connection. Does not block.
    package var hasUnexpectedInput: Bool { SocketWait.isReadable(PQsocket(self.handle)) }

    /// Indicates whether no pooler lends the session to others, so that its locks last for longer than a transaction.
    package var ownsSession: Bool { self.sessionIsSet }

    /// The version of the server, such as 150018.
    package var serverVersion: Int { Int(PQserverVersion(self.handle)) }

    /// Notes that nobody can say where the conversation stands, and returns the error that says so.
    func lost(mayCommit: Bool, sqlState: String? = nil) -> PostgresError {
        self.isLost = true
        return PostgresError(mayCommit ? .outcomeUnknown : .connectionLost, sqlState: sqlState)
    }
}
