import PowerAuth

extension OperationsService {
    /// Fetches the list at an interval until the calling task is cancelled, and then returns.
    ///
    /// A failed fetch goes to ``events()``, the list stays, and the next attempt waits: at least the interval, twice as long
    /// after each further failure up to 30 s, and as long as the server asks for with `Retry-After`. An answer that takes
    /// longer than the interval makes polls fall out; they never pile up. Intervals vary by a twentieth either way.
    ///
    /// Polling twice at once makes no more requests: the first one's interval holds until all have ended.
    ///
    /// - Parameters:
    ///   - interval: 5 s at least; a shorter one is raised, which the observer is told.
    ///   - delayStart: Whether the first fetch waits for one interval.
    ///   - options: What else the polling does, such as pausing while nobody is subscribed.
    /// - Throws: `MobileTokenError` when polling makes no sense any more, because the activation was removed here.
    public func poll(
        every interval: Duration = .seconds(7),
        delayStart: Bool = false,
        options: PollingOptions = []
    ) async throws {
        try await self.poll(Poller.Plan(interval: interval, delayStart: delayStart, options: options))
    }

    /// Polls as the configuration says, until the calling task is cancelled: the form that service runners ask for.
    ///
    /// - Throws: as ``poll(every:delayStart:options:)``.
    public func run() async throws {
        try await self.poll(self.runPlan)
    }

    /// Polls in a task of the service's own, until ``stopPolling()`` is called or the service is released.
    ///
    /// Does nothing when that is under way already: the first interval is kept. Parameters are those of
    /// ``poll(every:delayStart:options:)``, which is better where a caller's task can lend itself.
    public func startPolling(
        every interval: Duration = .seconds(7),
        delayStart: Bool = false,
        options: PollingOptions = []
    ) {
        guard self.polling == nil else { return }
        let plan = Poller.Plan(interval: interval, delayStart: delayStart, options: options)
        self.warnIfRaised(plan)
        self.polling = Task { [weak self, poller, pollOnce] in
            // Cancelled, it was forgotten already, and another may have taken its place.
            if await poller.run(plan, poll: pollOnce) != nil { await self?.pollingEnded() }
        }
    }

    /// Ends what ``startPolling(every:delayStart:options:)`` began, and its request. ``poll(every:delayStart:options:)`` ends
    /// with its task instead.
    public func stopPolling() {
        self.polling?.cancel()
        self.polling = nil
    }

    /// Whether the list is polled, in whatever way it was started and paused or not.
    public nonisolated var isPolling: Bool { self.poller.isRunning }

    /// Whether polling is held back, by ``pausePolling()`` or for want of readers.
    public nonisolated var isPollingPaused: Bool { self.poller.isPaused }

    /// Holds polling back. A request under way still ends well.
    public nonisolated func pausePolling() { self.poller.pause() }

    /// Goes on polling. A poll that fell due meanwhile happens at once.
    public nonisolated func resumePolling() { self.poller.resume() }

    /// Asks for a poll as soon as the last one is 5 s old and the server's `Retry-After` is over.
    ///
    /// Does nothing while nobody polls.
    public nonisolated func pollNow() { self.poller.poke() }

    /// Takes a push message as a hint: when it is about an operation, polls early, as ``pollNow()`` does.
    public nonisolated func handle(_ push: PushPayload) {
        switch push {
        case .operationCreated, .operationFinished: self.pollNow()
        case .inboxMessageReceived: break
        }
    }

    /// How many callers poll or stand by.
    package nonisolated var pollingCallerCount: Int { self.poller.runnerCount }

    private func poll(_ plan: Poller.Plan) async throws {
        self.warnIfRaised(plan)
        if let error = await self.poller.run(plan, poll: self.pollOnce) { throw error }
    }

    private func pollingEnded() {
        self.polling = nil
    }

    private func warnIfRaised(_ plan: Poller.Plan) {
        guard plan.interval < PollSchedule.minimumInterval else { return }
        self.channel.observer?.pollIntervalRaised(
            activationID: self.channel.activationID,
            requested: plan.interval,
            used: PollSchedule.minimumInterval
        )
    }

    /// One poll. It does not keep the service alive.
    private nonisolated var pollOnce: @Sendable (_ lag: Duration) async -> Poller.Outcome {
        { [channel, fetch] lag in
            channel.observer?.pollStarted(activationID: channel.activationID, lag: lag)
            do {
                _ = try await fetch()
                return .succeeded
            } catch let error as MobileTokenError {
                return error.code == .unknownActivation ? .ended(error) : .failed(retryAfter: error.retryAfter)
            } catch {
                return .failed(retryAfter: nil)
            }
        }
    }
}
