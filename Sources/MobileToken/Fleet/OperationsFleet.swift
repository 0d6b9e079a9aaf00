import Basics
import Coordination
public import PowerAuth
import Synchronization

/// Many activations, polled together: one stream of changes, a state for each activation, and a good guest of each server.
///
/// ```swift
/// let fleet = client.fleet()
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
/// A fleet takes all activations of its clients' stores, and notices those that come and go. Each has a state of its own
/// (``OperationsFleet/ActivationState``): one that is damaged, blocked or of another application is nobody else's trouble. Polls are
/// spread over the interval, and what goes to one server obeys its ``OperationsFleet/ServerLimits``: a cap on requests, one circuit breaker,
/// `Retry-After`, and a limit on renewing refused tokens.
///
/// Several processes may share a store; see ``FleetMembership``. Then a fleet's states cover what its process polls, and so do
/// its lists, unless the membership shows those of the others as well, as `PostgresFleetMembership` does.
///
/// Nothing happens before ``run()``. An activation takes a few kilobytes, and no task or thread of its own.
public actor OperationsFleet {
    /// The settings of a fleet.
    public struct Configuration: Sendable {
        /// The interval at which each activation is polled: every 7 s by default, every 5 s at most.
        public var pollInterval: Duration = PollSchedule.defaultInterval
        /// The limits on requests to each server.
        public var limits = OperationsFleet.ServerLimits()
        /// The interval at which the stores are searched for activations that came or went: every 10 s by default.
        public var storeInterval: Duration = .seconds(10)
        /// The division of activations among processes: this process polls everything, by default.
        public var membership: any FleetMembership = SingleProcessMembership()
        /// From which difference to a server's clock on ``OperationsFleet/Health/isClockSkewed`` warns: 30 s by default.
        public var clockSkewThreshold: Duration = .seconds(30)
        /// Numbers in 0..<1 that spread polls.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }
        /// Polls that fall due within it begin together, since waking a thread costs more than a poll.
        package var tick: Duration = .milliseconds(50)

        /// Creates a configuration with the documented defaults.
        public init() {}

        fileprivate init(of service: OperationsService) {
            self.pollInterval = service.runPlan.interval
            self.tick = .zero
        }
    }

    /// The settings that the fleet was made with.
    public nonisolated let configuration: Configuration

    nonisolated let clients: [MobileTokenClient]
    /// For each client the index of its server's limiter.
    nonisolated let limiterIndices: [Int]
    package nonisolated let limiters: [ServerLimiter]
    /// The servers that the limiters are for.
    nonisolated let origins: [String]
    nonisolated let alarms: Alarms
    nonisolated let streams: FleetStreams
    nonisolated let inbox = FleetInbox()
    /// The service of a fleet that an agent of one activation makes: it has no client, no limits and no search.
    nonisolated let only: OperationsService?
    /// The stores of the activations, of those that keep receipts.
    nonisolated let stores: [ActivationStore]
    /// The longest that a request of the activations may take.
    nonisolated let requestTimeout: Duration
    /// Raised when the only activation has ended.
    nonisolated let ended = Signal()

    var members: [ExactString: FleetMember] = [:]
    /// The identifiers that the stores held when they were searched last, by client.
    var storedIDs: [Int: [ExactString]] = [:]
    var assignment = OperationsFleet.Assignment(buckets: [])
    /// Indicates whether anything was ever assigned: what comes later is taken over.
    var wasAssigned = false
    var due = DeadlineQueue<Duration, ExactString, Void>()
    /// The activations that may begin: opened at the first place, polled or asked about through the limiters at the others.
    var queues: [FIFO<ExactString>]
    var openingCount = 0
    /// The number of activations that are polled here, and of those of them that it was tried to open.
    var assignedCount = 0
    var triedCount = 0
    /// The time that is slept to; zero while nobody sleeps.
    var sleepingUntil = Duration.zero
    /// A caller of ``run()`` runs the fleet, or waits for the end of another one.
    var isClaimed = false
    var isRunning = false
    /// Raised while the fleet does not run.
    nonisolated let turn = Signal(isRaised: true)

    /// Decisions under way, by bucket.
    var decisions: [Int: Drain] = [:]
    var lastFailure: FleetFailure?

    /// Creates the fleet of a client's activations. Nothing is opened or sent before ``run()``.
    public init(client: MobileTokenClient, configuration: Configuration = Configuration()) {
        self.init(clients: [client], configuration: configuration)
    }

    /// Creates a fleet of several applications or servers.
    ///
    /// Clients of one server share its limits, which hold while the fleet runs. A client takes part in one running fleet at a time:
    /// two would poll the same activations twice, by limits of which only one could hold.
    ///
    /// - Parameters:
    ///   - clients: One for each application at each server. They may share a store: an activation belongs to the client of
    ///     its application. Time is the first client's clock.
    ///   - configuration: The polling, the limits and the membership.
    public init(clients: [MobileTokenClient], configuration: Configuration = Configuration()) {
        let clock = clients.first?.configuration.clock ?? ContinuousClock()
        self.clients = clients
        self.configuration = configuration
        self.streams = FleetStreams(membership: configuration.membership)
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

    /// Creates the fleet of one service, which it polls as the service's configuration says.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` for a service that lacks what an agent decides by.
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
        self.streams = FleetStreams(membership: self.configuration.membership)
        self.alarms = service.poller.alarms
        var member = FleetMember(client: 0)
        member.service = service
        (member.isOurs, member.wasTried) = (true, true)
        self.members = [ExactString(service.channel.activationID): member]
    }

    deinit { self.streams.finish() }

    nonisolated var now: Duration { self.alarms.clock.now }
    /// The interval at which stores are searched; `nil` where there is nothing to search.
    nonisolated var searchInterval: Duration? { self.only == nil ? self.configuration.storeInterval : nil }

    // MARK: What is known

    /// The activations that this process polls or has ended, in no order.
    public var activationIDs: [String] { self.members.filter(\.value.isOurs).map(\.key.string) }

    /// Returns the state of an activation; `nil` for one that is not polled here.
    public func state(of activationID: String) -> OperationsFleet.ActivationState? {
        guard let member = self.members[ExactString(activationID)], member.isOurs else { return nil }
        return member.state
    }

    /// The service of an activation's operations, polled by the fleet as long as ``state(of:)`` says so.
    ///
    /// - Throws: ``MobileTokenError/Code/unknownActivation`` when no store holds it, and what keeps it from being opened.
    public func operations(of activationID: String) async throws -> OperationsService {
        let id = ExactString(activationID)
        if let service = self.members[id]?.service { return service }
        return self.adopt(try await self.open(id, startingWith: self.members[id]?.client ?? 0), as: id)
    }

    /// The service of an activation that is polled here, or was until it ended, once it is open.
    func openedService(of activationID: String) -> OperationsService? {
        guard let member = self.members[ExactString(activationID)], member.isOurs else { return nil }
        return member.service
    }

    /// Returns the activation of a service that is polled here.
    func openedActivation(_ activationID: String) throws(MobileTokenError) -> Activation {
        guard let activation = self.members[ExactString(activationID)]?.activation else { throw .notPolledHere }
        return activation
    }

    // MARK: Streams

    /// Returns the changes of all lists: first each list as added, then what is different from what the reader last saw.
    ///
    /// These are the changes among ``events()``, with the same promises.
    public nonisolated func changes() -> AsyncStream<OperationsFleet.Change> {
        self.streams.shown.subscribe().stream { if case .changed(let change) = $0 { change } else { nil } }
    }

    /// Returns the fleet's events: first the state of each activation that is polled here, with its whole list as added, then
    /// what is different from what the reader last saw.
    ///
    /// A reader that is slow finds what happened to an activation merged: its newest state, one change and its newest failure.
    /// So what waits for a reader is never more than the operations there are. Each call begins a subscription of its own, for
    /// one reader, which ends when the stream is let go. It does not keep the fleet alive, and it ends when the fleet is
    /// released or the reading task is canceled.
    public nonisolated func events() -> AsyncStream<OperationsFleet.Event> { self.streams.shown.subscribe().stream }

    /// Returns the events of what this process polls, by which alone it may decide.
    nonisolated func polledEvents() -> AsyncStream<OperationsFleet.Event> { self.streams.polled.subscribe().stream }
}

extension MobileTokenClient {
    /// Creates the fleet of all activations in the client's store.
    public func fleet(configuration: OperationsFleet.Configuration = .init()) -> OperationsFleet {
        OperationsFleet(client: self, configuration: configuration)
    }
}
