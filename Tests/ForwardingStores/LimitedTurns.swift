package import PowerAuth
import Synchronization

/// A journal whose turns end at a moment that the test sets, as a right in a database does that is not renewed.
package final class LimitedTurns: ForwardingJournal {
    private struct State {
        var end: ContinuousClock.Instant?
        var holders: [String] = []
    }

    package let journal: any DecisionJournal
    private let state = Mutex(State())

    package init(_ journal: any DecisionJournal = InMemoryActivationStore()) { self.journal = journal }

    /// When every turn ends; `nil` is never.
    package var end: ContinuousClock.Instant? {
        get { self.state.withLock { $0.end } }
        set { self.state.withLock { $0.end = newValue } }
    }

    /// Whether an activation has its turn.
    package func hasTurn(_ activationID: String) -> Bool {
        self.state.withLock { $0.holders.contains(activationID) }
    }

    package func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        try await self.base.withSigningTurn(of: activationID) { _ in
            self.state.withLock { $0.holders.append(activationID) }
            defer { self.state.withLock { $0.holders.removeAll { $0 == activationID } } }
            return try await body(SigningTurn(of: activationID, in: self) { self.end })
        }
    }
}
