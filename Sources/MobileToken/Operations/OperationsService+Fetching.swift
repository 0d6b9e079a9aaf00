import Coordination
import PowerAuth

extension OperationsService {
    /// A subscription to a fetch. Waiting on it does not keep the service alive.
    struct Wait: Sendable {
        let task: SharedTask<Void>
        let subscription: SharedTask<Void>.Subscription

        func wait() async throws { try await self.task.value(for: self.subscription) }
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
        try await self.join().wait()
        return self.list
    }

    /// Starts fetching the list and returns at once; the outcome goes to ``changes()`` and ``events()``.
    ///
    /// When a list is being fetched already, no second request is made.
    public func refresh() {
        if self.state.isFetching, let task = self.fetching, task.detach() { return }
        let task = SharedTask<Void>()
        _ = task.detach()  // a new one can be detached
        self.beginFetch(task)
    }

    /// Fetches a list that is newer than this call: after the one that is on its way, if there is one.
    func refreshAfterEvent() {
        if self.state.needsNewerList() { self.refresh() }
    }

    /// Starts fetching the list when any of these operations is still on it, unless the server asked to be left alone.
    func refresh(ifListing ids: Set<String>) {
        guard !self.state.isAskedToWait(at: self.now) else { return }
        if self.state.operations.contains(where: { ids.contains($0.id) }) { self.refresh() }
    }

    /// Joins the fetch under way, or a new one.
    func join() -> Wait {
        if self.state.isFetching, let task = self.fetching, let subscription = task.join() {
            return Wait(task: task, subscription: subscription)
        }
        let (task, subscription) = SharedTask<Void>.makeJoined()
        self.beginFetch(task)
        return Wait(task: task, subscription: subscription)
    }

    // MARK: One fetch

    /// Begins a fetch, which supersedes one that every caller left.
    ///
    /// The list knows of it before its task exists, so a task that begins late takes no successor's place.
    private func beginFetch(_ task: SharedTask<Void>) {
        let wasFetching = self.state.isFetching
        let fetch = Fetch(
            number: self.state.beginFetch(at: self.now),
            language: self.acceptLanguage.description,
            last: self.state.server,
            isDoneWhenRepeated: self.state.isDoneWhenRepeated
        )
        self.fetching = task
        task.start { [weak self, channel] in
            do {
                var time = channel.evidence?.source.makeServerTimeProbe()
                let response = try await ServerCall.other.post(
                    "/api/auth/token/app/operation/list",
                    body: RequestBody.empty,
                    on: channel,
                    language: fetch.language
                )
                time?.recordResponse()
                if fetch.isDoneWhenRepeated, let known = fetch.last?.repeated(by: response) {
                    time?.record(known.list.currentTimestamp)
                    await self?.applyUnchanged(known, by: fetch.number)
                } else {
                    let new = try ServerList(response)
                    time?.record(new.list.currentTimestamp)
                    await self?.apply(new, by: fetch.number)
                }
            } catch {
                await self?.fetchFailed(error, fetch.number)
                throw error
            }
        }
        if !wasFetching { self.publish(.loading(true)) }
    }

    private func apply(_ new: ServerList, by number: Int) {
        guard self.state.isCurrent(number) else { return }
        let (change, isOutdated) = self.state.apply(new, by: number, at: self.channel.serverDate)
        self.streamsGoOn(isWell: true)
        self.publish(change)
        self.endFetch(isOutdated: isOutdated)
        self.update { $0.recordPoll(at: $1) }
    }

    private func applyUnchanged(_ known: ServerList, by number: Int) {
        guard self.state.isCurrent(number) else { return }
        let isOutdated = self.state.applyUnchanged(known, by: number)
        self.streamsGoOn(isWell: true)
        self.endFetch(isOutdated: isOutdated)
        self.update { $0.recordPoll(at: $1) }
    }

    private func fetchFailed(_ error: any Error, _ number: Int) {
        guard self.state.isCurrent(number) else { return }
        let error = error as? MobileTokenError
        let isOutdated = self.state.endFetch(number, error, at: self.now)
        if let error { self.publish(.failed(error)) }
        let isFinal = error.flatMap { OperationsFleet.ActivationState.Phase(endingWith: $0) } != nil
        self.endFetch(isOutdated: isOutdated && !isFinal)
        if let error { self.update { $0.recordFailure(error, at: $1) } }
    }

    private func endFetch(isOutdated: Bool) {
        self.fetching = nil
        self.publish(.loading(false))
        if isOutdated { self.refresh() }
    }
}
