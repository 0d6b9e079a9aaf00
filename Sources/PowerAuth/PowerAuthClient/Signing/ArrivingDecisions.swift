import Basics
import DecisionReceipts

/// The two-factor decisions whose requests may still arrive, with deadlines, by the moves of their signatures. A request that
/// arrives after a later signature fails, and a few such failures block the activation. Deadlines use the monotonic clock, so
/// that a change of the wall clock does not extend the wait.
struct ArrivingDecisions: Sendable {
    private var ends: [UInt64: Duration] = [:]

    /// Returns how long the next signature must wait; `nil` if it need not.
    ///
    /// - Parameter open: The decisions that the server's counter has not reached.
    mutating func wait(
        for open: [OpenDecision],
        at now: Duration,
        timeLeft: (OpenDecision) -> Duration
    ) -> Duration? {
        let before = self.ends
        self.ends = [:]
        for decision in open where decision.hasTwoFactors {
            self.ends[decision.moves] = before[decision.moves] ?? now + timeLeft(decision).bounded
        }
        let wait = (self.ends.values.max() ?? now) - now
        return wait > .zero ? wait : nil
    }
}

/// An earlier decision may still arrive: the signature waits.
struct MayStillArrive: SigningObstacle {
    let wait: Duration
}
