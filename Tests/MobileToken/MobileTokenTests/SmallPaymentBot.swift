import Foundation
import MobileToken

// The examples of the README and of the documentation of OperationsService, as functions.

func runSmallPaymentBot(_ operations: OperationsService, of activation: Activation, password: String) async throws {
    let agent = try ApprovalAgent(
        operations: operations,
        factors: { try await activation.unlockKnowledge(password: password) }
    ) { review in
        guard review.operation.name == "authorize_payment",
            let total = review.total(in: "CZK"), total > 0, total <= 50
        else { return .deferToPeople }
        return .approve
    }
    try await agent.run()
}

func showOperations(_ operations: OperationsService) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await operations.poll(every: .seconds(7)) }
        group.addTask {
            for await change in operations.changes() {
                for operation in change.added { print("new:", operation.name, operation.formData.title) }
            }
        }
        for try await _ in group {}  // ends with the error of polling
    }
}
