import Basics
import Coordination
import PowerAuth
import Synchronization

extension OperationsService {
    /// Waits until the server lists operations that are as told, and returns that list.
    ///
    /// Only lists count that were asked for after the call. The service is polled as long as the call waits: by the calling
    /// task where no other runner polls it, and early in any case. Failures that polling goes on after are waited out.
    ///
    /// ```swift
    /// let list = try await operations.waitForList(within: .seconds(60)) { list in
    ///     list.operations.contains { $0.name == "login" }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait, on the service's clock.
    ///   - interval: The time between polls where no other runner polls: 7 s by default, 5 s at least.
    ///   - isSatisfying: Returns whether a list is the one waited for.
    /// - Throws: ``MobileTokenError/Code/deadlinePassed`` when the limit is over, with the last failed poll as its cause; what
    ///   ends polling for good, as ``poll(every:delayStart:options:)`` tells; `CancellationError`.
    public func waitForList(
        within limit: Duration,
        pollingEvery interval: Duration = .seconds(7),
        where isSatisfying: @escaping @Sendable (OperationList) -> Bool
    ) async throws -> OperationList {
        try await self.watch(within: limit, pollingEvery: interval, for: "such a list") { list, _ in
            list.flatMap { isSatisfying($0) ? $0 : nil }
        }
    }

    /// Waits until an operation is off the list: decided here or elsewhere, canceled, or expired.
    ///
    /// ```swift
    /// switch try await operations.waitUntilDecided(payment.id, within: .seconds(300)) {
    /// case .authorized, .rejected: print("decided through this service")
    /// case .expired: print("too late")
    /// default: print("decided elsewhere")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: The operation. One that the server does not list when it is asked counts as decided elsewhere.
    ///   - limit: The longest time to wait, on the service's clock.
    ///   - interval: The time between polls where no other runner polls: 7 s by default, 5 s at least.
    /// - Returns: The reason for which the operation left the list.
    /// - Throws: as ``waitForList(within:pollingEvery:where:)``.
    @discardableResult
    public func waitUntilDecided(
        _ id: String,
        within limit: Duration,
        pollingEvery interval: Duration = .seconds(7)
    ) async throws -> OperationList.Change.RemovalReason {
        try await self.watch(within: limit, pollingEvery: interval, for: "a decision on the operation") { list, event in
            if case .changed(let change) = event,
                let removal = change.removed.first(where: { $0.operation.id.isExactly(id) })
            {
                return removal.reason
            }
            guard let list, !list.operations.contains(where: { $0.id.isExactly(id) }) else { return nil }
            return .disappeared
        }
    }

    /// Polls, and looks at every event and at the list as it is then.
    ///
    /// - Parameter look: Returns the result as soon as there is one. Gets no list before one was fetched that was asked for
    ///   after the call.
    private func watch<Result: Sendable>(
        within limit: Duration,
        pollingEvery interval: Duration,
        for event: String,
        _ look: @escaping @Sendable (OperationList?, OperationsService.Event) -> Result?
    ) async throws -> Result {
        let start = self.now
        // Subscribed before anything is fetched, so that no fetch ends unseen.
        let events = self.eventsBroadcast.subscribe()
        self.pollNow()
        let result = try await withDeadline(start + limit.bounded, on: self.poller.clock) {
            try await withThrowingTaskGroup(of: Result?.self) { group in
                defer { group.cancelAll() }
                group.addTask {
                    try await self.poll(every: interval)
                    throw CancellationError()
                }
                group.addTask { try await self.result(of: look, events, since: start) }
                return try await group.next() ?? nil
            }
        }
        if let result = result ?? nil { return result }
        throw MobileTokenError.deadlinePassed(waitingFor: event, after: limit, failure: self.lastFailure)
    }

    private func result<Result>(
        of look: (OperationList?, OperationsService.Event) -> Result?,
        _ events: Subscription<EventBuffer>,
        since start: Duration
    ) async throws -> Result {
        while let event = await events.next() {
            if let result = look(self.list(askedForSince: start, after: event), event) { return result }
        }
        throw self.endReason ?? CancellationError() as any Error
    }

    /// Returns the list, when a fetch has just ended that was asked for late enough.
    private func list(askedForSince start: Duration, after event: OperationsService.Event) -> OperationList? {
        guard case .loading(false) = event, let list = try? self.lastFetchResult?.get(), let age = list.age,
            self.now - age >= start
        else { return nil }
        return list
    }

    private var lastFailure: MobileTokenError? {
        if case .failure(let error) = self.lastFetchResult { error } else { nil }
    }
}
