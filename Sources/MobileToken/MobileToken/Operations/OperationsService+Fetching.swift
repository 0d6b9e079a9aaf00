import Coordination
import PowerAuth
import Synchronization

extension OperationsService {
    /// A subscription to a fetch. It does not keep the service alive.
    struct Wait: Sendable {
        let task: SharedTask<Void>
        let subscription: SharedTask<Void>.Subscription

        func wait() async throws { try await self.task.value(for: self.subscription) }
    }

    /// The service state that a fetch needs while in progress.
    private struct Fetch: Sendable {
        let number: Int
        let language: String
        let last: ServerList?
        /// Indicates whether a repeated response needs no work.
        let isDoneWhenRepeated: Bool
    }

    // MARK: Asking

    /// Fetches the list of operations that wait for a decision.
    ///
    /// Concurrent callers share one request, which is canceled when the last of them is. A call after the end of a fetch always
    /// makes a request, whatever polling waits for.
    ///
    /// The result is the merged list, as in ``list``: without operations decided here during the fetch. ``list`` has
    /// its decoding issues as well.
    ///
    /// - Throws: `MobileTokenError`, or `CancellationError`.
    @discardableResult
    public func operations() async throws -> [UserOperation] {
        try await self.fetchList().operations
    }

    /// Fetches the list as ``operations()`` does, and returns it with its issues and its date.
    ///
    /// - Throws: `MobileTokenError`, or `CancellationError`.
    package func fetchList() async throws -> OperationList {
        try Task.checkCancellation()
        try await self.join().wait()
        return self.list
    }

    /// Starts a fetch and returns at once; the outcome goes to ``changes()`` and ``events()``.
    ///
    /// If a fetch is in progress, no second request is made.
    public func refresh() {
        if self.state.isFetching, let task = self.fetching, task.detach() { return }
        let task = SharedTask<Void>()
        _ = task.detach()  // a new one can be detached
        self.beginFetch(task)
    }

    /// Fetches a list newer than this call: after the fetch in progress, if any.
    func refreshAfterEvent() {
        // A later event may concern something newer.
        self.isFetchingSoon.store(false, ordering: .relaxed)
        if self.change({ $0.needsNewerList() }) { self.refresh() }
    }

    /// Starts a fetch if any of these operations is still listed, unless the server asked for a pause.
    package func refresh(ifListing ids: Set<String>) {
        guard !self.state.isAskedToWait(at: self.now), !self.poller.isAskedToWait else { return }
        if self.state.operations.contains(where: { ids.contains($0.id) }) { self.refresh() }
    }

    /// Joins the fetch in progress, or starts one.
    func join() -> Wait {
        if self.state.isFetching, let task = self.fetching, let subscription = task.join() {
            return Wait(task: task, subscription: subscription)
        }
        let (task, subscription) = SharedTask<Void>.makeJoined()
        self.beginFetch(task)
        return Wait(task: task, subscription: subscription)
    }

    // MARK: One fetch

    /// Starts a fetch, which supersedes one that has no callers left.
    ///
    /// The list records the fetch before its task exists, so a task that starts late cannot displace its successor.
    private func beginFetch(_ task: SharedTask<Void>) {
        let wasFetching = self.state.isFetching
        let fetch = Fetch(
            number: self.change { $0.beginFetch(at: self.now) },
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
                    body: OperationRequest.empty,
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
        let unreadable = self.state.unreadable
        let (change, isOutdated) = self.change { $0.apply(new, by: number, at: self.channel.serverDate) }
        self.streamsGoOn(isWell: true)
        self.publish(change)
        if new.list.unreadable != unreadable { self.publish(.unreadable(new.list.unreadable)) }
        self.endFetch(isOutdated: isOutdated)
        self.update { $0.recordPoll(at: $1, unreadable: new.list.unreadable.count) }
    }

    private func applyUnchanged(_ known: ServerList, by number: Int) {
        guard self.state.isCurrent(number) else { return }
        let isOutdated = self.change { $0.applyUnchanged(known, by: number) }
        self.streamsGoOn(isWell: true)
        self.endFetch(isOutdated: isOutdated)
        self.update { $0.recordPoll(at: $1, unreadable: known.list.unreadable.count) }
    }

    private func fetchFailed(_ error: any Error, _ number: Int) {
        guard self.state.isCurrent(number) else { return }
        let error = error as? MobileTokenError
        let isOutdated = self.change { $0.endFetch(number, error, at: self.now) }
        if let error { self.publish(.failed(error)) }
        // A poll tells its schedule by itself; a fetch by hand, or after an expiry, does not.
        if let wait = error?.retryAfter { self.poller.wait(wait) }
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
