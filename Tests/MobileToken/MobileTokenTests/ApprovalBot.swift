import Foundation
import MobileToken

/// Approves payments up to a limit, and rejects everything else.
struct ApprovalBot: Sendable {
    let operations: OperationsService
    let authentication: Activation.Authentication
    let limit: Decimal
    let currency = "CZK"

    /// Decides what comes, until the task is canceled or nothing more can come: then it throws why.
    func run() async throws {
        var configuration = ApprovalAgent.Configuration()
        configuration.policyName = "small payments"
        configuration.reviewsIncomplete = true  // so that what nobody could understand is rejected as well
        configuration.factorLifetime = .zero  // the password is at hand anyhow
        let agent = try ApprovalAgent(
            operations: self.operations,
            factors: { self.authentication },
            configuration: configuration,
            policy: self.verdict
        )
        try await agent.run()
    }

    func verdict(on review: OperationReview) -> ApprovalAgent.Verdict {
        guard review.operation.name == "authorize_payment", review.isComplete,
            let total = review.total(in: self.currency), total > 0, total <= self.limit
        else { return .reject(.unexpectedOperation) }
        return .approve
    }
}
