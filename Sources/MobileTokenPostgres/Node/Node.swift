import Coordination
import PostgresDatabase
import PowerAuth
import Synchronization

/// This process among those that share the store: its seat, and the rights to sign that it holds under it.
///
/// Rights are sticky: a node keeps what it has signed with until another one asks for it. While it signs, a keeper renews the
/// seat and hands over what others wish for; the keeper leaves when nothing was signed for one lifetime.
final class Node: Sendable {
    private struct State {
        var holdings = NodeHoldings()
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
    /// About wishes; `nil` where sessions cannot listen.
    private let hints: Hints?
    /// The order of this process's turns.
    let gate = Gate()
    private let joining = Gate()
    private let state = Mutex(State())
    private let clock: ServiceClock

    /// - Parameters:
    ///   - pool: For what callers wait for.
    ///   - newestFormat: The latest form of activations that this node reads.
    ///   - keeperPool: Of one connection, so that a heartbeat waits for nobody.
    ///   - hints: About wishes; `nil` where sessions cannot listen.
    ///   - clock: Paces heartbeats and attempts. How long a seat is relied on is a matter of the machine's clock alone.
    init(
        name: String,
        lifetimes: NodeLifetimes,
        newestFormat: RecordFormat,
        pool: PostgresPool,
        keeperPool: PostgresPool,
        hints: Hints?,
        clock: ServiceClock
    ) {
        self.name = name
        self.lifetimes = lifetimes
        self.newestFormat = newestFormat
        self.pool = pool
        self.keeperPool = keeperPool
        self.hints = hints
        self.clock = clock
    }

    /// Until when a seat may be relied on; a moment that has passed when this node has lost it.
    func reliableUntil(as seat: Seat) -> ContinuousClock.Instant {
        let current = self.state.withLock { $0.holdings.seat }
        return current?.number == seat.number ? current?.reliableUntil ?? seat.reliableUntil : .now - .seconds(1)
    }

    /// The seat, if it may be relied on.
    var reliableSeat: Seat? { self.state.withLock { $0.holdings.seat }.flatMap { $0.isReliable ? $0 : nil } }

    // MARK: Use

    /// Keeps the seat renewed until ``endUse()``.
    func beginUse() throws {
        try self.state.withLock { state in
            switch state.holdings.beginUse() {
            case .refuse: throw Self.closed()
            case .goOn: break
            case .startKeeper:
                // Not a task of the caller's: it goes on between turns, and ends by itself or with `close()`.
                state.keeper = Task { await self.keep() }
            }
        }
    }

    func endUse() { self.state.withLock { $0.holdings.endUse(at: self.clock.now) } }

    /// Gives everything back. Turns that have begun end as if another node had taken over.
    func close() async {
        let (keeper, seat) = self.state.withLock { ($0.keeper.take(), $0.holdings.close()) }
        keeper?.cancel()
        await keeper?.value
        await self.leave(seat)
        await self.keeperPool.closeIdleConnections()
    }

    private static func closed() -> MobileTokenError { MobileTokenError(.storeClosed, "The store was closed") }

    private func leave(_ seat: Seat?) async {
        guard let seat else { return }
        // In a task of its own, which is waited for, since the caller may be canceled. Should it fail, the others find out after
        // a lifetime.
        await Task { try? await self.pool.withConnection { try seat.leave($0) } }.value
    }

    // MARK: The seat

    /// Returns the seat, and takes one when there is none.
    ///
    /// - Throws: What keeps the database from being reached; `CancellationError`.
    func seat() async throws -> Seat {
        if let seat = self.reliableSeat { return seat }
        try await self.joining.enter("")
        defer { self.joining.leave("") }
        if let seat = self.reliableSeat { return seat }
        while true {
            guard !self.state.withLock({ $0.holdings.isClosed }) else { throw Self.closed() }
            let (name, lifetimes) = (self.name, self.lifetimes)
            let quarantine = try await self.pool.withConnection { connection in
                try Incarnation.check(connection)
                return try Incarnation.quarantine(lifetimes, connection)
            }
            let now = self.clock.now
            if let quarantine, let rest = self.state.withLock({ $0.holdings.rest(of: quarantine, at: now) }) {
                try await self.sleep(for: rest)
                continue
            }
            let newestFormat = self.newestFormat
            let seat = try await self.pool.withConnection {
                try Seat.take(name: name, reading: newestFormat, lifetimes, $0)
            }
            guard self.state.withLock({ $0.holdings.took(seat) }) else {
                await self.leave(seat)
                throw Self.closed()
            }
            return seat
        }
    }

    private func sleep(for duration: Duration) async throws {
        try await self.clock.sleep(until: self.clock.now + duration)
    }

    // MARK: Rights

    /// Waits until this node may sign with an activation. The caller has the turn of ``gate``.
    func acquire(_ activationID: String) async throws -> Seat {
        var delay = Duration.milliseconds(2)
        while true {
            let seat = try await self.seat()
            if self.state.withLock({ $0.holdings.holdsRight(to: activationID, as: seat) }) { return seat }
            if try await self.take(activationID, as: seat) { return seat }
            try await self.sleep(for: delay)
            delay = min(delay * 2, .milliseconds(50))
        }
    }

    /// Takes the right when nobody alive has it; announces a wish otherwise.
    private func take(_ activationID: String, as seat: Seat) async throws -> Bool {
        let values: [PostgresValue] = [.text(activationID), .integer(seat.number)]
        let channel = PostgresValue(self.hints?.channel)
        let newestFormat = PostgresValue.integer(self.newestFormat.rawValue)
        let lifetimes = self.lifetimes
        let (isThere, isReadable, isTaken, isSeated) = try await self.pool.withConnection { connection in
            let results = try connection.run([
                Seat.sweep(lifetimes),
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
            let isSeated = try row.boolean(2)
            return (true, try row.boolean(1), try isSeated && !row.isNull(0) && row.boolean(0), isSeated)
        }
        // Taken away since the last heartbeat.
        if !isSeated { self.state.withLock { $0.holdings.lost(seat) } }
        guard isThere else {
            throw MobileTokenError(.activationNotStored, "No activation with this identifier is stored")
        }
        guard isReadable else {
            throw MobileTokenError(.storeFromFuture, "The activation was stored by a newer program")
        }
        guard isTaken else { return false }
        return self.state.withLock { $0.holdings.tookRight(to: activationID, as: seat) }
    }

    /// Forgets a right that somebody else has now.
    func forget(_ activationID: String) {
        self.state.withLock { $0.holdings.forget(activationID) }
    }

    /// Begins to hand over a right, once the turns that wait for it here have ended.
    func handOver(_ activationID: String) async {
        guard let seat = self.state.withLock({ $0.holdings.seat }) else { return }
        // Canceled, the seat is given back as a whole.
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
                [.text(activationID), .integer(seat.number)]
            )
        }
    }

    // MARK: The keeper

    private func keep() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let (now, lifetime) = (self.clock.now, self.lifetimes.death)
                if let idle = self.state.withLock({ $0.holdings.endIfIdle(at: now, after: lifetime) }) {
                    await self.leave(idle.seat)
                    break
                }
                for activationID in await self.beat() {
                    guard self.state.withLock({ $0.holdings.beginHandingOver(activationID) }) else { continue }
                    group.addTask {
                        await self.handOver(activationID)
                        self.state.withLock { $0.holdings.endHandingOver(activationID) }
                    }
                }
                await self.waitForNextBeat()
            }
            group.cancelAll()
        }
    }

    /// Renews the seat.
    ///
    /// - Returns: The activations that others wish for.
    private func beat() async -> [String] {
        guard let seat = self.state.withLock({ $0.holdings.seat }) else { return [] }
        do {
            let (lifetimes, channel) = (self.lifetimes, self.hints?.channel)
            let heartbeat = try await self.keeperPool.withConnection { connection in
                if let channel { try connection.listen(to: channel) }
                return try seat.renew(lifetimes, connection)
            }
            self.state.withLock { state in
                if let renewed = heartbeat.seat { state.holdings.renewed(renewed) } else { state.holdings.lost(seat) }
            }
            return heartbeat.seat == nil ? [] : heartbeat.wishes
        } catch {
            // The seat is relied on no longer than it would be anyway, and renewed on another connection until then.
            if !seat.isReliable { self.state.withLock { $0.holdings.lost(seat) } }
            return []
        }
    }

    /// Waits until the next heartbeat is due, or another node may wish for something.
    private func waitForNextBeat() async {
        let pause = min(self.lifetimes.heartbeat, Self.pollInterval)
        guard let hints, self.reliableSeat != nil else {
            try? await self.sleep(for: pause)
            return
        }
        do {
            try await hints.wait(atMost: self.lifetimes.heartbeat)
        } catch {
            try? await self.sleep(for: pause)
        }
    }
}
