import Basics
import Coordination
import PowerAuth
import Synchronization

/// Decides operations by a policy, and fails closed.
///
/// ```swift
/// let agent = ApprovalAgent(fleet: client.makeFleet(), factors: { activation in
///     try await activation.unlockKnowledge(password: password)
/// }) { review in
///     guard review.operation.name == "authorize_payment", let total = review.total(in: "CZK"), total > 0, total <= 50
///     else { return .deferToPeople }
///     return .approve
/// }
/// try await agent.run()
/// ```
///
/// The agent asks the policy only about complete operations: fully readable, without anything that needs a person, and with the
/// same content shown and signed; see ``OperationReview``. It leaves all others to people, with a reason in ``events()``. An
/// operation is also left if the policy throws or takes too long.
///
/// Operations do not affect each other. The agent decides concurrently for different activations, and one by one for a single
/// activation. It retries temporary failures while the operation is listed, but not refusals by the server. If a response is
/// lost, the agent first determines from the server's counter whether the decision was made. It decides again only if it
/// certainly was not.
///
/// Nothing happens before ``run()``.
public actor ApprovalAgent {
    /// A function that returns a verdict on a reviewed operation.
    public typealias Policy = @Sendable (OperationReview) async throws -> Verdict

    /// The agent's settings.
    package nonisolated let configuration: Configuration

    nonisolated let fleet: OperationsFleet
    nonisolated let policy: Policy
    /// Unlocks an activation's factors, outside the actor, because an application's code may be slow.
    nonisolated let unlock: @concurrent @Sendable (any AuthenticatedChannel) async throws -> Activation.Authentication
    nonisolated let broadcast = Broadcast(startingWith: AgentEventBuffer())
    nonisolated let wake = Signal()

    /// The operations that are worked on. The agent alone changes them; anybody may look, and waits for nothing.
    nonisolated let supervision: Mutex<AgentSupervision>
    var factors: UnlockedFactors
    /// Activations with known decisions of earlier processes.
    var adopted: Set<ExactString> = []
    /// The current reads of open decisions, by activation. Releasing an activation removes its entry, so the read's result is
    /// ignored.
    var readings: [ExactString: (number: UInt64, task: Task<Void, Never>)] = [:]
    var lastReading: UInt64 = 0
    /// Limits the concurrent reads of each store.
    nonisolated let storeReaders = KeyedSemaphore(width: 8)
    var observers: [ExactString: any MobileTokenObserver] = [:]
    /// The unreadable operations of each activation's list.
    var unreadable: [ExactString: [OperationList.Unreadable]] = [:]
    /// Lists whose activations' receipts could not be read, and when that is tried again.
    var unread: (lists: [ExactString: OperationList.Change], time: Duration) = ([:], .longest)
    /// The decisions that were open when the stores were asked last, and when they are asked again.
    var open: (decisions: Set<OpenDecision>, time: Duration) = ([], .zero)
    var alarm: (time: Duration, id: Alarms.ID)?
    /// The tasks in progress, by job number.
    var policies: [UInt64: Task<Void, Never>] = [:]
    var decisions: [UInt64: Task<Void, Never>] = [:]
    /// Status requests of stopped activations, by identifier.
    var statusChecks: [ExactString: Task<Void, Never>] = [:]
    private var grace: Task<Void, Never>?
    /// The rest of the state that every caller may read.
    private nonisolated let shown = Mutex(Standing())
    var standing: Standing {
        get { self.shown.withLock { $0 } }
        set { self.shown.withLock { $0 = newValue } }
    }
    /// Raised when the stores are to be asked for a pause.
    nonisolated let pauseCheck = Signal()
    /// The reason the agent ends with its activation.
    var endReason: MobileTokenError?
    nonisolated let ended = Signal()

    /// The run of an agent and its pauses.
    struct Standing: Sendable {
        var isRunning = false
        /// The pauses of decisions in this process, and in all.
        var isPaused = false
        var storePause: DecisionPause?
        var areLimitsClosed = false

        var isHeld: Bool { self.isPaused || self.storePause != nil }
    }

    init(
        deciding fleet: OperationsFleet,
        configuration: Configuration,
        unlock: @escaping @Sendable (any AuthenticatedChannel) async throws -> Activation.Authentication,
        policy: @escaping Policy
    ) {
        self.fleet = fleet
        self.configuration = configuration
        self.unlock = unlock
        self.policy = policy
        self.supervision = Mutex(AgentSupervision(configuration.limits(requestTimeout: fleet.requestTimeout)))
        self.factors = UnlockedFactors(lifetime: configuration.factorLifetime)
        fleet.apply(configuration.limits.isEmpty ? nil : LimitRules(configuration.limits, userID: configuration.userID))
    }

    deinit { self.broadcast.finish() }

    /// The single activation that the agent ends with; `nil` for an agent of a fleet.
    nonisolated var onlyActivationID: String? { self.fleet.only?.channel.activationID }

    nonisolated var now: Duration { self.fleet.alarms.clock.now }

    // MARK: What is known

    /// Returns the agent's events: first the operations left to people, oldest first, so that a late reader misses none; then new
    /// events in order.
    ///
    /// If more than 1 000 events are unread, the oldest are lost; the receipts keep everything essential. Each call starts a
    /// subscription for one reader. It ends when the stream is released, the reading task is canceled, or the agent's run ends,
    /// and does not keep the agent alive.
    public nonisolated func events() -> AsyncStream<Event> { self.broadcast.subscribe().stream }

    /// The state of the agent as far as it is known. Reading it sends nothing, and waits for nothing.
    ///
    /// A pause that another process made shows after the next poll, or within ``OperationsFleet/Configuration/storeInterval``.
    public nonisolated var health: Health {
        var health = Health()
        health.fleet = self.fleet.health
        let standing = self.shown.withLock { $0 }
        (health.isRunning, health.isDecidingPaused) = (standing.isRunning, standing.isHeld)
        (health.decisionPause, health.areLimitsClosed) = (standing.storePause, standing.areLimitsClosed)
        self.supervision.withLock { supervision in
            let counts = supervision.counts
            health.fleet.decisionsInFlight = counts.deciding
            health.fleet.decisionsUnknown = supervision.unknownCount
            (health.openOperationCount, health.leftOperationCount) = (counts.open, counts.left)
            let reasons = supervision.stopReasons
            health.stoppedActivationCount = reasons.count
            health.stopReasons = Dictionary(reasons.values.map { ($0.code, 1) }, uniquingKeysWith: +)
        }
        return health
    }

    /// The number of kept factors, and whether the agent is shut down, for tests.
    package var keptFactorCount: Int { self.factors.count }
    package nonisolated var isShutDown: Bool { self.supervision.withLock { $0.isShutDown } }

    // MARK: Life

    /// Polls and decides until the calling task is canceled, and then returns, for service runners.
    ///
    /// Cancellation starts nothing new and lets signed decisions finish within the grace period. Other operations stay undecided.
    /// An agent runs once.
    ///
    /// - Throws: `MobileTokenError`: for one activation, the reason that it cannot decide any more; for a fleet, the errors of
    ///   ``OperationsFleet/run()``. `invalidConfiguration` if it ran before, or its limits are unusable.
    public func run() async throws {
        try await cancelingAtShutdown { try await self.runToItsEnd() }
    }

    private func runToItsEnd() async throws {
        guard !self.standing.isRunning, !self.isShutDown else {
            throw MobileTokenError(.invalidConfiguration, "An approval agent runs once")
        }
        if let mistake = Limit.mistake(in: self.configuration.limits) {
            throw MobileTokenError(.invalidConfiguration, mistake)
        }
        self.standing.isRunning = true
        let result = await withTaskCancellationHandler {
            await self.runUntilCanceled()
        } onCancel: {
            // Only to reach the actor: the fleet waits for decisions, so the grace period must begin before it ends.
            Self.start { await self.shutDown() }
        }
        self.shutDown()
        for reading in self.readings.values { await reading.task.value }
        await self.waitForDecisions()
        await shielded { [stores = self.fleet.stores] in for store in stores { await store.writeKeptOutcomes() } }
        self.standing.isRunning = false
        self.broadcast.finish()
        if case .failure(let error) = result, !(error is CancellationError) { throw error }
    }

    private func runUntilCanceled() async -> Result<Void, any Error> {
        await self.checkForPause()
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await self.poll() }
                group.addTask { await self.followEvents() }
                group.addTask { await self.keepTime() }
                group.addTask { await self.watchForPauses() }
                group.addTask { try await self.waitForEnd() }
                for try await _ in group {}
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    private func poll() async throws {
        do {
            try await self.fleet.runInTurn()
        } catch let error as MobileTokenError {
            if let activationID = self.onlyActivationID { await self.findOutLastDecisions(of: activationID) }
            throw error
        }
    }

    private func waitForEnd() async throws {
        _ = await self.ended.wait()
        if let endReason { throw endReason }
    }

    private func keepTime() async {
        while await self.wake.wait() {
            self.alarm = nil
            self.factors.dropOld(at: self.now)
            self.takeUnread()
            self.supervise { $0.wake(at: self.now) }
        }
    }

    // MARK: Shutting down

    private func shutDown() {
        guard !self.isShutDown else { return }
        self.supervise { $0.shutDown() }
        for check in self.statusChecks.values { check.cancel() }
        for reading in self.readings.values { reading.task.cancel() }
        guard !self.decisions.isEmpty else { return }
        let end = self.now + self.configuration.gracePeriod.bounded
        self.grace = Self.start { [clock = self.fleet.alarms.clock] in
            try? await clock.sleep(until: end)
            if !Task.isCancelled { await self.giveUpDecisions() }
        }
    }

    /// Ends the grace period. Signed decisions finish in the background and are resolved at the next start.
    private func giveUpDecisions() {
        for task in self.decisions.values { task.cancel() }
    }

    /// Waits until no decision is signed, in flight or being resolved.
    func decisionsHaveEnded() async {
        // Each removes itself when it ends.
        while let decision = self.decisions.values.first { await decision.value }
    }

    private func waitForDecisions() async {
        await self.decisionsHaveEnded()
        self.grace?.cancel()
        self.grace = nil
        self.factors.dropAll()
        if let alarm = self.alarm.take() { self.fleet.alarms.cancel(alarm.id) }
    }
}
