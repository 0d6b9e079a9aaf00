public import Foundation
public import PowerAuth

/// One activation's operations: the list, its changes, and the decisions.
///
/// ```swift
/// let operations = OperationsService(activation: activation)
/// try await withThrowingTaskGroup(of: Void.self) { group in
///     group.addTask { try await operations.poll(every: .seconds(7)) }
///     for await change in operations.changes() {
///         for operation in change.added where policy.allows(operation) {
///             try await operations.authorize(operation, with: .possession(password: "…"))
///         }
///     }
/// }
/// ```
///
/// Nothing runs before a method is called, and nothing goes on after the service is released: its streams end, its
/// requests are taken off the wire. An idle service costs a few kilobytes and no thread, so a process may hold thousands.
public actor OperationsService {
    /// What a service can be given.
    public struct Configuration: Sendable {
        /// In which language the server presents operations. English by default.
        public var acceptLanguage = AcceptLanguage.english
        /// The interval of ``OperationsService/run()``: 7 s by default, 5 s at least.
        public var pollInterval: Duration = PollSchedule.defaultInterval
        /// The options of ``OperationsService/run()``. None by default.
        public var pollingOptions: PollingOptions = []
        /// The clock that polling waits on; the system's by default.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Numbers in 0..<1 that spread polls.
        package var random: @Sendable () -> Double = { .random(in: 0..<1) }

        /// Creates a configuration with the documented defaults.
        public init() {}
    }

    // MARK: State

    nonisolated let channel: any AuthenticatedChannel
    nonisolated let poller: Poller
    private nonisolated let changesBroadcast: Broadcast<ChangeBuffer>
    private nonisolated let eventsBroadcast: Broadcast<EventBuffer>
    private nonisolated let listFlight = SingleFlight<OperationList>()
    nonisolated let runPlan: Poller.Plan

    package internal(set) var list = OperationListState()
    /// What the server last said, to recognise that it says the same again.
    private var lastList: ServerList?
    private var refreshing: Task<Void, Never>?
    var polling: Task<Void, Never>?

    /// In which language the server presents operations.
    public private(set) var acceptLanguage: AcceptLanguage

    /// What came of the last fetch that ended; `nil` before the first. A cancelled fetch does not count.
    public private(set) var lastFetchResult: Result<OperationList, MobileTokenError>?

    // MARK: Life

    /// Creates the service of an activation. Nothing is sent yet.
    ///
    /// One service serves everybody in the process who works with the activation.
    public init(activation: Activation, configuration: Configuration = Configuration()) {
        self.init(channel: activation, configuration: configuration)
    }

    package init(channel: any AuthenticatedChannel, configuration: Configuration = Configuration()) {
        let poller = Poller(clock: configuration.clock, random: configuration.random)
        self.channel = channel
        self.poller = poller
        self.acceptLanguage = configuration.acceptLanguage
        self.runPlan = Poller.Plan(interval: configuration.pollInterval, options: configuration.pollingOptions)
        self.changesBroadcast = Broadcast(startingWith: ChangeBuffer()) { poller.setObserved($0) }
        self.eventsBroadcast = Broadcast(startingWith: EventBuffer()) { poller.setObserved($0) }
    }

    deinit {
        self.polling?.cancel()
        self.refreshing?.cancel()
        // Readers hold the broadcasts, so these would outlive the service without an end.
        self.changesBroadcast.finish()
        self.eventsBroadcast.finish()
    }

    /// The server's time, as far as it is known.
    public nonisolated var currentServerDate: Date { self.channel.serverDate }

    /// Sets the language of requests from now on.
    public func setAcceptLanguage(_ language: AcceptLanguage) {
        self.acceptLanguage = language
    }

    // MARK: The list

    /// How many callers share the fetch under way.
    package nonisolated var fetchWaiterCount: Int { self.listFlight.waiterCount }

    /// Whether a list is being fetched.
    public var isLoadingOperations: Bool { self.list.isFetching }

    /// Fetches the list of operations that wait for a decision.
    ///
    /// Callers that come while a list is on its way share it; the request ends when the last of them is cancelled.
    /// Parts that could not be read are in ``lastFetchResult``, as `issues`.
    ///
    /// - Throws: `MobileTokenError`, or `CancellationError`.
    @discardableResult
    public func operations() async throws -> [UserOperation] {
        try await self.fetch().operations
    }

    /// Starts fetching the list and returns at once; what comes of it is told to ``changes()`` and ``events()``.
    ///
    /// When a list is being fetched already, no second request is made.
    public func refresh() {
        guard self.refreshing == nil else { return }
        let fetch = self.fetch
        self.refreshing = Task { [weak self] in
            _ = try? await fetch()  // told to the streams
            await self?.refreshEnded()
        }
    }

    /// Starts fetching the list when any of these operations is still on it.
    func refresh(ifListing operations: [UserOperation]) {
        let ids = Set(operations.map(\.id))
        if self.list.operations.contains(where: { ids.contains($0.id) }) { self.refresh() }
    }

    private func refreshEnded() {
        self.refreshing = nil
    }

    /// The list's changes: first the whole list as added, then what is different from what the reader last saw.
    ///
    /// Each iteration is a subscription of its own. It does not keep the service alive.
    public nonisolated func changes() -> OperationListChanges {
        OperationListChanges(broadcast: self.changesBroadcast)
    }

    /// What the service does: loading, changes, failures.
    ///
    /// Each iteration is a subscription of its own. It does not keep the service alive.
    public nonisolated func events() -> OperationsEvents {
        OperationsEvents(broadcast: self.eventsBroadcast)
    }

    /// How many subscriptions there are to ``changes()`` and ``events()``.
    package nonisolated var subscriberCount: Int {
        self.changesBroadcast.subscriberCount + self.eventsBroadcast.subscriberCount
    }

    func publish(_ change: OperationListChange?) {
        let start = ChangeBuffer(list: self.list.operations)
        guard let change else { return self.changesBroadcast.start(with: start) }  // the order may have changed
        self.changesBroadcast.send(change, startingWith: start)
        self.publish(.changed(change))
        self.channel.observer?.operationListChanged(
            activationID: self.channel.activationID,
            count: change.operations.count,
            added: change.added.count,
            updated: change.updated.count,
            removed: change.removed.count
        )
    }

    private func publish(_ event: OperationsEvent) {
        let start = EventBuffer(list: self.list.operations, isLoading: self.list.isFetching)
        self.eventsBroadcast.send(event, startingWith: start)
    }
}

// MARK: - Fetching

extension OperationsService {
    /// A fetch under way.
    private struct Fetch: Sendable {
        let number: Int
        let language: String
        /// What the server said last.
        let last: ServerList?
        /// Whether that is also our list, so that nothing is to be done when the server says it again.
        let isLastOurs: Bool
    }

    /// Fetches the list, sharing one request with everybody who asks meanwhile. It does not keep the service alive.
    nonisolated var fetch: @Sendable () async throws -> OperationList {
        { [weak self, channel, listFlight] in
            try await listFlight.run { [weak self] in
                guard let fetch = await self?.fetchBegan() else { throw CancellationError() }
                do {
                    var time = channel.makeServerTimeProbe()
                    let answer = try await ServerCall.other.naming {
                        try await channel.post(
                            "/api/auth/token/app/operation/list",
                            body: RequestBody.empty,
                            authentication: .universalToken,
                            acceptLanguage: fetch.language
                        )
                    }
                    time?.answered()
                    if fetch.isLastOurs, let known = fetch.last?.repeated(by: answer) {
                        time?.learn(known.list.currentTimestamp)
                        await self?.fetchRepeated(known, fetch.number)
                        return known.list
                    }
                    let new = try ServerList(answer, after: fetch.last)
                    time?.learn(new.list.currentTimestamp)
                    await self?.fetched(new, fetch.number)
                    return new.list
                } catch {
                    await self?.fetchFailed(error, fetch.number)
                    throw error
                }
            }
        }
    }

    private func fetchBegan() -> Fetch {
        let wasFetching = self.list.isFetching
        let fetch = Fetch(
            number: self.list.fetchBegan(),
            language: self.acceptLanguage.description,
            last: self.lastList,
            isLastOurs: self.list.isAsFetched
        )
        if !wasFetching { self.publish(.loading(true)) }
        return fetch
    }

    private func fetched(_ new: ServerList, _ number: Int) {
        // A fetch that everybody left may have been followed by another, which then has the say.
        guard self.list.isCurrent(number) else { return }
        let change = self.list.fetched(new.list.operations, by: number, at: self.currentServerDate)
        self.lastList = new
        self.lastFetchResult = .success(new.list)
        self.publish(change)
        self.publish(.loading(false))
    }

    private func fetchRepeated(_ known: ServerList, _ number: Int) {
        guard self.list.isCurrent(number) else { return }
        self.list.fetchEnded(number)
        self.lastFetchResult = .success(known.list)
        self.publish(.loading(false))
    }

    private func fetchFailed(_ error: any Error, _ number: Int) {
        guard self.list.isCurrent(number) else { return }
        self.list.fetchEnded(number)
        if let error = error as? MobileTokenError {
            self.lastFetchResult = .failure(error)
            self.publish(.failed(error))
        }
        self.publish(.loading(false))
    }
}
