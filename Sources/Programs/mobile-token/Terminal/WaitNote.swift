import Basics
import CommandLineSupport
import ExactJSON
import MobileTokenObserving
import Synchronization

/// Reports once on standard error that a signature waits.
final class WaitNote: MobileTokenObserver {
    private let isJSON: Bool
    private let isSaid = Atomic(false)

    init(isJSON: Bool) { self.isJSON = isJSON }

    func signingWaits(_ wait: MobileTokenObservation.Wait) {
        guard !self.isSaid.exchange(true, ordering: .relaxed) else { return }
        let seconds = max(1, wait.limit.roundedUpSeconds)
        let text = "waiting for an earlier decision, \(seconds) s at most; nothing is signed until then"
        guard self.isJSON else { return Output.note("mobile-token: \(text)") }
        Output.note([
            "note": [
                "code": "waitingForDecision", "seconds": .number(JSONNumber(seconds)), "message": .string(text),
            ]
        ])
    }
}
