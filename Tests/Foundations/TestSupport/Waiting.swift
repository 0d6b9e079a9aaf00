/// Waits for a condition that other tasks bring about and nobody reports, such as the end of an object's life. The suite's
/// time limit ends a wait in vain.
package func until(_ condition: () async throws -> Bool) async rethrows {
    while !Task.isCancelled, try await !condition() { await Task.yield() }
}

/// Waits until the calling task is cancelled, and for nothing else.
package func waitForCancellation() async {
    let (nothing, source) = AsyncStream.makeStream(of: Never.self)
    for await _ in nothing {}
    withExtendedLifetime(source) {}
}

extension Task where Failure == Never {
    /// Cancels the task, and waits for its end.
    package func stop() async -> Success {
        self.cancel()
        return await self.value
    }
}

extension Task where Failure == any Error {
    /// Cancels the task, and waits for its end.
    package func stop() async throws -> Success {
        self.cancel()
        return try await self.value
    }
}
