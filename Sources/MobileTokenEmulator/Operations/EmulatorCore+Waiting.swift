import Coordination
import EmulatorBackend

// Programs ask for what is new, and wait for it.
extension EmulatorCore {
    /// Looks, and looks again whenever something of some kinds has happened, until there is news or the wait is over.
    ///
    /// - Parameters:
    ///   - kinds: Without `reset`, another state ends the wait.
    ///   - duration: The longest wait, by the clock that delays wait on.
    ///   - limit: The number of clients that may follow the server at a time.
    /// - Returns: The last finding of `look`, news or not.
    /// - Throws: A refusal when too many clients follow already, or the error of `look`.
    nonisolated func waiting<Found: Sendable>(
        _ duration: Duration,
        for kinds: Set<Emulator.Event.Kind>,
        unlessThereAre limit: Int = .max,
        _ look: @escaping @Sendable () async throws -> (found: Found, isNews: Bool)
    ) async throws -> Found {
        guard duration > .zero else { return try await look().found }
        // Subscribed before looking, so that nothing happens in between.
        guard let events = self.events.subscribe(unlessThereAre: limit) else {
            throw Refusal(503, "CAPACITY_EXCEEDED", "\(limit) programs follow already")
        }
        let first = try await look()
        if first.isNews { return first.found }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                while let event = await events.next() {
                    if kinds.contains(event.kind) {
                        if try await look().isNews { return }
                    } else if event.kind == .reset {
                        return
                    }
                }
            }
            group.addTask { try? await self.clock.sleep(for: duration) }
            try await group.next()
            group.cancelAll()
        }
        return try await look().found
    }
}
