import Coordination
import EmulatorMessages
import Synchronization

/// The state shared by the server's thread and the responding tasks.
final class ServerContext: Sendable {
    private struct State {
        var connections: [ObjectIdentifier: ServerConnection] = [:]
        var isStopping = false
    }

    let limits: HTTPServer.Limits
    /// Indicates whether the library encrypts all output to sockets (TLS).
    let isSecure: Bool
    let received: AsyncStream<(ServerExchange, ReceivedRequest)>.Continuation
    private let state = Mutex(State())
    private let bodyBytes = Atomic(0)
    private let clock: ServiceClock

    init(
        limits: HTTPServer.Limits,
        isSecure: Bool,
        received: AsyncStream<(ServerExchange, ReceivedRequest)>.Continuation,
        clock: any Clock<Duration>
    ) {
        self.clock = ServiceClock(clock)
        self.limits = limits
        self.isSecure = isSecure
        self.received = received
    }

    /// The number of connected clients.
    var connectionCount: Int { self.state.withLock { $0.connections.count } }

    /// The deadline for a client from now.
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

    /// Ends every connection, including those still being accepted.
    func endAll() {
        let connections = self.state.withLock { state in
            state.isStopping = true
            return state.connections.values
        }
        for connection in connections { connection.end() }
    }

    /// Ends overdue connections until the task is canceled.
    ///
    /// The library's own timeout covers only silence: a client that sends a byte now and then would stay forever.
    func endOverdue() async {
        let pause = min(.seconds(1), self.limits.patience / 2)
        while (try? await self.clock.sleep(until: self.clock.now + pause)) != nil {
            let now = self.clock.now
            for connection in self.state.withLock({ $0.connections.values }) { connection.end(ifOverdueAt: now) }
        }
    }

    /// - Returns: `true` if the server can hold that many more body bytes.
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
