package import Coordination
public import Foundation
public import PowerAuth
public import PowerAuthClient
import Synchronization

/// One activation's operations: the list, its changes, and the decisions.
///
/// ```swift
/// let operations = OperationsService(activation: activation)
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask { try await operations.poll(every: .seconds(7)) }
///     group.addTask {
///         for await change in operations.changes() {
///             for operation in change.added { print("new:", operation.name, operation.formData.title) }
///         }
///     }
///     for try await _ in group {}  // ends with the error of polling
/// }
/// ```
///
/// An ``ApprovalAgent`` decides without a person, and fails closed:
///
/// ```swift
/// let operations = OperationsService(activation: activation)
/// let agent = try ApprovalAgent(
///     operations: operations,
///     factors: { try await activation.unlockKnowledge(password: password) }
/// ) { review in
///     guard review.operation.name == "authorize_payment",
///         let total = review.total(in: "CZK"), total > 0, total <= 50
///     else { return .deferToPeople }
///     return .approve
/// }
/// try await agent.run()
/// ```
///
/// The service is idle until a method is called. Releasing it ends its streams and cancels its requests. An idle service costs a
/// few kilobytes and no thread, so a process may hold thousands.
public actor OperationsService {
    /// The settings of a service.
    public struct Configuration: Sendable {
        /// The language of operations. English by default.
        public var acceptLanguage = MobileTokenClient.AcceptLanguage.english
        /// The interval of ``OperationsService/run()``: 7 s by default, at least 5 s.
        public var pollInterval: Duration = PollSchedule.defaultInterval
        /// The options of ``OperationsService/run()``. None by default.
        public var pollingOptions: OperationsService.PollingOptions = []
        /// The clock for polling; the system's by default.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Random numbers in 0..<1 that spread polls.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }
        /// The alarms of polling, if a fleet shares them; by default its own on the ``clock``.
        package var alarms: Alarms?

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// Takes the language and the clock of an activation's client, if it is an `Activation`.
        init(ofClientOf activation: any AuthenticatedChannel) {
            guard let client = (activation as? Activation)?.clientConfiguration else { return }
            (self.acceptLanguage, self.clock) = (client.acceptLanguage, client.clock)
        }
    }

    // MARK: State

    package nonisolated let channel: any AuthenticatedChannel
    nonisolated let poller: Poller
    /// Indicates that an event requested the list, and its task has not reached the actor yet.
    nonisolated let isFetchingSoon = Atomic(false)
    nonisolated let eventsBroadcast: Broadcast<EventBuffer>
    nonisolated let runPlan: PollingState.Plan
    /// Fleets that follow the service without a task; each is called with every event, on the service.
    private var listeners: [ObjectIdentifier: @Sendable (OperationsService.Event) -> Void] = [:]

    /// The list, and its fetch under way. The service alone changes them; anybody may look, and waits for nothing.
    private nonisolated let shown = Mutex(OperationListState())
    nonisolated var state: OperationListState { self.shown.withLock { $0 } }
    /// The fetch that ``state`` knows of, and its waiters.
    var fetching: SharedTask<Void>?
    /// The latest polling of ``startPolling(every:delayStart:options:)``.
    var polling: (runner: PollingState.Runner, task: Task<Void, Never>)?

    /// Indicates whether the store may hold manual decisions with unknown outcomes, of an earlier process or a recent failure.
    var mayHaveOpenDecisions = true

    /// In which language the server presents operations.
    public nonisolated var acceptLanguage: MobileTokenClient.AcceptLanguage { self.language.withLock { $0 } }
    private nonisolated let language: Mutex<MobileTokenClient.AcceptLanguage>

    /// The limits that its approvals are charged to.
    nonisolated let limitRules = Mutex<LimitRules?>(nil)

    // MARK: Life

    /// Creates the service of an activation. Sends nothing yet.
    ///
    /// Share one service among all callers in the process that use the activation.
    ///
    /// - Parameters:
    ///   - activation: An ``Activation``, or its replacement in a unit test.
    ///   - configuration: The language, polling and clock; by default the language and clock of the activation's client.
    public init(activation: any AuthenticatedChannel, configuration: Configuration? = nil) {
        let configuration = configuration ?? Configuration(ofClientOf: activation)
        let poller = Poller(
            alarms: configuration.alarms ?? .on(configuration.clock),
            random: configuration.random,
            canAskStatus: activation.evidence != nil
        )
        self.channel = activation
        self.poller = poller
        self.language = Mutex(configuration.acceptLanguage)
        self.runPlan = PollingState.Plan(interval: configuration.pollInterval, options: configuration.pollingOptions)
        self.eventsBroadcast = Broadcast(startingWith: EventBuffer()) { poller.setObserved($0) }
    }

    deinit {
        self.polling?.task.cancel()
        self.fetching?.cancel()
        // Readers hold the broadcast, which would otherwise outlive the service.
        self.eventsBroadcast.finish()
    }

    /// The server's time; `nil` until the first response.
    ///
    /// `Activation.serverDate` is never `nil`: it is the local clock until then.
    public nonisolated var currentServerDate: Date? { self.channel.measuredServerDate }

    /// Sets the language of later requests.
    public func setAcceptLanguage(_ language: MobileTokenClient.AcceptLanguage) {
        self.language.withLock { $0 = language }
    }

    // MARK: The list

    /// The current list: the server's last one, merged with later decisions and claims.
    ///
    /// Its issues, its date (`currentTimestamp`) and its age are those of the server's last word. It is empty, without date
    /// and age, before the first fetch; a fetch that fails leaves it as it was.
    public nonisolated var list: OperationList { self.state.list(at: self.now) }

    /// Registers a fleet as a listener, which counts as a reader of the streams.
    ///
    /// - Parameters:
    ///   - listener: Called with every event; `nil` removes the listener.
    ///   - start: Gets the list, before the first event.
    package func follow(
        for fleet: ObjectIdentifier,
        _ listener: (@Sendable (OperationsService.Event) -> Void)?,
        startingWith start: @Sendable ([UserOperation], [OperationList.Unreadable]) -> Void = { _, _ in }
    ) {
        let wasFollowed = !self.listeners.isEmpty
        self.listeners[fleet] = listener
        if wasFollowed == self.listeners.isEmpty { self.poller.setObserved(!wasFollowed) }
        start(self.state.operations, self.state.unreadable)
    }

    /// The result of the last completed fetch; `nil` before the first. A canceled fetch does not count.
    ///
    /// A success holds the merged list as it is now, as ``list`` does.
    public nonisolated var lastFetchResult: Result<OperationList, MobileTokenError>? {
        self.state.lastResult(at: self.now)
    }

    /// Changes the list in its place: a setter would copy all of it at each change.
    func change<Result: Sendable>(_ body: (inout OperationListState) -> Result) -> Result {
        self.shown.withLock { body(&$0) }
    }

    /// Indicates whether a list is being fetched.
    public nonisolated var isLoadingOperations: Bool { self.state.isFetching }

    /// The number of callers that share the current fetch; a refresh counts as one.
    package var fetchWaiterCount: Int { self.fetching?.waiterCount ?? 0 }

    /// Indicates whether another fetch must follow the current one.
    package var isNewerListWanted: Bool { self.state.isNewerListWanted }

    /// The time base for ages and deadlines.
    nonisolated var now: Duration { self.poller.now }

    // MARK: Streams

    /// Returns the list's changes: first the whole list as added, unless it is empty, then each difference. A slow reader gets
    /// several changes merged into one.
    ///
    /// Each call starts a subscription, which ends when the stream is released. A stream has one reader: two loops over the same
    /// value share its changes, so call this twice. It does not keep the service alive. It ends when the service is released, the
    /// reading task is canceled, or polling ends with an error, which ``endReason`` then has.
    public nonisolated func changes() -> AsyncStream<OperationList.Change> {
        self.eventsBroadcast.subscribe(\.ofChanges).stream(of: \.change)
    }

    /// Returns the service's events in order: loading, changes, unreadable operations, failures.
    ///
    /// Changes come as in ``changes()``; the stream has one reader and ends in the same cases. More than 16 unread events are
    /// merged to one change, the last event of each other kind and the loading state.
    public nonisolated func events() -> AsyncStream<OperationsService.Event> { self.eventsBroadcast.subscribe().stream }

    /// The number of subscriptions to ``changes()`` and ``events()``, including unread streams.
    package nonisolated var subscriberCount: Int { self.eventsBroadcast.subscriberCount }

    /// The reason ``changes()`` and ``events()`` ended, if polling failed permanently: the activation was removed here or on the
    /// server, or its state is unusable. It is kept until a fetch succeeds.
    ///
    /// Later streams follow manual fetches and any polling started after that.
    public nonisolated var endReason: MobileTokenError? { self.eventsBroadcast.endReason }

    /// Ends the streams for a reason that readers find in ``endReason``.
    func endStreams(for reason: MobileTokenError) { self.eventsBroadcast.finish(reason) }

    /// Lets new streams follow later events.
    func streamsGoOn(isWell: Bool = false) {
        guard self.endReason != nil else { return }
        self.eventsBroadcast.reopen()
        if isWell { self.eventsBroadcast.forgetEndReason() }
    }

    func publish(_ change: OperationList.Change?) {
        guard let change else {
            let operations = self.state.operations
            // A new order is no change, but unread changes must have it.
            return self.eventsBroadcast.revise(startingWith: self.eventsStart) { $0.reorder(as: operations) }
        }
        self.publish(.changed(change))
        self.channel.observer?.operationListChanged(
            MobileTokenObservation.OperationList(
                activationID: self.channel.activationID,
                count: change.operations.count,
                added: change.added.count,
                updated: change.updated.count,
                removed: change.removed.count
            )
        )
    }

    func publish(_ event: OperationsService.Event) {
        if case .loading(let isLoading) = event {
            // The list, which each poll would copy, is the same.
            self.eventsBroadcast.send { start in
                start.setLoading(isLoading)
                return event
            }
        } else {
            self.eventsBroadcast.send(event, startingWith: self.eventsStart)
        }
        for listener in self.listeners.values { listener(event) }
    }

    private var eventsStart: EventBuffer {
        EventBuffer(
            list: self.state.operations,
            unreadable: self.state.unreadable,
            isLoading: self.state.isFetching
        )
    }
}
