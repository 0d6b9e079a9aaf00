import Synchronization

/// The latest signature of a decision, and how it ended.
///
/// Comes back with the response or the error: when no response came, its number is what the server's counter is compared with.
package struct SignedDecision: Sendable, Hashable {
    /// The number of the counter's move that the signature used up.
    package let moves: UInt64
    /// The result.
    package let result: DecisionOutcome.Result

    package init(moves: UInt64, _ result: DecisionOutcome.Result) {
        self.moves = moves
        self.result = result
    }
}

/// Carries an intent along with one request down to the counter, and its latest signature back.
final class DecisionTicket: Sendable {
    let intent: DecisionIntent
    private let latest = Mutex<SignedDecision?>(nil)

    init(_ intent: DecisionIntent) { self.intent = intent }

    /// The latest signature that has ended; `nil` when nothing was signed.
    var signed: SignedDecision? { self.latest.withLock { $0 } }

    func ended(_ signed: SignedDecision) { self.latest.withLock { $0 = signed } }
}
