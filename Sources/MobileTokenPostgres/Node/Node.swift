import Coordination
import PostgresDatabase
import PowerAuth
import Synchronization

/// This process among those that share the store: its lease, and the rights to sign that it holds under it.
///
/// Rights are sticky: a node keeps what it has signed with until another one asks for it. While it signs, a keeper renews the
/// lease and hands over what others request; the keeper leaves when nothing was signed for one lifetime.
final class Node: Sendable {
    private struct State {
        var node = NodeState()
        /// The task that renews the lease.
        var keeper: Task<Void, Never>?
    }

    /// The time between two looks for handover requests where no notification comes through.
    private static let pollInterval = Duration.milliseconds(250)

    let name: String
    let lifetimes: NodeLifetimes
    /// The latest form of activations that this node reads.
    let newestFormat: RecordFormat
    private let pool: PostgresPool
    private let keeperPool: PostgresPool
    /// About handover requests; `nil` where sessions cannot listen.
    private let notifications: Notifications?
    /// The order of this process's turns.
    let gate = KeyedSemaphore()
    private let joining = KeyedSemaphore()
    private let state = Mutex(State())
    private let clock: ServiceClock

    /// - Parameters:
    ///   - pool: The connections for all that callers wait for.
    ///   - newestFormat: The latest form of activations that this node reads.
    ///   - keeperPool: Of one connection, so that a heartbeat waits for nobody.
    ///   - notifications: About handover requests; `nil` where sessions cannot listen.
    ///   - clock: Paces heartbeats and attempts. How long a lease is relied on is a matter of the machine's clock alone.
    init(
        name: String,
        lifetimes: NodeLifetimes,
        newestFormat: RecordFormat,
        pool: PostgresPool,
        keeperPool: PostgresPool,
        notifications: Notifications?,
        clock: ServiceClock
    ) {
        self.name = name
        self.lifetimes = lifetimes
        self.newestFormat = newestFormat
        self.pool = pool
        self.keeperPool = keeperPool
        self.notifications = notifications
        self.clock = clock
    }

    /// Until when a lease may be relied on; a moment that has passed when this node has lost it.
    func reliableUntil(as lease: NodeLease) -> ContinuousClock.Instant {
        let current = self.state.withLock { $0.node.lease }
        return current?.number == lease.number ? current?.reliableUntil ?? lease.reliableUntil : .now - .seconds(1)
    }

    /// The lease, if it may be relied on.
    var reliableLease: NodeLease? { self.state.withLock { $0.node.lease }.flatMap { $0.isReliable ? $0 : nil } }

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

    /// Gives everything back. Turns that have begun end as if another node had taken over.
    func close() async {
        let (keeper, lease) = self.state.withLock { ($0.keeper.take(), $0.node.close()) }
        keeper?.cancel()
        await keeper?.value
        await self.leave(lease)
        await self.keeperPool.closeIdleConnections()
    }

    private static func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store was closed") }

    private func leave(_ lease: NodeLease?) async {
        guard let lease else { return }
        // The caller may be canceled. Should it fail, the others find out after a lifetime.
        await shielded { [pool] in try? await pool.withConnection { try lease.leave($0) } }
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
            let (name, lifetimes) = (self.name, self.lifetimes)
            let quarantine = try await self.pool.withConnection { connection in
                try DatabaseEpoch.check(connection)
                return try DatabaseEpoch.quarantine(lifetimes, connection)
            }
            let now = self.clock.now
            if quarantine.rest > .zero, let rest = self.state.withLock({ $0.node.rest(of: quarantine, at: now) }) {
                try await self.sleep(for: rest)
                continue
            }
            let newestFormat = self.newestFormat
            let lease = try await self.pool.withConnection {
                try NodeLease.take(name: name, reading: newestFormat, in: quarantine.epoch, lifetimes, $0)
            }
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
    func acquire(_ activationID: String) async throws -> NodeLease {
        var delay = Duration.milliseconds(2)
        while true {
            let lease = try await self.lease()
            if self.state.withLock({ $0.node.holdsRight(of: activationID, under: lease) }) { return lease }
            if try await self.take(activationID, as: lease) { return lease }
            try await self.sleep(for: delay)
            delay = min(delay * 2, .milliseconds(50))
        }
    }

    /// Takes the right when nobody alive has it; announces a handover request otherwise.
    private func take(_ activationID: String, as lease: NodeLease) async throws -> Bool {
        let values: [PostgresValue] = [.text(activationID), .integer(lease.number)]
        let channel = PostgresValue(self.notifications?.channel)
        let newestFormat = PostgresValue.integer(self.newestFormat.rawValue)
        let lifetimes = self.lifetimes
        let (isThere, isReadable, isTaken, hasLease) = try await self.pool.withConnection { connection in
            let results = try connection.run([
                NodeLease.sweep(lifetimes),
                PostgresStatement(
                    """
                    UPDATE activation SET holder = $2 WHERE activation_id = $1 AND format <= $3
                        AND EXISTS (SELECT FROM node WHERE number = $2)
                        AND (holder IS NULL OR holder = $2 OR NOT EXISTS (SELECT FROM node WHERE number = holder))
                    """,
                    values + [newestFormat]
                ),
                PostgresStatement(
                    """
                    DELETE FROM wish USING activation
                    WHERE wish.slot = activation.slot AND activation_id = $1 AND node = $2 AND holder = $2
                    """,
                    values
                ),
                PostgresStatement(
                    """
                    WITH new AS (
                        INSERT INTO wish (slot, node) SELECT slot, $2 FROM activation
                        WHERE activation_id = $1 AND holder <> $2 AND EXISTS (SELECT FROM node WHERE number = $2)
                        ON CONFLICT DO NOTHING RETURNING 1
                    )
                    SELECT pg_notify($3, '') FROM new WHERE $3 IS NOT NULL
                    """,
                    values + [channel]
                ),
                PostgresStatement(
                    """
                    SELECT holder = $2, format <= $3, EXISTS (SELECT FROM node WHERE number = $2)
                    FROM activation WHERE activation_id = $1
                    """,
                    values + [newestFormat]
                ),
            ])
            guard let row = results.last?.first else { return (false, false, false, true) }
            let hasLease = try row.boolean(2)
            return (true, try row.boolean(1), try hasLease && !row.isNull(0) && row.boolean(0), hasLease)
        }
        // Taken away since the last heartbeat.
        if !hasLease { self.state.withLock { $0.node.recordLoss(of: lease) } }
        guard isThere else {
            throw MobileTokenError(.activationNotStored, "No activation with this identifier is stored")
        }
        guard isReadable else {
            throw MobileTokenError(.storeFromFuture, "The activation was stored by a newer program")
        }
        guard isTaken else { return false }
        return self.state.withLock { $0.node.recordRight(of: activationID, under: lease) }
    }

    /// Notes whose right the database says that it is.
    func recordHolder(_ number: Int64?, of activationID: String) {
        self.state.withLock { $0.node.recordHolder(number, of: activationID) }
    }

    /// Forgets a right that somebody else has now.
    func forget(_ activationID: String) {
        self.state.withLock { $0.node.forget(activationID) }
    }

    /// Begins to hand over a right, once the turns that wait for it here have ended.
    func handOver(_ activationID: String) async {
        guard let lease = self.state.withLock({ $0.node.lease }) else { return }
        // Canceled, the lease is given back as a whole.
        guard (try? await self.gate.enter(activationID)) != nil else { return }
        defer { self.gate.leave(activationID) }
        self.forget(activationID)
        _ = try? await self.pool.withConnection { connection in
            _ = try connection.run(
                """
                WITH next AS (
                    SELECT wish.number, wish.node FROM wish JOIN activation USING (slot)
                    WHERE activation_id = $1 AND wish.node <> $2 ORDER BY wish.number LIMIT 1
                ), moved AS (
                    UPDATE activation SET holder = next.node FROM next
                    WHERE activation_id = $1 AND holder = $2 RETURNING next.number
                )
                DELETE FROM wish USING moved WHERE wish.number = moved.number
                """,
                [.text(activationID), .integer(lease.number)]
            )
        }
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
            let (lifetimes, channel) = (self.lifetimes, self.notifications?.channel)
            let heartbeat = try await self.keeperPool.withConnection { connection in
                if let channel { try connection.listen(to: channel) }
                return try lease.renew(lifetimes, connection)
            }
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
