public import Foundation
public import PowerAuth

/// Tells when operations expire.
///
/// It only tells. An operation leaves a service's list when the server no longer lists it; ``watch(_:)`` asks the server
/// then. Times are the server's. Reports are at least 5 s apart, and a wall clock that is set is noticed within 30 s.
///
/// One watcher serves any number of services of one server. Nothing runs while it has nothing to watch.
public actor ExpirationWatcher {
    private let clock: ServiceClock
    private let serverDate: @Sendable () -> Date
    private let broadcast = Broadcast(startingWith: ExpiredOperationsBuffer())
    private var queue = ExpirationQueue()
    /// Sleeps to the next step; replaced when an earlier deadline comes in.
    private var timer: (deadline: Duration, task: Task<Void, Never>)?

    /// Creates a watcher that goes by an activation's knowledge of the server's time.
    ///
    /// - Parameters:
    ///   - activation: The activation whose server's time counts.
    ///   - clock: What to wait on; the system's by default.
    public init(activation: Activation, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(clock: clock) { activation.serverDate }
    }

    /// Creates a watcher.
    ///
    /// - Parameters:
    ///   - clock: What to wait on; the system's by default.
    ///   - serverDate: The server's time at present.
    public init(clock: any Clock<Duration> = ContinuousClock(), serverDate: @escaping @Sendable () -> Date) {
        self.clock = ServiceClock(clock)
        self.serverDate = serverDate
    }

    deinit {
        self.timer?.task.cancel()
        self.broadcast.finish()
    }

    // MARK: What is watched

    /// How many operations are watched.
    public var count: Int { self.queue.count }

    /// Watches operations until they expire or are removed. Adding one again changes nothing, unless its time changed.
    public func add(_ operations: [UserOperation]) {
        self.queue.add(operations)
        self.step()
    }

    /// Forgets operations.
    public func remove(_ operations: [UserOperation]) {
        self.queue.remove(operations)
        self.step()
    }

    /// Forgets all operations.
    public func removeAll() {
        self.queue.removeAll()
        self.step()
    }

    // MARK: What expires

    /// Operations as they expire, each once. Several that expired while the reader was busy come together.
    ///
    /// Each iteration is a subscription of its own. It does not keep the watcher alive.
    public nonisolated func expirations() -> ExpiredOperations {
        ExpiredOperations(broadcast: self.broadcast)
    }

    /// Keeps in step with a service's list, and has the service ask the server when one of its operations expires, until the
    /// calling task is cancelled.
    public func watch(_ service: OperationsService) async {
        await withTaskGroup { group in
            // Subscribed before anything is watched, so that no report comes too early.
            let subscription = self.expirations().makeAsyncIterator().subscription
            group.addTask {
                while let expired = await subscription.next() { await service.refresh(ifListing: expired) }
            }
            group.addTask {
                var watched: [String: UserOperation] = [:]
                for await change in service.changes() {
                    let listed = change.added + change.updated.map(\.new)
                    for removal in change.removed { watched[removal.operation.id] = nil }
                    for operation in listed { watched[operation.id] = operation }
                    await self.remove(change.removed.map(\.operation))
                    await self.add(listed)
                }
                await self.remove(Array(watched.values))
            }
            await group.next()
            group.cancelAll()
        }
    }

    // MARK: Time

    private func step() {
        while true {
            switch self.queue.step(at: self.clock.now, serverDate: self.serverDate()) {
            case .report(let expired):
                self.broadcast.send(expired, startingWith: ExpiredOperationsBuffer())
            case .sleep(let deadline):
                return self.setTimer(to: deadline)
            case .wait:
                self.timer?.task.cancel()
                self.timer = nil
                return
            }
        }
    }

    private func setTimer(to deadline: Duration) {
        // A timer that fires too early finds nothing expired and is set again; only one that is too late is replaced.
        if let timer, timer.deadline <= deadline { return }
        self.timer?.task.cancel()
        let clock = self.clock
        let task = Task { [weak self] in
            do { try await clock.sleep(until: deadline) } catch { return }
            await self?.timerFired()
        }
        self.timer = (deadline, task)
    }

    private func timerFired() {
        // One that was replaced while it fired is not the timer any more; the extra step does no harm.
        if let timer, timer.deadline <= self.clock.now { self.timer = nil }
        self.step()
    }
}

/// Operations as they expire, for one reader each time it is iterated.
public struct ExpiredOperations: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = [UserOperation]

    let broadcast: Broadcast<ExpiredOperationsBuffer>

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<ExpiredOperationsBuffer>

        /// Waits for the next operations to expire.
        public mutating func next() async -> [UserOperation]? {
            await self.subscription.next()
        }
    }
}

/// The expired operations that a subscriber has not seen yet.
struct ExpiredOperationsBuffer: SubscriptionBuffer {
    private var pending: [UserOperation] = []

    mutating func append(_ expired: [UserOperation]) {
        self.pending += expired
    }

    mutating func removeFirst() -> [UserOperation]? {
        guard !self.pending.isEmpty else { return nil }
        defer { self.pending = [] }
        return self.pending
    }
}
