package import Coordination
package import PowerAuth
import Synchronization

/// This process among those that share the store: its lease, and the rights to sign that it holds under it.
///
/// Rights are sticky: a node keeps what it has signed with until another one asks for it. While it signs, a keeper renews the
/// lease and hands over what others request; the keeper leaves when nothing was signed for one lifetime.
package final class Node: Sendable {
    private struct State {
        var node = NodeState()
        /// The task that renews the lease.
        var keeper: Task<Void, Never>?
    }

    /// The time between two looks for handover requests where no notification comes through.
    private static let pollInterval = Duration.milliseconds(250)

    let lifetimes: NodeLifetimes
    let database: any NodeDatabase
    /// About handover requests; `nil` where sessions cannot listen.
    private let notifications: (any NotificationSource)?
    /// The order of this process's turns.
    private let gate = KeyedSemaphore()
    private let joining = KeyedSemaphore()
    private let state = Mutex(State())
    private let clock: ServiceClock

    /// - Parameters:
    ///   - notifications: About handover requests; `nil` where sessions cannot listen.
    ///   - clock: Paces heartbeats and attempts. How long a lease is relied on is a matter of the machine's clock alone.
    package init(
        lifetimes: NodeLifetimes,
        database: any NodeDatabase,
        notifications: (any NotificationSource)?,
        clock: ServiceClock
    ) {
        self.lifetimes = lifetimes
        self.database = database
        self.notifications = notifications
        self.clock = clock
    }

    /// Until when a lease may be relied on; a moment that has passed when this node has lost it.
    private func reliableUntil(as lease: NodeLease) -> ContinuousClock.Instant {
        let current = self.state.withLock { $0.node.lease }
        return current?.number == lease.number ? current?.reliableUntil ?? lease.reliableUntil : .now - .seconds(1)
    }

    /// The lease, if it may be relied on.
    package var reliableLease: NodeLease? { self.state.withLock { $0.node.lease }.flatMap { $0.isReliable ? $0 : nil } }

    // MARK: Use

    /// Keeps the lease renewed until ``endUse()``.
    func beginUse() throws {
        try self.state.withLock { state in
            switch state.node.beginUse() {
            case .refuse: throw Self.closed()
            case .goOn: break
            case .startKeeper:
                // Not a task of the caller's: it goes on between turns, and ends by itself or with `close()`.
                state.keeper = Task { await self.keep() }
            }
        }
    }

    func endUse() { self.state.withLock { $0.node.endUse(at: self.clock.now) } }

    /// Runs `body` while this node may sign with an activation, in the order in which this process's turns were asked for.
    package func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        try await self.gate.enter(activationID)
        defer { self.gate.leave(activationID) }
        try self.beginUse()
        defer { self.endUse() }
        let lease = try await self.acquire(activationID)
        return try await body(Turn(slot: slot, fence: lease.number) { self.reliableUntil(as: lease) })
    }

    /// Gives everything back. Turns that have begun end as if another node had taken over.
    package func close() async {
        let (keeper, lease) = self.state.withLock { ($0.keeper.take(), $0.node.close()) }
        keeper?.cancel()
        await keeper?.value
        await self.leave(lease)
    }

    private static func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store was closed") }

    private func leave(_ lease: NodeLease?) async {
        guard let lease else { return }
        // The caller may be canceled. Should it fail, the others find out after a lifetime.
        await shielded { [database] in try? await database.leave(lease) }
    }

    // MARK: The lease

    /// Returns the lease, and takes one when there is none.
    ///
    /// - Throws: The error that keeps the database from being reached; `CancellationError`.
    func lease() async throws -> NodeLease {
        if let lease = self.reliableLease { return lease }
        try await self.joining.enter("")
        defer { self.joining.leave("") }
        if let lease = self.reliableLease { return lease }
        while true {
            guard !self.state.withLock({ $0.node.isClosed }) else { throw Self.closed() }
            let quarantine = try await self.database.quarantine()
            let now = self.clock.now
            if quarantine.rest > .zero, let rest = self.state.withLock({ $0.node.rest(of: quarantine, at: now) }) {
                try await self.sleep(for: rest)
                continue
            }
            let lease = try await self.database.takeLease(in: quarantine.epoch)
            // Another epoch has begun, whose quarantine has to be waited for.
            guard let lease else { continue }
            guard self.state.withLock({ $0.node.begin(lease) }) else {
                await self.leave(lease)
                throw Self.closed()
            }
            return lease
        }
    }

    private func sleep(for duration: Duration) async throws {
        try await self.clock.sleep(until: self.clock.now + duration)
    }

    // MARK: Rights

    /// Waits until this node may sign with an activation. The caller has the turn of ``gate``.
    private func acquire(_ activationID: String) async throws -> NodeLease {
        var delay = Duration.milliseconds(2)
        while true {
            let lease = try await self.lease()
            if self.state.withLock({ $0.node.holdsRight(of: activationID, under: lease) }) { return lease }
            if try await self.take(activationID, as: lease) { return lease }
            try await self.sleep(for: delay)
            delay = min(delay * 2, .milliseconds(50))
        }
    }

    /// Returns whether the node has the right now; where another one has it, that one is asked to hand it over.
    private func take(_ activationID: String, as lease: NodeLease) async throws -> Bool {
        switch try await self.database.take(activationID, as: lease) {
        case .taken: return self.state.withLock { $0.node.recordRight(of: activationID, under: lease) }
        case .requested: return false
        case .leaseLost:  // taken away since the last heartbeat
            self.state.withLock { $0.node.recordLoss(of: lease) }
            return false
        case .noActivation:
            throw MobileTokenError(.activationNotStored, "No activation with this identifier is stored")
        case .newerFormat:
            throw MobileTokenError(.storeFromFuture, "The activation was stored by a newer program")
        }
    }

    /// Notes whose right the database says that it is.
    package func recordHolder(_ number: Int64?, of activationID: String) {
        self.state.withLock { $0.node.recordHolder(number, of: activationID) }
    }

    /// Forgets a right that somebody else has now.
    package func forget(_ activationID: String) {
        self.state.withLock { $0.node.forget(activationID) }
    }

    /// Begins to hand over a right, once the turns that wait for it here have ended.
    private func handOver(_ activationID: String) async {
        guard let lease = self.state.withLock({ $0.node.lease }) else { return }
        // Canceled, the lease is given back as a whole.
        guard (try? await self.gate.enter(activationID)) != nil else { return }
        defer { self.gate.leave(activationID) }
        self.forget(activationID)
        try? await self.database.handOver(activationID, from: lease)
    }

    // MARK: The keeper

    private func keep() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let (now, lifetime) = (self.clock.now, self.lifetimes.death)
                if let idle = self.state.withLock({ $0.node.endIfIdle(at: now, after: lifetime) }) {
                    await self.leave(idle.lease)
                    break
                }
                for activationID in await self.beat() {
                    guard self.state.withLock({ $0.node.beginHandingOver(activationID) }) else { continue }
                    group.addTask {
                        await self.handOver(activationID)
                        self.state.withLock { $0.node.endHandingOver(activationID) }
                    }
                }
                await self.waitForNextBeat()
            }
            group.cancelAll()
        }
    }

    /// Renews the lease.
    ///
    /// - Returns: The activations that others request.
    private func beat() async -> [String] {
        guard let lease = self.state.withLock({ $0.node.lease }) else { return [] }
        do {
            let heartbeat = try await self.database.renew(lease)
            self.state.withLock { state in
                if let renewed = heartbeat.lease {
                    state.node.recordRenewal(renewed)
                } else {
                    state.node.recordLoss(of: lease)
                }
            }
            return heartbeat.lease == nil ? [] : heartbeat.handoverRequests
        } catch {
            // The lease is relied on no longer than it would be anyway, and renewed on another connection until then.
            if !lease.isReliable { self.state.withLock { $0.node.recordLoss(of: lease) } }
            return []
        }
    }

    /// Waits until the next heartbeat is due, or another node may request a handover.
    private func waitForNextBeat() async {
        let pause = min(self.lifetimes.heartbeat, Self.pollInterval)
        guard let notifications, self.reliableLease != nil else {
            try? await self.sleep(for: pause)
            return
        }
        do {
            try await notifications.wait(atMost: self.lifetimes.heartbeat)
        } catch {
            try? await self.sleep(for: pause)
        }
    }
}
