import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// The receipts that decisions leave in the store, also when their process is killed in the midst.
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

    @Test(arguments: [false, true])
    func aProcessKilledInTheMidstOfADecisionLeavesOneIntent(diesAfterResponse: Bool) async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let path = folder.file("store.sqlite")
            let store = ActivationStore.sqlite(path: path)
            let client = try emulator.makeClient { $0.store = store }
            let activation = try await emulator.makeActivation(user: "alice", password: Self.password, client: client)
            let id = try await emulator.cloud.createOperation("payment", userID: "alice").id
            let operation = try await client.makeOperationsService(for: activation).detail(id: id)
            await store.close()

            let process = try ChildProcess(
                ChildProcess.besideTests("StoreExerciser"),
                [
                    "action=decide", "store=\(path)", "activation=\(activation.activationID)",
                    "password=\(Self.password)", "url=\(emulator.baseURL)",
                    "sdk-configuration=\(emulator.sdkConfiguration)", "operation=\(operation.id)",
                    "data=\(operation.data)", "dies=\(diesAfterResponse ? "after" : "before")",
                ]
            )
            let death = await process.outcome()
            #expect(death.wasKilled, "\(death.output)\(death.errors)")
            let status = try await emulator.cloud.operation(operation.id).status
            #expect(status == (diesAfterResponse ? .approved : .pending))

            // The next process finds it, asks the server's counter, and notes what that says.
            let next = ActivationStore.sqlite(path: path)
            let nextClient = try emulator.makeClient { $0.store = next }
            let open = try await next.openDecisions(of: activation.activationID)
            #expect(open.map(\.intent.operationID) == [operation.id])
            let decision = try #require(open.first)
            let counter = try await nextClient.activation(id: activation.activationID).counter(at: decision)
            #expect(counter == (diesAfterResponse ? .followed : .behind))
            let result: DecisionOutcome.Result = counter == .followed ? .inferred : .notFollowed
            let outcome = DecisionOutcome(result, localDate: Date(), serverDate: nil)
            try await next.record(outcome, of: decision)

            var receipts: [DecisionReceipt] = []
            for try await receipt in nextClient.receipts() { receipts.append(receipt) }
            #expect(receipts.map(\.outcome?.result) == [result])
            #expect(try await next.openDecisions(of: activation.activationID).isEmpty)
            #expect(try await next.record(of: activation.activationID)?.counterMoves == decision.moves)
            await next.close()
        }
    }
}
