import Basics
import Coordination
import Synchronization

/// A pool of connections to one server, each lent to one task at a time.
///
/// ```swift
/// let pool = PostgresPool(size: 8) { PostgresTarget(connectionString: "host=/run/postgresql", tls: .disabled) }
/// let count = try await pool.withConnection { try $0.run("SELECT count(*) FROM activation", [], .none)[0].integer(0) }
/// ```
///
/// Each connection blocks its own queue, never a thread of Swift's pool. Connections are made on demand, and again after a loss.
/// Tasks are served in order of arrival.
package final class PostgresPool: Sendable {
    /// Returns the target of a new connection, because credentials may have changed.
    package typealias Target = @Sendable () async throws -> PostgresTarget

    /// Checks a new connection before its first use; if it throws, the connection is closed.
    package typealias Check = @Sendable (PostgresConnection) throws -> Void

    private static let line = "connection"

    private let target: Target
    private let options: PostgresConnection.Options
    private let check: Check
    private let gate: KeyedSemaphore
    private let idle: Mutex<[PostgresSession]>

    /// - Parameters:
    ///   - listens: `true` if idle connections may receive notifications. Otherwise input means that the server is closing the
    ///     connection, which is then replaced.
    ///   - check: Checks a new connection before its first use.
    package init(
        size: Int,
        options: PostgresConnection.Options = .init(),
        listens: Bool = false,
        check: @escaping Check = { _ in },
        target: @escaping Target
    ) {
        let size = max(1, size)
        self.target = target
        self.options = options
        self.check = check
        self.gate = KeyedSemaphore(width: size)
        self.idle = Mutex((0..<size).map { _ in PostgresSession(listens: listens) })
    }

    /// Runs `body` with a connection, on the connection's own queue, where it may block.
    ///
    /// - Parameter isCancelable: `true` if cancellation aborts the current statement. Wait for statements that change something,
    ///   because they may be committed already.
    /// - Throws: The error of `body`, ``PostgresError/Kind/unreachable`` after the connection timeout, and `CancellationError` if
    ///   the task is canceled before `body`.
    package func withConnection<Result: Sendable>(
        isCancelable: Bool = false,
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        let loan = try await self.borrow()
        defer { withExtendedLifetime(loan) {} }
        // Checked together with the work, because each call of the session wakes its thread and then the caller's.
        if let result = try await self.run(body, in: loan.session, isCancelable) { return result }
        try await self.connect(loan)
        guard let result = try await self.run(body, in: loan.session, isCancelable) else {
            throw PostgresError(.connectionLost)
        }
        return result
    }

    /// - Returns: `nil` without a connection.
    private func run<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) throws -> Result,
        in session: PostgresSession,
        _ isCancelable: Bool
    ) async throws -> Result? {
        guard isCancelable else { return try await session.runIfConnected(body) }
        return try await withTaskCancellationHandler {
            try await session.runIfConnected { connection in
                // Canceled before there was anything to interrupt.
                try Task.checkCancellation()
                return try body(connection)
            }
        } onCancel: {
            session.interrupt.raise()
        }
    }

    package func closeIdleConnections() async {
        for session in self.idle.withLock({ $0 }) { await session.close() }
    }

    /// The numbers of round trips and statements by idle connections, for tests and statistics.
    package var counts: (roundTrips: Int, statements: Int) {
        get async {
            var counts = (roundTrips: 0, statements: 0)
            for session in self.idle.withLock({ $0 }) {
                let more = await session.counts
                counts.roundTrips += more.roundTrips
                counts.statements += more.statements
            }
            return counts
        }
    }

    package var waitingCount: Int { self.gate.waitingCount(in: Self.line) }

    /// Waits for a session, with or without a connection.
    private func borrow() async throws -> Loan {
        try await self.gate.enter(Self.line)
        guard let session = self.idle.withLock({ $0.popLast() }) else {
            self.gate.leave(Self.line)
            throw PostgresError(.unreachable)
        }
        return Loan(of: session, from: self)
    }

    private func connect(_ loan: Loan) async throws {
        let target = try await self.target()
        // Name resolution may occupy the session for long, but the caller does not wait for it.
        let isConnected: Void? = try await withDeadline(
            ServiceClock(ContinuousClock()).now + target.connectTimeout.bounded + .seconds(1),
            on: ServiceClock(ContinuousClock())
        ) { [options, check] in
            try await UncancellableTask.run { _ in try await loan.session.connect(to: target, options, check) }
        }
        guard isConnected != nil else {
            throw PostgresError(.unreachable, detail: "the server did not answer in time")
        }
    }

    fileprivate func takeBack(_ session: PostgresSession) {
        self.idle.withLock { $0.append(session) }
        self.gate.leave(Self.line)
    }
}

/// A lent session. It returns with its last reference, because a caller may give up while the connection is still being made.
private final class Loan: Sendable {
    let session: PostgresSession
    private let pool: PostgresPool

    init(of session: PostgresSession, from pool: PostgresPool) {
        self.session = session
        self.pool = pool
    }

    deinit { self.pool.takeBack(self.session) }
}

/// A session with its own queue for one connection; see ``QueueExecutor``.
package actor PostgresSession {
    private let executor = QueueExecutor(label: "postgres-connection")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private var connection: PostgresConnection?
    /// Cancels the current statement.
    package nonisolated let interrupt = Interrupt()

    private let listens: Bool

    package init(listens: Bool = false) { self.listens = listens }

    /// Connects, unless there is an intact connection.
    package func connect(
        to target: PostgresTarget,
        _ options: PostgresConnection.Options,
        _ check: PostgresPool.Check = { _ in }
    ) throws {
        guard !self.isConnected() else { return }
        self.interrupt.lower()
        let connection = try PostgresConnection(to: target, options: options, interrupt: self.interrupt)
        try check(connection)
        self.connection = connection
    }

    /// Returns whether there is an intact connection, as far as known without a request.
    package func isConnected() -> Bool {
        if let connection, !connection.isUsable || !self.listens && connection.hasUnexpectedInput {
            self.connection = nil
        }
        return self.connection != nil
    }

    /// Runs `body` with the connection, if it is intact.
    package func runIfConnected<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) throws -> Result? {
        guard self.isConnected(), let connection else { return nil }
        defer { if !connection.isUsable { self.connection = nil } }
        self.interrupt.lower()
        return try body(connection)
    }

    var counts: (roundTrips: Int, statements: Int) {
        self.connection.map { ($0.roundTripCount, $0.statementCount) } ?? (0, 0)
    }

    package func close() { self.connection = nil }
}
