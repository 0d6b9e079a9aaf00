import Synchronization

/// The latest signature of a decision, and how it ended.
///
/// Comes back with the response or the error: when no response came, its number is what the server's counter is compared with.
/// A class, so that errors and responses, which seldom carry one, stay small.
package final class SignedDecision: Sendable {
    /// The decision as it was signed.
    package let decision: OpenDecision
    /// The result.
    package let result: DecisionOutcome.Result

    package init(_ decision: OpenDecision, _ result: DecisionOutcome.Result) {
        self.decision = decision
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
