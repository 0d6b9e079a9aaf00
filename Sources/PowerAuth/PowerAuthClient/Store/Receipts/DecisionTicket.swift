import DecisionReceipts
import Synchronization

/// Carries an intent with a request to the counter, and its latest signature back.
final class DecisionTicket: Sendable {
    let intent: DecisionIntent
    private let latest = Mutex<SignedDecision?>(nil)

    init(_ intent: DecisionIntent) { self.intent = intent }

    /// The latest completed signature; `nil` if nothing was signed.
    var signed: SignedDecision? { self.latest.withLock { $0 } }

    func ended(_ signed: SignedDecision) { self.latest.withLock { $0 = signed } }
}
