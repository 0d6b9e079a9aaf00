import Coordination
import EmulatorBackend

// Long polling for programs.
extension EmulatorCore {
    /// Calls `look`, and again after each event of some kinds, until it finds news or the wait ends.
    ///
    /// - Parameters:
    ///   - kinds: The kinds of events. Without `reset`, a replaced state ends the wait.
    ///   - duration: The longest wait, on the clock of delays.
    ///   - limit: The maximum number of clients that follow the server.
    /// - Returns: The last result of `look`, news or not.
    /// - Throws: A refusal if too many clients follow, or the error of `look`.
    nonisolated func waiting<Found: Sendable>(
        _ duration: Duration,
        for kinds: Set<Emulator.Event.Kind>,
        unlessThereAre limit: Int = .max,
        _ look: @escaping @Sendable () async throws -> (found: Found, isNews: Bool)
    ) async throws -> Found {
        guard duration > .zero else { return try await look().found }
        // Subscribes before looking, so that no event is missed.
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
