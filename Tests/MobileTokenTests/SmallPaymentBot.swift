import Foundation
import MobileToken

// What the README and the documentation of OperationsService show, as a function.

/// Whether all of the operation was understood, and it asks for one amount that is small enough.
func policyAllows(_ operation: UserOperation) -> Bool {
    guard operation.name == "authorize_payment", operation.issues.isEmpty,
        operation.ui?.preApprovalScreens.isEmpty ?? true  // nothing that a person should read first
    else { return false }
    var amounts: [Decimal] = []
    for attribute in operation.formData.attributes {
        switch attribute.content {
        case .amount(let money):
            guard let amount = money.amount, money.currency == "CZK" else { return false }
            amounts.append(amount)
        case .heading, .keyValue, .note, .partyInfo, .image: break
        case .amountConversion, .alert, .unknown: return false
        }
    }
    return amounts.count == 1 && amounts.allSatisfy { $0 > 0 && $0 <= 50 }
}

func runSmallPaymentBot(_ operations: OperationsService, password: String) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await operations.poll(every: .seconds(7)) }
        group.addTask {
            for await event in operations.events() {
                // After each poll, with news or without, so that what failed is tried again.
                guard case .loading(false) = event, let list = try? await operations.lastFetchResult?.get() else {
                    continue
                }
                for operation in list.operations where policyAllows(operation) {
                    do {
                        try await operations.authorize(operation, with: .possessionAndKnowledge(password: password))
                    } catch let error as MobileTokenError where error.code != .authenticationFailed {
                        print("\(operation.id) is undecided: \(error)")
                    }
                }
            }
        }
        for try await _ in group {}  // ends with the error of polling, or of a wrong password
    }
}
