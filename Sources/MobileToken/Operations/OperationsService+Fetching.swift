import Coordination
import PowerAuth

extension OperationsService {
    /// A seat on a fetch. Waiting on it does not keep the service alive.
    struct Passage: Sendable {
        let flight: Flight<Void>
        let seat: Flight<Void>.Seat

        func wait() async throws { try await self.flight.value(for: self.seat) }
    }

    /// The state of the service that a fetch needs while it is under way.
    private struct Fetch: Sendable {
        let number: Int
        let language: String
        /// The server's last list.
        let last: ServerList?
        /// Indicates whether the list is the server's already when the response says the same again.
        let isDoneWhenRepeated: Bool
    }

    // MARK: Asking

    /// Fetches the list of operations that wait for a decision.
    ///
    /// Callers that come while a list is on its way share it; the request ends when the last of them is canceled. A call that
    /// is made after the fetch ended always makes a request, whatever polling waits for.
    ///
    /// The result is the merged list, as ``list`` tells it: an operation that was decided here while the list was on its
    /// way is not in it. To have the parts that could not be read as well, call ``fetchList()``.
    ///
    /// - Throws: `MobileTokenError`, or `CancellationError`.
    @discardableResult
    public func operations() async throws -> [UserOperation] {
        try await self.fetchList().operations
    }

    /// Fetches the list as ``operations()`` does, and returns it with its issues and its date.
    ///
    /// - Throws: `MobileTokenError`, or `CancellationError`.
    public func fetchList() async throws -> OperationList {
        try Task.checkCancellation()
        try await self.board().wait()
        return self.list
    }

    /// Starts fetching the list and returns at once; the outcome goes to ``changes()`` and ``events()``.
    ///
    /// When a list is being fetched already, no second request is made.
    public func refresh() {
        if self.state.isFetching, let flight = self.flight, flight.keep() { return }
        let flight = Flight<Void>()
        _ = flight.keep()  // a new one can be kept
        self.beginFetch(flight)
    }

    /// Fetches a list that is newer than this call: after the one that is on its way, if there is one.
    func refreshAfterNews() {
        if self.state.needsNewerList() { self.refresh() }
    }

    /// Starts fetching the list when any of these operations is still on it, unless the server asked to be left alone.
    func refresh(ifListing ids: Set<String>) {
        guard !self.state.isAskedToWait(at: self.now) else { return }
        if self.state.operations.contains(where: { ids.contains($0.id) }) { self.refresh() }
    }

    /// Takes a seat on the fetch under way, or on a new one.
    func board() -> Passage {
        if self.state.isFetching, let flight = self.flight, let seat = flight.board() {
            return Passage(flight: flight, seat: seat)
        }
        let (flight, seat) = Flight<Void>.boarded()
        self.beginFetch(flight)
        return Passage(flight: flight, seat: seat)
    }

    // MARK: One fetch

    /// Begins a fetch, which supersedes one that every caller left.
    ///
    /// The list knows of it before its task exists, so a task that begins late takes no successor's place.
    private func beginFetch(_ flight: Flight<Void>) {
        let wasFetching = self.state.isFetching
        let fetch = Fetch(
            number: self.state.fetchBegan(at: self.now),
            language: self.acceptLanguage.description,
            last: self.state.server,
            isDoneWhenRepeated: self.state.isDoneWhenRepeated
        )
        self.flight = flight
        flight.start { [weak self, channel] in
            do {
                var time = channel.evidence?.source.makeServerTimeProbe()
                let response = try await Self.request(fetch, on: channel)
                time?.answered()
                if fetch.isDoneWhenRepeated, let known = fetch.last?.repeated(by: response) {
                    time?.learn(known.list.currentTimestamp)
                    await self?.fetchedAgain(known, by: fetch.number)
                } else {
                    let new = try ServerList(response)
                    time?.learn(new.list.currentTimestamp)
                    await self?.fetched(new, by: fetch.number)
                }
            } catch {
                await self?.fetchFailed(error, fetch.number)
                throw error
            }
        }
        if !wasFetching { self.publish(.loading(true)) }
    }

    private static func request(_ fetch: Fetch, on channel: any AuthenticatedChannel) async throws -> ChannelResponse {
        try await ServerCall.other.mappingErrors {
            try await channel.post(
                "/api/auth/token/app/operation/list",
                body: RequestBody.empty,
                authentication: .universalToken,
                acceptLanguage: fetch.language,
                decision: nil
            )
        }
    }

    private func fetched(_ new: ServerList, by number: Int) {
        guard self.state.isCurrent(number) else { return }
        let (change, isOutdated) = self.state.fetched(new, by: number, at: self.channel.serverDate)
        self.streamsGoOn(isWell: true)
        self.publish(change)
        self.fetchEnded(isOutdated: isOutdated)
        self.update { $0.recordPoll(at: $1) }
    }

    private func fetchedAgain(_ known: ServerList, by number: Int) {
        guard self.state.isCurrent(number) else { return }
        let isOutdated = self.state.fetchedAgain(known, by: number)
        self.streamsGoOn(isWell: true)
        self.fetchEnded(isOutdated: isOutdated)
        self.update { $0.recordPoll(at: $1) }
    }

    private func fetchFailed(_ error: any Error, _ number: Int) {
        guard self.state.isCurrent(number) else { return }
        let error = error as? MobileTokenError
        let isOutdated = self.state.fetchEnded(number, error, at: self.now)
        if let error { self.publish(.failed(error)) }
        let isFinal = error.flatMap { FleetActivationState.Phase(endingWith: $0) } != nil
        self.fetchEnded(isOutdated: isOutdated && !isFinal)
        if let error { self.update { $0.recordFailure(error, at: $1) } }
    }

    private func fetchEnded(isOutdated: Bool) {
        self.flight = nil
        self.publish(.loading(false))
        if isOutdated { self.refresh() }
    }
}
