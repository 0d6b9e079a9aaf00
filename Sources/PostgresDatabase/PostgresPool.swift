import Basics
import Coordination
import Synchronization

/// A number of connections to one server, lent to one task at a time each.
///
/// ```swift
/// let pool = PostgresPool(size: 8) { PostgresTarget(connectionString: "host=/run/postgresql", tls: .disabled) }
/// let count = try await pool.withConnection { try $0.run("SELECT count(*) FROM activation", [], .none)[0].integer(0) }
/// ```
///
/// Every connection has a queue of its own to block, never a thread of Swift's pool. A connection is made when it is first
/// needed, and again when it was lost. Waiters are served in order of arrival.
package final class PostgresPool: Sendable {
    /// Says where to connect, each time anew: credentials may have changed.
    package typealias Target = @Sendable () async throws -> PostgresTarget

    /// Makes sure of a new connection before anybody uses it; one that it throws for is closed.
    package typealias Check = @Sendable (PostgresConnection) throws -> Void

    private static let line = "connection"

    private let target: Target
    private let options: PostgresConnection.Options
    private let check: Check
    private let gate: KeyedSemaphore
    private let idle: Mutex<[PostgresSession]>

    /// - Parameters:
    ///   - listens: `true` if a connection may have received something while nobody used it. Otherwise that is the
    ///     server's farewell, and another connection is made.
    ///   - check: Makes sure of a new connection before anybody uses it.
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
    /// - Parameter isCancelable: `true` if the statement under way is given up when the task is canceled. One that
    ///   changes something is better waited for: it may be committed by then.
    /// - Throws: The error of `body`, ``PostgresError/Kind/unreachable`` after the time that connecting may take, and
    ///   `CancellationError` when the task is canceled before `body` begins.
    package func withConnection<Result: Sendable>(
        isCancelable: Bool = false,
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        let loan = try await self.borrow()
        defer { withExtendedLifetime(loan) {} }
        // Asked together with what is to be done: each call of the session wakes its thread, and the caller's in return.
        if let result = try await self.run(body, in: loan.session, isCancelable) { return result }
        try await self.connect(loan)
        guard let result = try await self.run(body, in: loan.session, isCancelable) else {
            throw PostgresError(.connectionLost)
        }
        return result
    }

    /// - Returns: `nil` when there is no connection.
    private func run<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) throws -> Result,
        in session: PostgresSession,
        _ isCancelable: Bool
    ) async throws -> Result? {
        guard isCancelable else { return try await session.runIfConnected(body) }
        return try await withTaskCancellationHandler {
            try await session.runIfConnected { connection in
                // Canceled in the moment before, when there was nothing to interrupt.
                try Task.checkCancellation()
                return try body(connection)
            }
        } onCancel: {
            session.interrupt.raise()
        }
    }

    /// Closes the connections that nobody uses.
    package func closeIdleConnections() async {
        for session in self.idle.withLock({ $0 }) { await session.close() }
    }

    /// The number of round trips that idle connections have made, for tests and statistics.
    package var roundTripCount: Int {
        get async {
            var count = 0
            for session in self.idle.withLock({ $0 }) { count += await session.roundTripCount }
            return count
        }
    }

    /// The number of tasks that wait for a connection, for tests.
    package var waitingCount: Int { self.gate.waitingCount(in: Self.line) }

    /// Waits for a session, whether it has a connection or not.
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
        // A name that does not resolve may hold the session for a long time, but not who waits for it.
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

/// A session that was lent. It goes back when the last holder lets go: whoever gave up waiting for the connection is not the
/// one who makes it.
private final class Loan: Sendable {
    let session: PostgresSession
    private let pool: PostgresPool

    init(of session: PostgresSession, from pool: PostgresPool) {
        self.session = session
        self.pool = pool
    }

    deinit { self.pool.takeBack(self.session) }
}

/// A connection's place, with a queue of its own; see ``QueueExecutor``.
package actor PostgresSession {
    private let executor = QueueExecutor(label: "postgres-connection")
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private var connection: PostgresConnection?
    /// Gives up the statement under way.
    package nonisolated let interrupt = Interrupt()

    private let listens: Bool

    package init(listens: Bool = false) { self.listens = listens }

    /// Connects, unless there is a connection that stands.
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

    /// Returns whether there is a connection that stands, as far as can be told without asking the server.
    package func isConnected() -> Bool {
        if let connection, !connection.isUsable || !self.listens && connection.hasUnexpectedInput {
            self.connection = nil
        }
        return self.connection != nil
    }

    /// Runs `body` with the connection, if there is one that stands.
    package func runIfConnected<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) throws -> Result? {
        guard self.isConnected(), let connection else { return nil }
        defer { if !connection.isUsable { self.connection = nil } }
        self.interrupt.lower()
        return try body(connection)
    }

    var roundTripCount: Int { self.connection?.roundTripCount ?? 0 }

    /// Ends the connection.
    package func close() { self.connection = nil }
}
