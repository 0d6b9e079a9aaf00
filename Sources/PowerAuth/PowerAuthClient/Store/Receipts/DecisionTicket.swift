package import DecisionReceipts
import Synchronization

/// The latest signature of a decision, and its result. It is returned with the response or the error: without a response, its
/// number is compared with the server's counter. A class, so that errors and responses stay small.
package final class SignedDecision: Sendable {
    package let decision: OpenDecision
    package let result: DecisionOutcome.Result

    package init(_ decision: OpenDecision, _ result: DecisionOutcome.Result) {
        self.decision = decision
        self.result = result
    }
}

/// Carries an intent with a request to the counter, and its latest signature back.
final class DecisionTicket: Sendable {
    let intent: DecisionIntent
    private let latest = Mutex<SignedDecision?>(nil)

    init(_ intent: DecisionIntent) { self.intent = intent }

    /// The latest completed signature; `nil` if nothing was signed.
    var signed: SignedDecision? { self.latest.withLock { $0 } }

    func ended(_ signed: SignedDecision) { self.latest.withLock { $0 = signed } }
}
