import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// Processes that are killed in the midst of a decision, and what the next one finds.
@Suite(.timeLimit(.minutes(4))) struct ReceiptProcessTests {
    private static let password = "1234-pass"

    @Test(arguments: [false, true])
    func aProcessKilledInTheMidstOfADecisionLeavesOneIntent(diesAfterResponse: Bool) async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let path = folder.file("store.sqlite")
            let store = SQLiteActivationStore(path: path)
            let client = try emulator.makeClient { $0.store = store }
            let activation = try await emulator.makeActivation(user: "alice", password: Self.password, client: client)
            let id = try await emulator.cloud.createOperation("payment", userID: "alice").id
            let operation = try await client.operations(of: activation).detail(id: id)
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
            #expect(status == (diesAfterResponse ? "APPROVED" : "PENDING"))

            // The next process finds it, asks the server's counter, and notes what that says.
            let next = SQLiteActivationStore(path: path)
            let nextClient = try emulator.makeClient { $0.store = next }
            let open = try await next.openDecisions(of: activation.activationID)
            #expect(open.map(\.intent.operationID) == [operation.id])
            let moves = try #require(open.first?.moves)
            let fate = try await nextClient.activation(id: activation.activationID).fate(ofMove: moves)
            #expect(fate == (diesAfterResponse ? .followed : .notFollowed))
            let result: DecisionOutcome.Result = fate == .followed ? .inferred : .notFollowed
            let outcome = DecisionOutcome(result, localDate: Date(), serverDate: nil)
            try await next.record(outcome, ofMove: moves, of: activation.activationID)

            var receipts: [DecisionReceipt] = []
            for try await receipt in try nextClient.receipts() { receipts.append(receipt) }
            #expect(receipts.map(\.outcome?.result) == [result])
            #expect(try await next.openDecisions(of: activation.activationID).isEmpty)
            #expect(try await next.record(of: activation.activationID)?.counterMoves == moves)
            await next.close()
        }
    }
}
