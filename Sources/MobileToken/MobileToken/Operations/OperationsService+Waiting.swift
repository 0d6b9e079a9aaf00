import Basics
import Coordination
import PowerAuthClient

extension OperationsService {
    /// Waits until the server's list satisfies a condition, and returns that list.
    ///
    /// Only lists requested after the call count. The service polls during the call: in the calling task if there is no other
    /// runner, and early in either case. Temporary failures are waited out.
    ///
    /// ```swift
    /// let list = try await operations.waitForList(within: .seconds(60)) { list in
    ///     list.operations.contains { $0.name == "login" }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The longest time to wait, on the service's clock.
    ///   - interval: The time between polls if there is no other runner: 7 s by default, at least 5 s.
    ///   - isSatisfying: Returns whether the list satisfies the condition.
    /// - Throws:
    ///   ``MobileTokenError/Code/deadlinePassed`` after `limit`, with the last failed poll as its cause; an error that ends polling, as in ``poll(every:delayStart:options:)``; `CancellationError`.
    public func waitForList(
        within limit: Duration,
        pollingEvery interval: Duration = .seconds(7),
        where isSatisfying: @escaping @Sendable (OperationList) -> Bool
    ) async throws -> OperationList {
        try await self.watch(within: limit, pollingEvery: interval, for: "such a list") { list, _ in
            list.flatMap { isSatisfying($0) ? $0 : nil }
        }
    }

    /// Waits until an operation leaves the list: decided here or elsewhere, canceled, or expired.
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
    ///   - id: The operation. If the server does not list it when asked, it counts as decided elsewhere.
    ///   - limit: The longest time to wait, on the service's clock.
    ///   - interval: The time between polls if there is no other runner: 7 s by default, at least 5 s.
    /// - Returns: The reason for the removal.
    /// - Throws: as ``waitForList(within:pollingEvery:where:)``; ``MobileTokenError/Code/invalidResponse`` at once if the
    ///   operation is listed but unreadable.
    @discardableResult
    public func waitUntilDecided(
        _ id: String,
        within limit: Duration,
        pollingEvery interval: Duration = .seconds(7)
    ) async throws -> OperationList.Change.RemovalReason {
        try await self.watch(within: limit, pollingEvery: interval, for: "a decision on the operation") { list, event in
            if let operation = list?.unreadable.first(where: { $0.id?.isExactly(id) == true }) {
                throw MobileTokenError.unreadableResponse(
                    "The operation is listed and cannot be read: \(operation.issue)"
                )
            }
            if case .changed(let change) = event,
                let removal = change.removed.first(where: { $0.operation.id.isExactly(id) }),
                removal.reason != .unreadable
            {
                return removal.reason
            }
            guard let list, !list.operations.contains(where: { $0.id.isExactly(id) }) else { return nil }
            return .disappeared
        }
    }

    /// Polls, and checks every event with the current list.
    ///
    /// - Parameter look: Returns the result as soon as there is one. Gets no list until one requested after the call was fetched.
    private func watch<Result: Sendable>(
        within limit: Duration,
        pollingEvery interval: Duration,
        for event: String,
        _ look: @escaping @Sendable (OperationList?, OperationsService.Event) throws -> Result?
    ) async throws -> Result {
        let start = self.now
        // Subscribes before the first fetch, so that no fetch ends unseen.
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
        of look: (OperationList?, OperationsService.Event) throws -> Result?,
        _ events: Subscription<EventBuffer>,
        since start: Duration
    ) async throws -> Result {
        while let event = await events.next() {
            if let result = try look(self.list(askedForSince: start, after: event), event) { return result }
        }
        throw self.endReason ?? CancellationError() as any Error
    }

    /// Returns the list if a fetch has just ended that was requested late enough.
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
