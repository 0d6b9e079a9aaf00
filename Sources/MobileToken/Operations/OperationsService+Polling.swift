import PowerAuth

extension OperationsService {
    /// Fetches the list at an interval until the calling task is canceled, and then returns.
    ///
    /// A failed fetch goes to ``events()``, the list stays, and the next attempt waits: at least the interval, twice as long
    /// after each further failure up to 30 s, and as long as the server asks for with `Retry-After`, up to 15 minutes. Polls
    /// that fall due while a request is in flight are skipped. Intervals vary by a twentieth either way.
    ///
    /// Polling twice at once makes no more requests: the first one's interval holds until all have ended.
    ///
    /// While the activation is blocked or not committed, its status is asked for in the place of the list, for a blocked one every
    /// 30 s. After a refusal the status is asked for once, and polling goes on unless that shows why it should not.
    ///
    /// - Parameters:
    ///   - interval: 5 s at least; a shorter one is raised, which the observer is told.
    ///   - delayStart: `true` lets the first fetch wait for one interval.
    ///   - options: Further behavior of the polling, such as pausing while no subscriber reads.
    /// - Throws: `MobileTokenError` when no later poll can fare better: `unknownActivation` (removed here), `activationRemoved`
    ///   (on the server), `deadlock` or `stateRolledBack`, or when the store cannot be used, such as `storeCorrupted`. Every
    ///   caller that polls gets it, ``isPolling`` is `false` by then, and ``changes()`` and ``events()`` end with ``endReason``
    ///   set to it.
    public func poll(
        every interval: Duration = .seconds(7),
        delayStart: Bool = false,
        options: OperationsService.PollingOptions = []
    ) async throws {
        try await self.poll(Following.Plan(interval: interval, delayStart: delayStart, options: options))
    }

    /// Polls as the configuration says, until the calling task is canceled: the form that service runners ask for.
    ///
    /// - Throws: as ``poll(every:delayStart:options:)``.
    public func run() async throws {
        try await self.poll(self.runPlan)
    }

    /// Polls in a task of the service's own, until ``stopPolling()`` is called, the service is released, or polling ends for
    /// one of the reasons that ``poll(every:delayStart:options:)`` throws, which ``endReason`` tells.
    ///
    /// Does nothing when that is under way already: the first interval is kept. Parameters are those of
    /// ``poll(every:delayStart:options:)``, which is better where a caller's task can lend itself.
    public func startPolling(
        every interval: Duration = .seconds(7),
        delayStart: Bool = false,
        options: OperationsService.PollingOptions = []
    ) {
        // The poller knows whether the last one still runs; its task may end later, and concerns no caller then.
        if let polling, self.poller.isActive(polling.runner) { return }
        let runner = self.enter(Following.Plan(interval: interval, delayStart: delayStart, options: options))
        self.polling = (
            runner,
            Task { [poller, send] in _ = await poller.run(runner, send: send) }
        )
    }

    /// Ends what ``startPolling(every:delayStart:options:)`` began, and its request. ``poll(every:delayStart:options:)`` ends
    /// with its task instead.
    public func stopPolling() {
        guard let polling = self.polling.take() else { return }
        self.poller.leave(polling.runner)
        polling.task.cancel()
    }

    /// Indicates whether the list is polled, in whatever way it was started and paused or not.
    public nonisolated var isPolling: Bool { self.poller.isRunning }

    /// Indicates whether polling is held back, by ``pausePolling()`` or because nobody is subscribed.
    public nonisolated var isPollingPaused: Bool { self.poller.isPaused }

    /// Holds polling back until ``resumePolling()``, also polling that is started later. A request in flight still ends well.
    public nonisolated func pausePolling() { self.poller.pause() }

    /// Goes on polling. A poll that fell due meanwhile happens at once.
    public nonisolated func resumePolling() { self.poller.resume() }

    /// Asks for a poll as soon as the last one is 5 s old and the server's `Retry-After` and the backoff after failures are
    /// over.
    ///
    /// When a poll is under way, another one follows it, for its list may be too early to show what the caller knows of. Does
    /// nothing while no runner polls; ``refresh()`` asks at once, whatever polling waits for.
    public nonisolated func pollNow() { self.poller.pollSoon() }

    /// Takes a push message as a hint to look at the list: when it is about an operation, or about this activation.
    ///
    /// Polls early, as ``pollNow()`` does, and where no runner polls fetches the list at once, as ``refresh()`` does. A
    /// message that comes while a list is being fetched has another fetch follow.
    public nonisolated func handle(_ push: PushPayload) {
        switch push {
        case .operationCreated, .operationFinished: break
        case .activationStatusChanged(let id) where id == self.channel.activationID: break
        case .activationStatusChanged, .inboxMessageReceived: return
        }
        self.fetchSoon()
    }

    /// Takes a callback of the server as a hint to look at the list, whatever operation it names: it may be anybody's.
    ///
    /// Polls early, as ``pollNow()`` does, and where no runner polls fetches the list at once, as ``refresh()`` does. So
    /// callbacks, even a flood of them, make no more than a poll every 5 seconds beside a runner.
    public nonisolated func handle(_ callback: OperationCallback) { self.fetchSoon() }

    private nonisolated func fetchSoon() {
        guard !self.poller.pollSoon() else { return }
        // Only to get onto the actor; what it starts there is the service's.
        Task { [weak self] in await self?.refreshAfterEvent() }
    }

    /// The number of callers that poll or stand by.
    package nonisolated var pollingCallerCount: Int { self.poller.runnerCount }

    // MARK: Running

    private func poll(_ plan: Following.Plan) async throws {
        if let error = await self.poller.run(self.enter(plan), send: self.send) { throw error }
    }

    private func enter(_ plan: Following.Plan) -> Following.Runner {
        self.streamsGoOn()
        self.warnIfRaised(plan)
        return self.poller.enter(plan)
    }

    private func warnIfRaised(_ plan: Following.Plan) {
        guard plan.interval < PollSchedule.minimumInterval else { return }
        self.channel.observer?.pollIntervalRaised(
            activationID: self.channel.activationID,
            requested: plan.interval,
            used: PollSchedule.minimumInterval
        )
    }

    // MARK: Requests

    /// Sends a request of the polling. It does not keep the service alive.
    private nonisolated var send: @Sendable (Following.Request) async -> Void {
        { [weak self, channel, poller] request in
            try? await Self.send(request, on: channel, for: poller) { self }
        }
    }

    /// Sends a request for a fleet that steps the ``poller``, and is told of the failure.
    package nonisolated func send(_ request: Following.Request) async throws {
        try await Self.send(request, on: self.channel, for: self.poller) { self }
    }

    private static func send(
        _ request: Following.Request,
        on channel: any AuthenticatedChannel,
        for poller: Poller,
        _ service: () -> OperationsService?
    ) async throws {
        switch request {
        case .poll(let lag):
            channel.observer?.pollStarted(Observed.Poll(activationID: channel.activationID, lag: lag))
            do {
                guard let wait = await service()?.join() else { throw CancellationError() }
                try await wait.wait()
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
                await service()?.handleStatusFailure(error)
                throw error
            }
        }
    }

    private func handleStatusFailure(_ error: MobileTokenError) {
        self.publish(.failed(error))
        self.update { $0.recordStatusFailure(error, at: $1) }
    }

    /// Changes the condition by what a request has shown. When no later request can fare better, polling and the streams end
    /// together, so that no subscriber sees one without the other.
    package func update(_ change: @Sendable (inout ActivationCondition, Duration) -> Void) {
        if let reason = self.poller.update(change) { self.endStreams(for: reason) }
    }
}
