import Coordination
import Synchronization

/// The server of a desk, with every request in its turn: no more a second than the limit says.
final class PacedServer: ApprovalServer {
    /// The server itself, for a request whose turn was waited for by ``waitForTurns(_:)``.
    let unpaced: any ApprovalServer
    private let clock: ServiceClock
    private let budget: Mutex<RequestBudget>

    init(_ server: any ApprovalServer, requestsPerSecond: Double, clock: ServiceClock) {
        self.unpaced = server
        self.clock = clock
        self.budget = Mutex(RequestBudget(perSecond: requestsPerSecond))
    }

    /// Waits until so many requests may be sent, which then count.
    ///
    /// - Returns: `true` when it took a while.
    @discardableResult
    func waitForTurns(_ count: Int = 1) async throws(ServerFailure) -> Bool {
        let now = self.clock.now
        let turn = self.budget.withLock { budget in
            (0..<count).reduce(now) { _, _ in budget.next(at: now) }
        }
        guard turn > now else { return false }
        do {
            try await self.clock.sleep(until: turn)
        } catch {
            throw ServerFailure(.canceled, code: "canceled", message: "The call was canceled")
        }
        return true
    }

    var timeout: Duration { self.unpaced.timeout }

    func time() async throws(ServerFailure) -> Int64? {
        try await self.waitForTurns()
        return try await self.unpaced.time()
    }

    func create(_ operation: NewApprovalOperation) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await self.waitForTurns()
        return try await self.unpaced.create(operation)
    }

    func show(operation id: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await self.waitForTurns()
        return try await self.unpaced.show(operation: id)
    }

    func cancel(operation id: String, reason: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await self.waitForTurns()
        return try await self.unpaced.cancel(operation: id, reason: reason)
    }

    func show(registration id: String) async throws(ServerFailure) -> Dated<ApprovingRegistration> {
        try await self.waitForTurns()
        return try await self.unpaced.show(registration: id)
    }

    func offlineCode(ofOperation id: String, registration: String) async throws(ServerFailure) -> Dated<String> {
        try await self.waitForTurns()
        return try await self.unpaced.offlineCode(ofOperation: id, registration: registration)
    }
}

/// The requests that may be sent in a second. A value, with the times of the last ones.
struct RequestBudget: Sendable {
    private static let memory = 1_000.0

    /// In no time of this length more than the last requests are sent.
    private let window: Duration
    /// The times at which the last requests were sent, or may be; a ring.
    private var times: [Duration?]
    private var oldest = 0

    init(perSecond: Double) {
        let rate = max(perSecond, 0.01)
        let count = min(max(1, rate.rounded(.down)), Self.memory)
        self.window = .seconds(count / rate)
        self.times = Array(repeating: nil, count: Int(count))
    }

    /// Returns when the next request may be sent, which then counts.
    mutating func next(at now: Duration) -> Duration {
        let turn = self.times[self.oldest].map { max(now, $0 + self.window) } ?? now
        self.times[self.oldest] = turn
        self.oldest = (self.oldest + 1) % self.times.count
        return turn
    }
}
