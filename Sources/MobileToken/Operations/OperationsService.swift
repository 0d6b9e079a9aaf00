package import Coordination
public import Foundation
public import PowerAuth

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
///     else { return .leave }  // to people
///     return .approve
/// }
/// try await agent.run()
/// ```
///
/// Nothing runs before a method is called, and nothing goes on after the service is released: its streams end, its
/// requests are taken off the wire. An idle service costs a few kilobytes and no thread, so a process may hold thousands.
public actor OperationsService {
    /// The settings of a service.
    public struct Configuration: Sendable {
        /// In which language the server presents operations. English by default.
        public var acceptLanguage = MobileTokenClient.AcceptLanguage.english
        /// The interval of ``OperationsService/run()``: 7 s by default, 5 s at least.
        public var pollInterval: Duration = PollSchedule.defaultInterval
        /// The options of ``OperationsService/run()``. None by default.
        public var pollingOptions: OperationsService.PollingOptions = []
        /// The clock that polling waits on; the system's by default.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Numbers in 0..<1 that spread polls.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }
        /// The alarms of polling, where a fleet shares them; by default its own on the ``clock``.
        package var alarms: Alarms?

        /// Creates a configuration with the documented defaults.
        public init() {}
    }

    // MARK: State

    nonisolated let channel: any AuthenticatedChannel
    nonisolated let poller: Poller
    nonisolated let eventsBroadcast: Broadcast<EventBuffer>
    nonisolated let runPlan: Following.Plan
    /// The fleets that follow the service without a task, each called with every event, on the service.
    private var listeners: [ObjectIdentifier: @Sendable (OperationsService.Event) -> Void] = [:]

    /// The list, and its fetch under way.
    var state = OperationListState()
    /// The fetch that ``state`` knows of, and its waiters.
    var fetching: SharedTask<Void>?
    /// The polling that ``startPolling(every:delayStart:options:)`` began last.
    var polling: (runner: Following.Runner, task: Task<Void, Never>)?

    /// Indicates whether the store may hold decisions by hand whose fate is not known: of an earlier process, or of one that just
    /// failed.
    var mayHaveOpenDecisions = true

    /// In which language the server presents operations.
    public private(set) var acceptLanguage: MobileTokenClient.AcceptLanguage

    // MARK: Life

    /// Creates the service of an activation. Nothing is sent yet.
    ///
    /// One service serves every caller in the process that works with the activation.
    ///
    /// - Parameters:
    ///   - activation: An ``Activation``, or what stands for one in a unit test.
    ///   - configuration: The language, the polling and the clock.
    public init(activation: any AuthenticatedChannel, configuration: Configuration = Configuration()) {
        let poller = Poller(
            alarms: configuration.alarms ?? .on(configuration.clock),
            random: configuration.random,
            canAskStatus: activation.evidence != nil
        )
        self.channel = activation
        self.poller = poller
        self.acceptLanguage = configuration.acceptLanguage
        self.runPlan = Following.Plan(interval: configuration.pollInterval, options: configuration.pollingOptions)
        self.eventsBroadcast = Broadcast(startingWith: EventBuffer()) { poller.setObserved($0) }
    }

    deinit {
        self.polling?.task.cancel()
        self.fetching?.cancel()
        // Readers hold the broadcast, so it would outlive the service without an end.
        self.eventsBroadcast.finish()
    }

    /// The server's time; `nil` as long as the server has not told it, which the first answer changes.
    ///
    /// `Activation.serverDate` is never `nil`: it is the local clock until then.
    public nonisolated var currentServerDate: Date? { self.channel.measuredServerDate }

    /// Sets the language of requests from now on.
    public func setAcceptLanguage(_ language: MobileTokenClient.AcceptLanguage) {
        self.acceptLanguage = language
    }

    // MARK: The list

    /// The list as it is known here: what the server last said, merged with what was decided and claimed since.
    ///
    /// Its issues, its date (`currentTimestamp`) and its age are those of the server's last word. It is empty, without date
    /// and age, before the first fetch; a fetch that fails leaves it as it was.
    public var list: OperationList { self.state.list(at: self.now) }

    /// Gives the operations to `body` at a moment at which no change can be on its way.
    package func withOperations(_ body: @Sendable ([UserOperation]) -> Void) { body(self.state.operations) }

    /// Lets a fleet follow the service, which counts as a reader of its streams.
    ///
    /// - Parameters:
    ///   - listener: Called with every event; `nil` ends it.
    ///   - start: Gets the operations, before the first event.
    package func follow(
        for fleet: ObjectIdentifier,
        _ listener: (@Sendable (OperationsService.Event) -> Void)?,
        startingWith start: @Sendable ([UserOperation]) -> Void = { _ in }
    ) {
        let wasFollowed = !self.listeners.isEmpty
        self.listeners[fleet] = listener
        if wasFollowed == self.listeners.isEmpty { self.poller.setObserved(!wasFollowed) }
        start(self.state.operations)
    }

    /// The result of the last fetch that ended; `nil` before the first. A canceled fetch does not count.
    ///
    /// A success holds the merged list as it is now, as ``list`` does.
    public var lastFetchResult: Result<OperationList, MobileTokenError>? { self.state.lastResult(at: self.now) }

    /// Indicates whether a list is being fetched.
    public var isLoadingOperations: Bool { self.state.isFetching }

    /// The number of callers that share the fetch under way, a refresh counting as one.
    package var fetchWaiterCount: Int { self.fetching?.waiterCount ?? 0 }

    /// Indicates whether another fetch is to follow the one under way.
    package var isNewerListWanted: Bool { self.state.isNewerListWanted }

    /// The time that ages and deadlines are counted in.
    nonisolated var now: Duration { self.poller.now }

    // MARK: Streams

    /// Returns the list's changes: first the whole list as added, unless it is empty, then what is different from what the
    /// reader last saw. A reader that is slow gets several changes merged into one.
    ///
    /// Each call begins a subscription of its own, which ends when the stream is let go. One stream has one reader: two loops
    /// over the same value share its changes, so call this twice. It does not keep the service alive, and it ends when the
    /// service is released, when the reading task is canceled, or when polling ended for good; then ``endReason`` is set.
    public nonisolated func changes() -> AsyncStream<OperationList.Change> {
        self.eventsBroadcast.subscribe(\.ofChanges).stream(of: \.change)
    }

    /// Returns the service's events in the order they happen: loading, changes, failures.
    ///
    /// Changes come as in ``changes()``, and the stream has one reader and ends as it does. When a slow reader leaves more than
    /// 16 events unread, they shrink to one merged change, the last failure and the state of loading.
    public nonisolated func events() -> AsyncStream<OperationsService.Event> { self.eventsBroadcast.subscribe().stream }

    /// The number of subscriptions to ``changes()`` and ``events()``; a stream that is not read is one.
    package nonisolated var subscriberCount: Int { self.eventsBroadcast.subscriberCount }

    /// The reason ``changes()`` and ``events()`` ended, if polling ended for good: because the activation was removed here or on the
    /// server, or its state cannot be used any more. It stays known until a fetch succeeds again.
    ///
    /// Streams that are begun later follow what is fetched by hand, and any polling that is started anew.
    public nonisolated var endReason: MobileTokenError? { self.eventsBroadcast.endReason }

    /// Ends the streams for a reason that readers find in ``endReason``.
    func endStreams(for reason: MobileTokenError) { self.eventsBroadcast.finish(reason) }

    /// Lets new streams follow what happens from now on.
    func streamsGoOn(isWell: Bool = false) {
        guard self.endReason != nil else { return }
        self.eventsBroadcast.reopen()
        if isWell { self.eventsBroadcast.forgetEndReason() }
    }

    func publish(_ change: OperationList.Change?) {
        guard let change else {
            let operations = self.state.operations
            // The order may have changed, which is no news but belongs into what is still unread.
            return self.eventsBroadcast.revise(startingWith: self.eventsStart) { $0.reorder(as: operations) }
        }
        self.publish(.changed(change))
        self.channel.observer?.operationListChanged(
            Observed.OperationList(
                activationID: self.channel.activationID,
                count: change.operations.count,
                added: change.added.count,
                updated: change.updated.count,
                removed: change.removed.count
            )
        )
    }

    func publish(_ event: OperationsService.Event) {
        self.eventsBroadcast.send(event, startingWith: self.eventsStart)
        for listener in self.listeners.values { listener(event) }
    }

    private var eventsStart: EventBuffer {
        EventBuffer(list: self.state.operations, isLoading: self.state.isFetching)
    }
}
