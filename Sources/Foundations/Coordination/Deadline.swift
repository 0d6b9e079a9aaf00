/// Runs `body`, and cancels it at a deadline.
///
/// - Returns: The value of `body`, or `nil` if the deadline passed first.
/// - Throws: The error of `body`; `CancellationError` if the calling task is canceled.
public func withDeadline<Result: Sendable>(
    _ deadline: Duration,
    on clock: ServiceClock,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result? {
    try await withThrowingTaskGroup(of: Result?.self) { group in
        defer { group.cancelAll() }
        group.addTask { try await body() }
        group.addTask {
            try await clock.sleep(until: deadline)
            return nil
        }
        return try await group.next() ?? nil
    }
}
