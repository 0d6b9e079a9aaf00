import PowerAuthProtocol

/// The reports of an activation to the observer, if there is one.
extension Activation {
    nonisolated func observeRetry(of path: String, for reason: RetryReason) {
        self.observer?.requestRetried(RetryObservation(activationID: self.activationID, path: path, reason: reason))
    }

    nonisolated func observe(_ taken: CounterLedger.Taken, by type: SignatureType, to path: String?) {
        self.observer?.signatureMade(
            SignatureObservation(
                activationID: self.activationID,
                factors: type.rawValue,
                path: path,
                counterDistance: taken.unconfirmedMoves
            )
        )
    }

    /// An intent was written, where the store keeps receipts.
    nonisolated func observeIntent() {
        guard let observer, self.server.store is any DecisionJournal else { return }
        observer.receiptWritten(ReceiptObservation(activationID: self.activationID, kind: .intentWritten))
    }

    /// An outcome was written, where the store keeps receipts, unless there is an error.
    nonisolated func observeOutcome(
        _ result: DecisionOutcome.Result,
        _ kind: ReceiptObservation.Kind,
        _ error: MobileTokenError?
    ) {
        guard let observer, self.server.store is any DecisionJournal else { return }
        observer.receiptWritten(
            ReceiptObservation(
                activationID: self.activationID,
                kind: error == nil ? kind : .outcomeNotWritten,
                result: result,
                error: error
            )
        )
    }
}
