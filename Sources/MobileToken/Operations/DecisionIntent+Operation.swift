import PowerAuth
import PowerAuthProtocol

/// The decider, for the receipt. A call by hand has neither a policy nor a second attempt.
struct DecisionMaker {
    var policy: DecisionIntent.Policy?
    var attempt = 1
    /// Indicates whether the review found the operation complete, if there was one.
    var isComplete: Bool?
}

extension DecisionIntent {
    /// Creates what a decision on an operation leaves in the receipts.
    init(
        _ verdict: Verdict,
        on operation: some AuthorizableOperation,
        with authentication: Authentication,
        of activationID: String,
        by maker: DecisionMaker
    ) {
        self.init(
            activationID: activationID,
            operationID: operation.id,
            attempt: maker.attempt,
            verdict: verdict,
            policy: maker.policy,
            isComplete: maker.isComplete,
            factors: SignatureType(authentication),
            shown: (operation as? UserOperation)?.json,
            signed: operation.data
        )
    }
}
