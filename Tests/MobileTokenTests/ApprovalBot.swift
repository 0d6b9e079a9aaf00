import Foundation
import MobileToken

/// Approves payments up to a limit, and rejects everything else.
struct ApprovalBot: Sendable {
    let operations: OperationsService
    let authentication: Authentication
    let limit: Decimal

    /// Decides what comes until the task is cancelled. An error ends it; another bot then starts with the list as it is.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.operations.poll(every: .seconds(7)) }
            for await change in self.operations.changes() {
                for operation in change.added { try await self.decide(operation) }
            }
            group.cancelAll()
        }
    }

    private func decide(_ operation: UserOperation) async throws {
        let amounts = operation.formData.attributes.compactMap { attribute -> Decimal? in
            if case .amount(let money) = attribute.content { money.amount } else { nil }
        }
        if !amounts.isEmpty, amounts.allSatisfy({ $0 <= self.limit }) {
            try await self.operations.authorize(operation, with: self.authentication)
        } else {
            try await self.operations.reject(operation, reason: .unexpectedOperation)
        }
    }
}
