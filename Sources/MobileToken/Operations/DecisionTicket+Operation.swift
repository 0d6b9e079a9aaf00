import PowerAuth
import PowerAuthProtocol

/// The decider, for the receipt. A call by hand has neither a policy nor a second attempt.
struct DecisionMaker {
    var policy: DecisionIntent.Policy?
    var attempt = 1
    /// Indicates whether the review found the operation complete, if there was one.
    var isComplete: Bool?
}

extension DecisionTicket {
    /// Creates what a decision on an operation leaves in the receipts.
    convenience init(
        _ verdict: DecisionIntent.Verdict,
        on operation: some AuthorizableOperation,
        with authentication: Authentication,
        of activationID: String,
        by maker: DecisionMaker = DecisionMaker()
    ) {
        let intent = DecisionIntent(
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
        self.init(intent) { (try? SuccessResponse(parsing: $0)) != nil }
    }
}

extension Authentication {
    /// Returns the same factors, to sign what a ticket says.
    func signing(_ ticket: @autoclosure () -> DecisionTicket) -> Self {
        var authentication = self
        authentication.decision = self.decision ?? ticket()
        return authentication
    }
}
