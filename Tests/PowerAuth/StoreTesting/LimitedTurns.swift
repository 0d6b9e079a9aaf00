package import PowerAuthClient
import Synchronization

/// A driver with turns that end at a time set by the test, like an unrenewed right in a database.
package final class LimitedTurns: ForwardingDriver {
    private struct State {
        var end: ContinuousClock.Instant?
        var holders: [String] = []
    }

    package let base: any JournalDriver
    private let state = Mutex(State())

    package init(_ base: any JournalDriver = MemoryDriver()) { self.base = base }

    /// Creates an in-memory store with such turns.
    package static func inMemory() -> (turns: LimitedTurns, store: ActivationStore) {
        let turns = LimitedTurns()
        return (turns, .inMemory { _ in turns })
    }

    /// The end of every turn; `nil` is never.
    package var end: ContinuousClock.Instant? {
        get { self.state.withLock { $0.end } }
        set { self.state.withLock { $0.end = newValue } }
    }

    package func hasTurn(_ activationID: String) -> Bool {
        self.state.withLock { $0.holders.contains(activationID) }
    }

    package func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        try await self.base.withTurn(of: activationID, slot: slot) { turn in
            self.state.withLock { $0.holders.append(activationID) }
            defer { self.state.withLock { $0.holders.removeAll { $0 == activationID } } }
            return try await body(Turn(slot: turn.slot, fence: turn.fence) { self.end })
        }
    }
}
