import DecisionReceipts
import PowerAuthClient
import PowerAuthProtocol

extension DecisionIntent {
    /// Creates the receipt entry for a decision on an operation. A manual decision has neither a policy nor a second attempt.
    ///
    /// - Parameter isComplete: `true` if the review found the operation complete; `nil` without a review.
    init(
        _ verdict: Verdict,
        on operation: some AuthorizableOperation,
        reason: UserOperation.RejectionReason? = nil,
        with authentication: Activation.Authentication,
        of activationID: String,
        by policy: Policy? = nil,
        attempt: Int = 1,
        isComplete: Bool? = nil
    ) {
        self.init(
            activationID: activationID,
            operationID: operation.id,
            attempt: attempt,
            verdict: verdict,
            reason: reason?.rawValue,
            policy: policy,
            isComplete: isComplete,
            factors: SignatureType(authentication),
            shown: (operation as? UserOperation)?.json,
            signed: operation.data
        )
    }
}
