package import DecisionReceipts

/// The latest signature of a decision, and its result. It is returned with the response or the error: without a response, its
/// number is compared with the server's counter. A class, so that errors and responses stay small.
package final class SignedDecision: Sendable {
    package let decision: OpenDecision
    package let result: DecisionOutcome.Result

    package init(_ decision: OpenDecision, _ result: DecisionOutcome.Result) {
        self.decision = decision
        self.result = result
    }
}
