import PowerAuthProtocol

/// The reports of an activation to the observer, if there is one.
extension Activation {
    nonisolated func observeRetry(of path: String, for reason: Observed.RetryReason) {
        self.observer?.requestRetried(Observed.Retry(activationID: self.activationID, path: path, reason: reason))
    }

    nonisolated func observe(_ reservation: CounterLedger.Reservation, by type: SignatureType, to path: String?) {
        self.observer?.signatureMade(
            Observed.Signature(
                activationID: self.activationID,
                factors: type.rawValue,
                path: path,
                counterDistance: reservation.unconfirmedMoves
            )
        )
    }
}
