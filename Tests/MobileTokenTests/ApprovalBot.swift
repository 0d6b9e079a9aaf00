import Foundation
import MobileToken

/// Approves payments up to a limit, and rejects everything else.
struct ApprovalBot: Sendable {
    let operations: OperationsService
    let authentication: Authentication
    let limit: Decimal
    let currency = "CZK"

    /// Decides what comes, until the task is canceled or nothing more can come: then it throws why.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.operations.poll(every: .seconds(7)) }
            group.addTask { try await self.decide() }
            for try await _ in group {}  // ends with the error of polling, or of a wrong password
        }
    }

    /// Decides what is listed after each poll, with news or without, so that what failed is tried again.
    private func decide() async throws {
        for await event in self.operations.events() {
            guard case .loading(false) = event, let list = try? await self.operations.lastFetchResult?.get() else {
                continue
            }
            for operation in list.operations {
                do {
                    try await self.decide(operation)
                } catch let error as MobileTokenError where !Self.isFinal(error) {
                    print("\(operation.id) is undecided: \(error)")
                }
            }
        }
    }

    /// Whether the next attempt would fail too. A few wrong passwords block the activation.
    private static func isFinal(_ error: MobileTokenError) -> Bool {
        [.authenticationFailed, .activationBlocked, .activationRemoved, .unknownActivation].contains(error.code)
    }

    private func decide(_ operation: UserOperation) async throws {
        if self.allows(operation) {
            try await self.operations.authorize(operation, with: self.authentication)
        } else {
            try await self.operations.reject(operation, reason: .unexpectedOperation)
        }
    }

    /// Whether all of the operation was understood, and it asks for one amount that is small enough.
    func allows(_ operation: UserOperation) -> Bool {
        guard operation.name == "authorize_payment", operation.issues.isEmpty,
            operation.ui?.preApprovalScreens.isEmpty ?? true  // nothing that a person should read first
        else { return false }
        var amounts: [Decimal] = []
        for attribute in operation.formData.attributes {
            switch attribute.content {
            case .amount(let money):
                guard let amount = money.amount, money.currency == self.currency else { return false }
                amounts.append(amount)
            case .heading, .keyValue, .note, .partyInfo, .image: break
            case .amountConversion, .alert, .unknown: return false
            }
        }
        guard let amount = amounts.first, amounts.count == 1 else { return false }
        return amount > 0 && amount <= self.limit
    }
}
