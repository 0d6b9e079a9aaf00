import MobileTokenObserving
import PowerAuthProtocol

extension Activation {
    nonisolated func observeRetry(of path: String, for reason: MobileTokenObservation.RetryReason) {
        self.observer?.requestRetried(
            MobileTokenObservation.Retry(activationID: self.activationID, path: path, reason: reason)
        )
    }

    nonisolated func observe(_ reservation: CounterLedger.Reservation, by type: SignatureType, to path: String?) {
        self.observer?.signatureMade(
            MobileTokenObservation.Signature(
                activationID: self.activationID,
                factors: type.rawValue,
                path: path,
                counterDistance: reservation.unconfirmedMoves
            )
        )
    }
}
