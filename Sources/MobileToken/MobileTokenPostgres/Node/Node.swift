package import Coordination
package import PowerAuthClient
import Synchronization

/// This process as a node: its lease, and its rights to sign. Rights are sticky: a node keeps them until another one requests
/// them. While it signs, a keeper renews the lease and hands over requested rights. The keeper ends after a lifetime without
/// signatures.
package final class Node: Sendable {
    private struct State {
        var node = NodeState()
        var keeper: Task<Void, Never>?
    }

    /// The interval of checks for handover requests without notifications.
    private static let pollInterval = Duration.milliseconds(250)

    let lifetimes: NodeLifetimes
    let database: any NodeDatabase
    /// Notifications of handover requests; `nil` if sessions cannot listen.
    private let notifications: (any NotificationSource)?
    /// Orders this process's turns.
    private let gate = KeyedSemaphore()
    private let joining = KeyedSemaphore()
    private let state = Mutex(State())
    private let clock: ServiceClock

    /// - Parameters:
    ///   - notifications: Notifications of handover requests; `nil` if sessions cannot listen.
    ///   - clock: Paces heartbeats and attempts. The reliance on a lease is measured by the machine's clock only.
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

    /// Returns the time until which a lease is reliable; a past time if this node has lost it.
    private func reliableUntil(as lease: NodeLease) -> ContinuousClock.Instant {
        let current = self.state.withLock { $0.node.lease }
        return current?.number == lease.number ? current?.reliableUntil ?? lease.reliableUntil : .now - .seconds(1)
    }

    /// The lease, if it is reliable.
    package var reliableLease: NodeLease? { self.state.withLock { $0.node.lease }.flatMap { $0.isReliable ? $0 : nil } }

    // MARK: Use

    /// Keeps the lease renewed until ``endUse()``.
    func beginUse() throws {
        try self.state.withLock { state in
            switch state.node.beginUse() {
            case .refuse: throw Self.closed()
            case .goOn: break
            case .startKeeper:
                // Not the caller's task: it runs between turns, and ends by itself or with `close()`.
                state.keeper = Task { await self.keep() }
            }
        }
    }

    func endUse() { self.state.withLock { $0.node.endUse(at: self.clock.now) } }

    /// Runs `body` with the right to sign, in the order of this process's turns.
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

    /// Returns everything. Turns in progress end as if another node had taken over.
    package func close() async {
        let (keeper, lease) = self.state.withLock { ($0.keeper.take(), $0.node.close()) }
        keeper?.cancel()
        await keeper?.value
        await self.leave(lease)
    }

    private static func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store was closed") }

    private func leave(_ lease: NodeLease?) async {
        guard let lease else { return }
        // The caller may be canceled. If this fails, the others notice after a lifetime.
        await shielded { [database] in try? await database.leave(lease) }
    }

    // MARK: The lease

    /// Returns the lease, and takes one if necessary.
    ///
    /// - Throws: The error of reaching the database; `CancellationError`.
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
            // A new epoch has begun, and its quarantine must pass.
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

    /// Waits for the right to sign with an activation. The caller holds the turn of ``gate``.
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

    /// Returns whether the node got the right; otherwise requests it from its holder.
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

    /// Records the holder of a right, according to the database.
    package func recordHolder(_ number: Int64?, of activationID: String) {
        self.state.withLock { $0.node.recordHolder(number, of: activationID) }
    }

    /// Drops a right that another node now has.
    package func forget(_ activationID: String) {
        self.state.withLock { $0.node.forget(activationID) }
    }

    /// Hands over a right after the turns waiting for it here.
    private func handOver(_ activationID: String) async {
        guard let lease = self.state.withLock({ $0.node.lease }) else { return }
        // After cancellation the lease is returned as a whole.
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
    /// - Returns: The activations that other nodes request.
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
            // The reliance on the lease is not extended, and the next renewal uses another connection.
            if !lease.isReliable { self.state.withLock { $0.node.recordLoss(of: lease) } }
            return []
        }
    }

    /// Waits for the next heartbeat or a possible handover request.
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
