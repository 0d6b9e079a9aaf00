import Basics
import Coordination
import PowerAuth
import Synchronization

/// Decides operations by a policy, and fails closed.
///
/// ```swift
/// let agent = ApprovalAgent(fleet: client.fleet(), factors: { activation in
///     try await activation.unlockKnowledge(password: password)
/// }) { review in
///     guard review.operation.name == "authorize_payment", let total = review.total(in: "CZK"), total > 0, total <= 50
///     else { return .leave }
///     return .approve
/// }
/// try await agent.run()
/// ```
///
/// The policy is asked about operations that could be read as a whole, nothing of which asks for a person's eyes, and of
/// which what gets signed is what is shown; see ``OperationReview``. Everything else is left to people, with a reason in
/// ``events()``. A policy that throws or takes too long leaves as well.
///
/// One operation's trouble is its own. Decisions of different activations are made beside each other, those of one activation
/// one after the other. What may pass is tried again while the operation is listed; what the server refuses is not. When an
/// answer is lost, the agent first finds out from the server's counter whether the decision was made, and decides again only
/// when it is certain that it was not.
///
/// Nothing happens before ``run()``.
public actor ApprovalAgent {
    /// A function that gives a verdict on a reviewed operation.
    public typealias Policy = @Sendable (OperationReview) async throws -> Verdict

    /// The settings that the agent was made with.
    public nonisolated let configuration: Configuration

    nonisolated let fleet: OperationsFleet
    nonisolated let policy: Policy
    /// Unlocks an activation's factors. Off the actor: an application's own code may take its time.
    nonisolated let unlock: @concurrent @Sendable (any AuthenticatedChannel) async throws -> Authentication
    nonisolated let broadcast = Broadcast(startingWith: AgentEventBuffer())
    nonisolated let wake = Signal()

    var supervision: AgentSupervision
    var factors: UnlockedFactors
    /// Activations whose decisions of earlier processes are known.
    var adopted: Set<ExactString> = []
    /// The number of the latest reading of open decisions that is under way, by activation. When an activation leaves, its reading is
    /// taken out here, and its result is not used.
    var adoptions: [ExactString: UInt64] = [:]
    var lastAdoption: UInt64 = 0
    /// The observers of these activations, where they have one.
    var observers: [ExactString: any MobileTokenObserver] = [:]
    /// Lists whose activations' receipts could not be read, and when that is tried again.
    var unread: (lists: [ExactString: [UserOperation]], time: Duration) = ([:], .longest)
    /// The decisions that were open when the stores were asked last, and when they are asked again.
    var open: (decisions: Set<OpenDecision>, time: Duration) = ([], .zero)
    var alarm: (time: Duration, id: Alarms.ID)?
    /// The tasks of the work under way, by the number of the job.
    var policies: [UInt64: Task<Void, Never>] = [:]
    var decisions: [UInt64: Task<Void, Never>] = [:]
    /// Questions for the status of stopped activations, by the identifier.
    var statusChecks: [ExactString: Task<Void, Never>] = [:]
    private var grace: Task<Void, Never>?
    var isRunning = false
    /// The pauses of decisions in this process, and in all.
    var isPaused = false
    var storePause: DecisionPause?
    /// Raised when the stores are to be asked for a pause.
    nonisolated let pauseCheck = Signal()
    /// The reason the agent ends, when it ends with its activation.
    var endReason: MobileTokenError?
    nonisolated let ended = Signal()

    init(
        deciding fleet: OperationsFleet,
        configuration: Configuration,
        unlock: @escaping @Sendable (any AuthenticatedChannel) async throws -> Authentication,
        policy: @escaping Policy
    ) {
        self.fleet = fleet
        self.configuration = configuration
        self.unlock = unlock
        self.policy = policy
        self.supervision = AgentSupervision(configuration.limits(requestTimeout: fleet.requestTimeout))
        self.factors = UnlockedFactors(lifetime: configuration.factorLifetime)
    }

    deinit { self.broadcast.finish() }

    /// The activation that the agent ends with, because there is no other; `nil` of one for a fleet.
    nonisolated var onlyActivationID: String? { self.fleet.only?.channel.activationID }

    nonisolated var now: Duration { self.fleet.alarms.clock.now }

    // MARK: What is known

    /// Returns the agent's events: first the operations that are left to people now, oldest first, so that a reader who comes late
    /// misses none; then what happens, in its order.
    ///
    /// A reader that leaves more than 1 000 events unread loses the oldest; what must not be lost is in the receipts. Each call
    /// begins a subscription of its own, for one reader, which ends when the stream is let go, when the task that reads it is
    /// canceled, and with the agent's run. It does not keep the agent alive.
    public nonisolated func events() -> AsyncStream<Event> { self.broadcast.subscribe().stream }

    /// The state of the agent as far as it is known. Reading it sends nothing, and waits for no store and no server.
    ///
    /// A pause that another process made shows after the next poll, or within ``OperationsFleet/Configuration/storeInterval``.
    public var health: Health {
        get async {
            var health = Health()
            health.fleet = await self.fleet.health
            health.fleet.decisionsInFlight = self.supervision.decisionsInFlight
            health.fleet.decisionsUnknown = self.supervision.unknownCount
            health.isDecidingPaused = self.isPaused || self.storePause != nil
            health.decisionPause = self.storePause
            health.openOperationCount = self.supervision.openCount
            health.leftOperationCount = self.supervision.leftCount
            health.stoppedActivationCount = self.supervision.stoppedCount
            health.stopReasons = Dictionary(
                self.supervision.stopReasons.values.map { ($0.code, 1) },
                uniquingKeysWith: +
            )
            health.isRunning = self.isRunning
            return health
        }
    }

    /// The number of unlocked factors that are kept, and whether nothing more is begun: for tests.
    package var keptFactorCount: Int { self.factors.count }
    package var isShutDown: Bool { self.supervision.isShutDown }

    // MARK: Life

    /// Polls and decides until the calling task is canceled, and then returns: the form that service runners ask for.
    ///
    /// Cancellation begins nothing new and lets what is signed come to its end, for no longer than the grace period. What was
    /// undecided stays undecided. An agent runs once.
    ///
    /// - Throws: `MobileTokenError`: of an agent for one activation, why nothing more can be decided with it; of one for a fleet,
    ///   what ``OperationsFleet/run()`` throws. `invalidConfiguration` when it ran before.
    public func run() async throws {
        guard !self.isRunning, !self.supervision.isShutDown else {
            throw MobileTokenError(.invalidConfiguration, "An approval agent runs once")
        }
        self.isRunning = true
        let result = await withTaskCancellationHandler {
            await self.runUntilCanceled()
        } onCancel: {
            // Only to get onto the actor: the fleet waits for decisions, so the time of grace must begin before it ends.
            Self.start { await self.shutDown() }
        }
        self.shutDown()
        await self.waitForDecisions()
        await shielded { [stores = self.fleet.stores] in for store in stores { await store.writeKeptOutcomes() } }
        self.isRunning = false
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
            await self.takeUnread()
            self.follow(self.supervision.wake(at: self.now))
        }
    }

    // MARK: Shutting down

    private func shutDown() {
        guard !self.supervision.isShutDown else { return }
        self.follow(self.supervision.shutDown())
        for check in self.statusChecks.values { check.cancel() }
        guard !self.decisions.isEmpty else { return }
        let end = self.now + self.configuration.gracePeriod.bounded
        self.grace = Self.start { [clock = self.fleet.alarms.clock] in
            try? await clock.sleep(until: end)
            if !Task.isCancelled { await self.giveUpDecisions() }
        }
    }

    /// The time of grace is over. What was signed is finished in the background, and found out about at the next start.
    private func giveUpDecisions() {
        for task in self.decisions.values { task.cancel() }
    }

    /// Waits until nothing is signed, on its way or being found out about.
    func decisionsHaveEnded() async {
        // Each removes itself at its end.
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
