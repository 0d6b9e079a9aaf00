import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// The receipts that decisions leave in the store.
@Suite(.timeLimit(.minutes(5))) struct ReceiptTests {
    private static let password = "1234-pass"

    @Test func decisionsByHandLeaveReceipts() async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let store = ActivationStore.sqlite(path: folder.file("store.sqlite"))
            let client = try emulator.makeClient { $0.store = store }
            let activation = try await emulator.makeActivation(user: "alice", password: Self.password, client: client)
            let service = client.makeOperationsService(for: activation)
            var operations: [UserOperation] = []
            for _ in 0..<3 {
                let id = try await emulator.cloud.createOperation("payment", userID: "alice").id
                operations.append(try await service.detail(id: id))
            }
            try await service.authorize(
                operations[0],
                with: .possessionAndKnowledge(password: Self.password)
            )
            try await service.reject(operations[1], reason: .unexpectedOperation)
            // A definite refusal is recorded like everything else.
            try await emulator.cloud.cancelOperation(operations[2].id)
            await #expect(throws: MobileTokenError.self) { try await service.reject(operations[2]) }

            var receipts: [DecisionReceipt] = []
            for try await receipt in client.receipts(of: activation.activationID) { receipts.append(receipt) }
            #expect(receipts.map(\.intent.verdict) == [.approve, .reject, .reject])
            #expect(receipts.map(\.intent.personalData?.operationID) == operations.map(\.id))
            #expect(receipts.map { $0.intent.personalData?.shown.map { Array($0.utf8) } } == operations.map(\.json))
            #expect(receipts.map(\.intent.personalData?.signed) == operations.map(\.data))
            #expect(receipts.map(\.intent.personalData?.reason) == [nil, "UNEXPECTED_OPERATION", "UNKNOWN"])
            #expect(receipts.map(\.intent.factors) == ["possession_knowledge", "possession", "possession"])
            #expect(receipts.prefix(2).map(\.outcome?.result) == [.accepted, .accepted])
            guard case .refused = receipts.last?.outcome?.result else {
                Issue.record("not refused: \(String(describing: receipts.last?.outcome))")
                return
            }
        }
    }
}
