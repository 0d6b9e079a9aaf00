import Basics
import Coordination
import PowerAuth
public import PowerAuthClient
import Synchronization

/// Many activations, polled together: one stream of changes, a state for each activation, and limits for each server.
///
/// ```swift
/// let fleet = client.makeFleet()
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask { try await fleet.run() }
///     group.addTask {
///         for await news in fleet.changes() {
///             for operation in news.change.added { print(news.activationID, operation.name) }
///         }
///     }
///     try await group.next()
///     group.cancelAll()
/// }
/// ```
///
/// A fleet polls all activations of its clients' stores, and notices added and removed ones. Each has its own state
/// (``OperationsFleet/ActivationState``): a damaged, blocked or foreign activation does not affect the others. After the first few activations, polls are spread over the interval. Requests to one server obey its ``OperationsFleet/ServerLimits``: a rate limit, one circuit breaker, `Retry-After`,
/// and a limit on renewing refused tokens.
///
/// Processes may share a PostgreSQL store, by `PostgresFleetMembership` of `MobileTokenPostgres`. Then a fleet's states and lists
/// cover what its process polls.
///
/// Nothing happens before ``run()``. An activation takes a few kilobytes, and no task or thread.
public actor OperationsFleet {
    /// The settings of a fleet.
    public struct Configuration: Sendable {
        /// The polling interval of an activation: 7 s by default, at least 5 s.
        public var pollInterval: Duration = PollSchedule.defaultInterval
        /// The limits on requests to each server.
        public var limits = OperationsFleet.ServerLimits()
        /// The interval at which the stores are searched for added and removed activations: 10 s by default.
        public var storeInterval: Duration = .seconds(10)
        /// The division of activations among processes. By default this process polls all of them.
        package var division: any FleetMembership = SingleProcessMembership()
        /// The clock difference above which ``OperationsFleet/Health/isClockSkewed`` is `true`. Default: 30 s.
        package var clockSkewThreshold: Duration = .seconds(30)
        /// Random numbers in 0..<1 that spread polls.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }
        /// Polls due within a tick begin together, because waking a thread costs more than a poll.
        package var tick: Duration = .milliseconds(50)

        /// Creates a configuration with the documented defaults.
        public init() {}

        fileprivate init(of service: OperationsService) {
            self.pollInterval = service.runPlan.interval
            self.tick = .zero
        }
    }

    /// The fleet's settings.
    package nonisolated let configuration: Configuration

    nonisolated let clients: [MobileTokenClient]
    /// The index of each client's server limiter.
    nonisolated let limiterIndices: [Int]
    package nonisolated let limiters: [ServerLimiter]
    /// The servers of the limiters.
    nonisolated let origins: [String]
    nonisolated let alarms: Alarms
    nonisolated let streams: FleetStreams
    nonisolated let inbox = FleetInbox()
    /// The service of a fleet for one activation's agent: without client, limits and search.
    nonisolated let only: OperationsService?
    /// The stores of the activations that keep receipts.
    nonisolated let stores: [ActivationStore]
    /// The maximum duration of the activations' requests.
    nonisolated let requestTimeout: Duration
    /// The limits of the agent that decides with this fleet.
    nonisolated let limitRules = Mutex<LimitRules?>(nil)
    nonisolated let ended = Signal()

    /// The activations, which the fleet alone changes.
    nonisolated let members = FleetMembers()
    /// The identifiers that the stores held when they were searched last, by client.
    var storedIDs: [Int: [ExactString]] = [:]
    /// Indicates whether ``storedIDs`` changed since the members were made of them.
    var hasNewIDs = false
    var assignment = OperationsFleet.Assignment(buckets: [])
    /// Indicates whether there was an assignment: later activations are taken over.
    var wasAssigned = false
    var due = DeadlineQueue<Duration, ExactString, Void>()
    /// The activations with due work: the first queue for opening, the others for polls and status requests of each limiter.
    var queues: [FIFO<ExactString>]
    var openingCount = 0
    /// The number of activations polled here, and how many of them were tried to open.
    var assignedCount = 0
    var triedCount = 0
    /// The end of the current sleep; zero while awake.
    var sleepingUntil = Duration.zero
    /// Indicates whether a caller of ``run()`` runs the fleet, or waits for another one to end.
    var isClaimed = false
    /// The rest of the state that every caller may read.
    nonisolated let shown = Mutex(Standing())
    var standing: Standing {
        get { self.shown.withLock { $0 } }
        set { self.shown.withLock { $0 = newValue } }
    }
    /// Raised while the fleet does not run.
    nonisolated let turn = Signal(isRaised: true)

    struct Standing: Sendable {
        var isRunning = false
        /// Decisions under way, by bucket.
        var decisions: [Int: Drain] = [:]
        var lastFailure: FleetFailure?
    }

    /// Creates the fleet of a client's activations. Opens and sends nothing before ``run()``.
    public init(client: MobileTokenClient, configuration: Configuration = Configuration()) {
        self.init(clients: [client], configuration: configuration)
    }

    /// Creates a fleet of several applications or servers.
    ///
    /// Clients of one server share its limits, which apply while the fleet runs. A client can be in only one running fleet: two
    /// would poll the same activations twice, and exceed the limits.
    ///
    /// - Parameters:
    ///   - clients: One for each application at each server. They may share a store: an activation belongs to its application's
    ///     client. The first client's clock is used.
    ///   - configuration: The polling, the limits and the membership.
    public init(clients: [MobileTokenClient], configuration: Configuration = Configuration()) {
        let clock = clients.first?.configuration.clock ?? ContinuousClock()
        self.clients = clients
        self.configuration = configuration
        self.streams = FleetStreams()
        self.alarms = .on(clock)
        self.only = nil
        self.stores = clients.map(\.store)
        self.requestTimeout = clients.map(\.requestTimeout).max() ?? .zero
        let origins = clients.map(\.serverOrigin).reduce(into: [String]()) { found, origin in
            if !found.contains(where: { $0.isExactly(origin) }) { found.append(origin) }
        }
        self.origins = origins
        self.limiterIndices = clients.map { client in origins.firstIndex { $0.isExactly(client.serverOrigin) } ?? 0 }
        self.limiters = origins.map { [inbox = self.inbox] _ in
            ServerLimiter(configuration.limits, clock: clock, random: configuration.random) { inbox.raise() }
        }
        self.queues = Array(repeating: FIFO(), count: 1 + self.limiters.count)
    }

    /// Creates the fleet of one service, which it polls with the service's settings.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` if the service provides no evidence for an agent.
    init(only service: OperationsService) throws(MobileTokenError) {
        let evidence = try service.evidence
        self.only = service
        self.stores = [evidence.store].compactMap { $0 }
        self.requestTimeout = evidence.requestTimeout
        self.clients = []
        self.origins = []
        self.limiterIndices = [0]
        self.limiters = []
        self.queues = Array(repeating: FIFO(), count: 2)
        self.configuration = Configuration(of: service)
        self.streams = FleetStreams()
        self.alarms = service.poller.alarms
        let member = FleetMember(client: 0)
        member.service = service
        (member.isOurs, member.wasTried) = (true, true)
        self.members[ExactString(service.channel.activationID)] = member
    }

    deinit { self.streams.finish() }

    nonisolated var now: Duration { self.alarms.clock.now }
    /// The interval between searches of the stores; `nil` without stores.
    nonisolated var searchInterval: Duration? { self.only == nil ? self.configuration.storeInterval : nil }

    /// Applies limits, or none, to the decisions of all services, those that are open included.
    nonisolated func apply(_ rules: LimitRules?) {
        self.limitRules.withLock { $0 = rules }
        for member in self.members.all.values { member.service?.limitRules.withLock { $0 = rules } }
    }

    // MARK: What is known

    /// The activations that this process polls or has ended, in no order.
    public nonisolated var activationIDs: [String] { self.members.all.filter(\.value.isOurs).map(\.key.string) }

    /// Returns the state of an activation; `nil` for one that is not polled here.
    public nonisolated func state(of activationID: String) -> OperationsFleet.ActivationState? {
        guard let member = self.members[ExactString(activationID)], member.isOurs else { return nil }
        return member.state
    }

    /// Returns an activation's operations service, which the fleet polls while ``state(of:)`` says so.
    ///
    /// - Throws: ``MobileTokenError/Code/unknownActivation`` if no store holds it, or the error of opening it.
    public func service(of activationID: String) async throws -> OperationsService {
        let id = ExactString(activationID)
        if let service = self.members[id]?.service { return service }
        return self.adopt(try await self.open(id, startingWith: self.members[id]?.client ?? 0), as: id)
    }

    /// Returns the service of an open activation that is, or until its end was, polled here.
    nonisolated func openedService(of activationID: String) -> OperationsService? {
        guard let member = self.members[ExactString(activationID)], member.isOurs else { return nil }
        return member.service
    }

    /// Returns the activation of a service polled here.
    nonisolated func openedActivation(_ activationID: String) throws(MobileTokenError) -> Activation {
        guard let activation = self.members[ExactString(activationID)]?.activation else { throw .notPolledHere }
        return activation
    }

    // MARK: Streams

    /// Returns the changes of all lists: first each list as added, then each difference.
    ///
    /// These are the changes in ``events()``, with the same guarantees.
    public nonisolated func changes() -> AsyncStream<OperationsFleet.Change> {
        self.streams.events.subscribe().stream { if case .changed(let change) = $0 { change } else { nil } }
    }

    /// Returns the fleet's events: first the state of each activation polled here, with its whole list as added, then each
    /// difference.
    ///
    /// A slow reader gets an activation's events merged: its newest state, one change and its newest failure. So the unread
    /// events are bounded by the number of operations. Each call starts a subscription for one reader. It ends when the stream is
    /// released, the fleet is released or the reading task is canceled, and does not keep the fleet alive.
    public nonisolated func events() -> AsyncStream<OperationsFleet.Event> { self.streams.events.subscribe().stream }
}

extension MobileTokenClient {
    /// Creates the fleet of all activations in the client's store.
    public func makeFleet(configuration: OperationsFleet.Configuration = .init()) -> OperationsFleet {
        OperationsFleet(client: self, configuration: configuration)
    }
}
