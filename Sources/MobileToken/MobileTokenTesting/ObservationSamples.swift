public import DecisionReceipts
public import MobileTokenErrors
public import MobileTokenObserving

extension MobileTokenObservation.Request {
    /// Returns a request for tests of an observer.
    public static func sample(id: UInt64 = 1, activationID: String? = nil, path: String = "/api/test") -> Self {
        Self(id: id, activationID: activationID, path: path)
    }
}

extension MobileTokenObservation.Request.Result {
    /// Returns the end of a request for tests of an observer.
    public static func sample(
        _ outcome: MobileTokenObservation.Request.Outcome = .succeeded,
        httpStatus: Int? = 200,
        error: MobileTokenError? = nil,
        duration: Duration = .milliseconds(10)
    ) -> Self {
        Self(outcome, httpStatus: httpStatus, error: error, duration: duration)
    }
}

extension MobileTokenObservation.Retry {
    /// Returns a repetition for tests of an observer.
    public static func sample(
        activationID: String? = nil,
        path: String = "/api/test",
        reason: MobileTokenObservation.RetryReason = .tokenRenewed
    ) -> Self {
        Self(activationID: activationID, path: path, reason: reason)
    }
}

extension MobileTokenObservation.Signature {
    /// Returns a signature for tests of an observer.
    public static func sample(
        activationID: String = "activation",
        factors: String = "possession_knowledge",
        path: String? = "/api/test",
        counterDistance: UInt64 = 1
    ) -> Self {
        Self(activationID: activationID, factors: factors, path: path, counterDistance: counterDistance)
    }
}

extension MobileTokenObservation.Wait {
    /// Returns a wait before a signature, for tests of an observer.
    public static func sample(activationID: String = "activation", limit: Duration = .seconds(20)) -> Self {
        Self(activationID: activationID, limit: limit)
    }
}

extension MobileTokenObservation.Decision {
    /// Returns a decision for tests of an observer.
    public static func sample(
        activationID: String = "activation",
        operationID: String = "operation",
        verdict: DecisionIntent.Verdict = .approve,
        factors: String? = "possession_knowledge",
        policyName: String? = nil,
        result: DecisionOutcome.Result = .accepted
    ) -> Self {
        Self(
            activationID: activationID,
            operationID: operationID,
            verdict: verdict,
            factors: factors,
            policyName: policyName,
            result: result
        )
    }
}

extension MobileTokenObservation.Receipt {
    /// Returns an entry of the receipts for tests of an observer.
    public static func sample(
        activationID: String = "activation",
        kind: Kind = .outcomeRecorded,
        result: DecisionOutcome.Result? = .accepted,
        error: MobileTokenError? = nil
    ) -> Self {
        Self(activationID: activationID, kind: kind, result: result, error: error)
    }
}

extension MobileTokenObservation.Poll {
    /// Returns a poll for tests of an observer.
    public static func sample(activationID: String = "activation", lag: Duration = .zero) -> Self {
        Self(activationID: activationID, lag: lag)
    }
}

extension MobileTokenObservation.OperationList {
    /// Returns a change of a list for tests of an observer.
    public static func sample(
        activationID: String = "activation",
        count: Int = 1,
        added: Int = 1,
        updated: Int = 0,
        removed: Int = 0
    ) -> Self {
        Self(activationID: activationID, count: count, added: added, updated: updated, removed: removed)
    }
}

extension MobileTokenObservation.ActivationState {
    /// Returns the state of an activation for tests of an observer.
    public static func sample(
        activationID: String = "activation",
        phase: String = "active",
        isEnded: Bool = false,
        reason: MobileTokenError? = nil
    ) -> Self {
        Self(activationID: activationID, phase: phase, isEnded: isEnded, reason: reason)
    }
}

extension MobileTokenObservation.Agent {
    /// Returns an event of an agent for tests of an observer.
    public static func sample(
        activationID: String = "activation",
        operationID: String? = "operation",
        operationName: String? = "payment",
        kind: String = "decided",
        reason: String? = nil,
        detail: String = "",
        error: MobileTokenError? = nil
    ) -> Self {
        Self(
            activationID: activationID,
            operationID: operationID,
            operationName: operationName,
            kind: kind,
            reason: reason,
            detail: detail,
            error: error
        )
    }
}
