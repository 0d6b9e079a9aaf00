import MobileTokenObserving
import TestSupport

/// Keeps what the SDK says it did.
final class RecordingObserver: MobileTokenObserver {
    private let retried = Shared<[MobileTokenObservation.RetryReason]>([])
    private let compared = Shared<[Int]>([])

    /// The reasons for which requests were sent once more.
    var retries: [MobileTokenObservation.RetryReason] { self.retried.value }
    /// The client's lead at each comparison.
    var distances: [Int] { self.compared.value }

    func requestRetried(_ retry: MobileTokenObservation.Retry) { self.retried.update { $0.append(retry.reason) } }

    func counterCompared(_ comparison: CounterComparison, of activationID: String) {
        self.compared.update { $0.append(comparison.distance) }
    }
}
