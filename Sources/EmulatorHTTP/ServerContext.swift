import EmulatorMessages
import Synchronization

/// What the server's thread and the tasks that answer share.
final class ServerContext: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: ServerConnection] = [:]
        var isStopping = false
    }

    let limits: HTTPServer.Limits
    let received: AsyncStream<ServerExchange>.Continuation
    private let state = Mutex(State())
    private let bodyBytes = Atomic(0)
    private let clock: ServerClock

    init(
        limits: HTTPServer.Limits,
        received: AsyncStream<ServerExchange>.Continuation,
        clock: any Clock<Duration>
    ) {
        self.clock = ServerClock(clock)
        self.limits = limits
        self.received = received
    }

    /// How many clients are connected.
    var connectionCount: Int { self.state.withLock { $0.connections.count } }

    /// How long a client has from now to finish what it does.
    var nextDeadline: Duration { self.clock.now + self.limits.patience }

    func add(_ connection: ServerConnection) {
        let isStopping = self.state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = connection
            return state.isStopping
        }
        if isStopping { connection.end() }
    }

    func remove(_ connection: ServerConnection) {
        self.state.withLock { _ = $0.connections.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Ends every connection, and each that is still accepted.
    func endAll() {
        let connections = self.state.withLock { state in
            state.isStopping = true
            return state.connections.values
        }
        for connection in connections { connection.end() }
    }

    /// Ends connections whose clients keep the server waiting, until the task is canceled.
    ///
    /// The library's own timeout is of silence only: a client that sends a byte now and then would stay for ever.
    func endOverdue() async {
        while (try? await self.clock.sleep(min(.seconds(1), self.limits.patience / 2))) != nil {
            let now = self.clock.now
            for connection in self.state.withLock({ $0.connections.values }) { connection.end(ifOverdueAt: now) }
        }
    }

    /// - Returns: Whether the server can hold that many more bytes of bodies.
    func reserve(bodyBytes count: Int) -> Bool {
        let (_, total) = self.bodyBytes.add(count, ordering: .relaxed)
        guard total > self.limits.totalBodyBytes else { return true }
        self.release(bodyBytes: count)
        return false
    }

    func release(bodyBytes count: Int) {
        self.bodyBytes.subtract(count, ordering: .relaxed)
    }
}

/// A clock read as the time since the server began.
private struct ServerClock: Sendable {
    private let elapsed: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async throws -> Void

    init(_ clock: some Clock<Duration>) {
        let start = clock.now
        self.elapsed = { start.duration(to: clock.now) }
        self.sleep = { try await clock.sleep(for: $0) }
    }

    var now: Duration { self.elapsed() }
}
