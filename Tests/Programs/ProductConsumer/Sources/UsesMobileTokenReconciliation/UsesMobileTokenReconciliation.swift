import MobileToken
import MobileTokenReconciliation

let types: [Any.Type] = [
    ReceiptReconciliation.self, ReceiptReconciliation.Difference.self, ReceiptReconciliation.Difference.Kind.self,
    ReceiptReconciliation.Incomparability.self,
]

func differences(
    of operations: OperationsService,
    _ factors: Activation.Authentication
) async throws -> [ReceiptReconciliation.Difference] {
    try await operations.reconcileReceipts(with: factors).differences
}
