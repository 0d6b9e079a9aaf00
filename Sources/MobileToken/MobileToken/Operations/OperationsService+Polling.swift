import Coordination
import PowerAuth
import Synchronization

extension OperationsService {
    /// Fetches the list at an interval until the calling task is canceled, and then returns.
    ///
    /// A failed fetch goes to
    /// ``events()`` and leaves the list unchanged. The next attempt waits at least the interval, doubled after each further failure up to 30 s, and as long as the server's `Retry-After`
    /// asks, up to 15 minutes. Polls that fall due while a request is in flight are skipped. Intervals vary by ±5 %.
    ///
    /// Concurrent callers make no more requests: the first caller's interval applies until all have ended.
    ///
    /// While the activation is blocked or not committed, its status is requested instead of the list, every 30 s for a blocked
    /// one. After a refusal the status is requested once; polling continues unless the status forbids it.
    ///
    /// - Parameters:
    ///   - interval: At least 5 s; a shorter interval is raised, and the observer is notified.
    ///   - delayStart: `true` delays the first fetch by one interval.
    ///   - options: Further behavior, such as pausing while no subscriber reads.
    /// - Throws: `MobileTokenError` if no later poll can succeed: `unknownActivation` (removed here), `activationRemoved` (on the
    ///   server), `deadlock` or `stateRolledBack`, or if the store is unusable, such as `storeCorrupted`. Every polling caller
    ///   gets it, ``isPolling`` is `false` by then, and ``changes()`` and ``events()`` end with ``endReason`` set to it.
    public func poll(
        every interval: Duration = .seconds(7),
        delayStart: Bool = false,
        options: OperationsService.PollingOptions = []
    ) async throws {
        try await self.poll(PollingState.Plan(interval: interval, delayStart: delayStart, options: options))
    }

    /// Polls with the configuration's settings until the calling task is canceled, for service runners.
    ///
    /// - Throws: as ``poll(every:delayStart:options:)``.
    public func run() async throws {
        try await cancelingAtShutdown { try await self.poll(self.runPlan) }
    }

    /// Polls in the service's own task until ``stopPolling()``, the service's release, or an error that ``endReason`` then has.
    ///
    /// Has no effect while it already polls: the first interval applies. Parameters and errors are those of
    /// ``poll(every:delayStart:options:)``; prefer that method if the caller has a task.
    public func startPolling(
        every interval: Duration = .seconds(7),
        delayStart: Bool = false,
        options: OperationsService.PollingOptions = []
    ) {
        // The poller knows whether the last runner is active. Its task may end later, which no longer matters.
        if let polling, self.poller.isActive(polling.runner) { return }
        let runner = self.enter(PollingState.Plan(interval: interval, delayStart: delayStart, options: options))
        self.polling = (
            runner,
            Task { [poller, send] in _ = await poller.run(runner, send: send) }
        )
    }

    /// Ends the polling of ``startPolling(every:delayStart:options:)`` and its request. ``poll(every:delayStart:options:)`` ends
    /// with its task instead.
    public func stopPolling() {
        guard let polling = self.polling.take() else { return }
        self.poller.leave(polling.runner)
        polling.task.cancel()
    }

    /// Indicates whether the list is polled, however it was started, even if paused.
    public nonisolated var isPolling: Bool { self.poller.isRunning }

    /// Indicates whether polling is paused for lack of subscribers.
    package nonisolated var isPollingPaused: Bool { self.poller.isPaused }

    /// Requests a poll as soon as 5 s have passed since the last one and `Retry-After` and the backoff allow it.
    ///
    /// During a poll, another one follows, because the first list may miss what the caller knows of. Has no effect without a
    /// runner; ``refresh()`` fetches at once.
    package nonisolated func pollNow() { self.poller.pollSoon() }

    /// Fetches the list because of an event: early like `pollNow()` with a runner, otherwise at once like ``refresh()``.
    package nonisolated func fetchSoon() {
        guard !self.poller.pollSoon(), !self.isFetchingSoon.exchange(true, ordering: .relaxed) else { return }
        // One short task per flood of events, only to reach the actor; the service owns what it starts there.
        Task { [weak self] in await self?.refreshAfterEvent() }
    }

    /// The number of callers that poll or stand by.
    package nonisolated var pollingCallerCount: Int { self.poller.runnerCount }

    // MARK: Running

    private func poll(_ plan: PollingState.Plan) async throws {
        if let error = await self.poller.run(self.enter(plan), send: self.send) { throw error }
    }

    private func enter(_ plan: PollingState.Plan) -> PollingState.Runner {
        self.streamsGoOn()
        self.warnIfRaised(plan)
        return self.poller.enter(plan)
    }

    private func warnIfRaised(_ plan: PollingState.Plan) {
        guard plan.interval < PollSchedule.minimumInterval else { return }
        self.channel.observer?.pollIntervalRaised(
            activationID: self.channel.activationID,
            requested: plan.interval,
            used: PollSchedule.minimumInterval
        )
    }

    // MARK: Requests

    /// Sends a request of the polling. It does not keep the service alive.
    private nonisolated var send: @Sendable (PollingState.Request) async -> Void {
        { [weak self, channel, poller] request in
            try? await Self.send(request, on: channel, for: poller) { self }
        }
    }

    /// Sends a request for a fleet that steps the ``poller`` and handles the error.
    package nonisolated func send(_ request: PollingState.Request) async throws {
        try await Self.send(request, on: self.channel, for: self.poller) { self }
    }

    private static func send(
        _ request: PollingState.Request,
        on channel: any AuthenticatedChannel,
        for poller: Poller,
        _ service: () -> OperationsService?
    ) async throws {
        switch request {
        case .poll(let lag):
            channel.observer?.pollStarted(MobileTokenObservation.Poll(activationID: channel.activationID, lag: lag))
            do {
                try await channel.withSpan("mobile_token.poll") {
                    guard let wait = await service()?.join() else { throw CancellationError() }
                    try await wait.wait()
                }
                poller.record(.succeeded)
            } catch {
                poller.record(.failed(retryAfter: (error as? MobileTokenError)?.retryAfter))
                throw error
            }
        case .status(let maySign):
            guard let evidence = channel.evidence?.source else { return }
            do {
                let status = maySign ? try await evidence.status() : try await evidence.unsignedStatus()
                await service()?.update { $0.recordStatus(status.state, status.counter.result, at: $1) }
            } catch let error as MobileTokenError {
                if let wait = error.retryAfter { poller.wait(wait) }
                await service()?.handleStatusFailure(error)
                throw error
            }
        }
    }

    private func handleStatusFailure(_ error: MobileTokenError) {
        self.publish(.failed(error))
        self.update { $0.recordStatusFailure(error, at: $1) }
    }

    /// Updates the condition after a request. If no later request can succeed, polling and streams end together, so that no
    /// subscriber sees one without the other.
    package func update(_ change: @Sendable (inout ActivationCondition, Duration) -> Void) {
        if let reason = self.poller.update(change) { self.endStreams(for: reason) }
    }
}
