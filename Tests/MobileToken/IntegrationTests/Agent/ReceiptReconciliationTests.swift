import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing
import MobileTokenReceipts
import MobileTokenReconciliation

/// Receipts compared with the history of a bank behind a proxy that loses answers.
@Suite(.timeLimit(.minutes(5))) struct ReceiptReconciliationTests {
    /// A client whose decisions the proxy treats as it is told.
    private struct Scene {
        let emulator: Emulator
        let store: ActivationStore
        let client: MobileTokenClient
        let service: OperationsService
        let strike: Shared<MeddlingProxy.Strike?>

        func offer(_ template: String = "login") async throws -> UserOperation {
            try await self.emulator.offer(template, to: "alice", on: self.service)
        }

        /// Decides while the proxy strikes, or loses the answer where that is no page.
        func decide(_ operation: UserOperation, _ strike: MeddlingProxy.Strike, rejects: Bool = false) async throws {
            self.strike.update { $0 = strike }
            await #expect(throws: MobileTokenError.self) {
                try await rejects
                    ? self.service.reject(operation) : self.service.authorize(operation, with: .twoFactors)
            }
            self.strike.update { $0 = nil }
        }

        /// Notes that nobody could find out what became of a decision.
        func giveUp(_ operation: UserOperation) async throws { try await self.note(.unknown, operation) }

        func note(_ result: DecisionOutcome.Result, _ operation: UserOperation) async throws {
            let id = try #require(try await self.store.activationIDs().first)
            let open = try await self.store.openDecisions(of: id).first { $0.intent.operationID == operation.id }
            let outcome = DecisionOutcome(result, localDate: Date(), serverDate: nil)
            try await self.store.record(outcome, ofMove: try #require(open).moves, of: id)
        }

        func kinds(isSettling: Bool = false) async throws -> [ReceiptReconciliation.Difference.Kind] {
            try await self.service.reconcileReceipts(with: .twoFactors, isSettling: isSettling).differences.map(\.kind)
        }

        func results() async throws -> [DecisionOutcome.Result?] { try await self.client.results() }
    }

    private func withScene(listLength: Int = 100, _ body: (Scene) async throws -> Void) async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.limits.listLength = listLength }) { emulator in
            let strike = Shared<MeddlingProxy.Strike?>(nil)
            let store = ActivationStore.inMemory()
            let client = try emulator.makeClient {
                $0.store = store
                $0.transport = try InterceptingTransport { request, deliver in
                    let isDecision = request.url.hasSuffix("/authorize") || request.url.hasSuffix("/operation/cancel")
                    guard isDecision, let strike = strike.value else { return try await deliver(request) }
                    return try await strike.answer(to: request, deliver)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            try await body(Scene(emulator: emulator, store: store, client: client, service: service, strike: strike))
        }
    }

    @Test func whatAgreesIsNoDifference() async throws {
        try await self.withScene { scene in
            try await scene.service.authorize(try await scene.offer(), with: .twoFactors)
            try await scene.service.reject(try await scene.offer())
            let canceled = try await scene.offer()
            try await scene.emulator.cloud.cancelOperation(canceled.id)
            await #expect(throws: MobileTokenError.self) {
                try await scene.service.authorize(canceled, with: .twoFactors)
            }
            let reconciliation = try await scene.service.reconcileReceipts(with: .twoFactors)
            #expect(reconciliation.differences == [])
            #expect(reconciliation.agreeingCount == 3)
        }
    }

    @Test func aLostAnswerIsLookedIntoBeforeTheHistoryIsSigned() async throws {
        try await self.withScene { scene in
            try await scene.decide(try await scene.offer(), .page(status: 403, isDelivered: true), rejects: true)
            // Nothing is signed as long as the counter tells what became of it.
            let error = await #expect(throws: MobileTokenError.self) { try await scene.kinds() }
            #expect(error?.code == .decisionsOpen)
            #expect(await scene.emulator.requests(to: "**/operation/history").isEmpty)
            #expect(try await scene.kinds(isSettling: true) == [])
            #expect(try await scene.results() == [.inferred])
            #expect(try await scene.kinds() == [])
        }
    }

    @Test func whatMayStillBeJudgedIsMadeWorthlessAndTheTroubleWithOneIsNoneOfAnothers() async throws {
        try await self.withScene { scene in
            let (first, second) = (try await scene.offer(), try await scene.offer())
            for operation in [first, second] {
                try await scene.decide(operation, .page(status: 403, isDelivered: false), rejects: true)
            }
            let error = await #expect(throws: MobileTokenError.self) { try await scene.kinds() }
            #expect(error?.code == .decisionsOpen)
            // The bank says nothing of the first one, and the history does.
            await scene.emulator.faults.set([
                FaultRule(match: .init(path: "**/operation/detail", first: 1), effect: .init(status: 503))
            ])
            #expect(try await scene.kinds(isSettling: true) == [])
            #expect(try await scene.results() == [.notFollowed, .notFollowed])
            #expect(await scene.emulator.requests(to: "**/signature/validate").accepted.count == 2)
        }
    }

    /// A restored store lost what it knew, and the server's counter still tells that the request has not been judged.
    @Test func whatLostItsEvidenceAndMayStillBeJudgedIsMadeWorthlessToo() async throws {
        try await self.withScene { scene in
            let operation = try await scene.offer()
            try await scene.decide(operation, .page(status: 403, isDelivered: false), rejects: true)
            try await scene.note(.evidenceLost, operation)
            let error = await #expect(throws: MobileTokenError.self) { try await scene.kinds() }
            #expect(error?.code == .decisionsOpen)
            _ = try await scene.kinds(isSettling: true)
            #expect(await scene.emulator.requests(to: "**/signature/validate").accepted.count == 1)
            #expect(try await scene.results() == [.evidenceLost])
            // Nothing more is to be learned of it but from the operation's end.
            _ = try await scene.kinds()
            try await scene.emulator.cloud.cancelOperation(operation.id)
            _ = try await scene.kinds(isSettling: true)
            #expect(try await scene.results() == [.notFollowed])
        }
    }

    /// The bank carries out the first copy, and refuses the second: by whom the operation ended so is not known, for good.
    @Test func aRejectionThatWasSentTwiceIsUnknownAndNoDifferenceForEver() async throws {
        try await self.withScene { scene in
            let operation = try await scene.offer()
            try await scene.decide(operation, .twice, rejects: true)
            #expect(try await scene.emulator.cloud.operation(operation.id).status == .rejected)
            #expect(try await scene.results() == [.unknown])
            #expect(try await scene.kinds(isSettling: true) == [])
            #expect(try await scene.results() == [.unknown])
        }
    }

    /// The server followed, and says that the operation is over. Its history, which would say how, reaches back no further than
    /// to the next operation.
    @Test func whatTheHistoryNoLongerTellsIsUnknownAndNotAskedForAgain() async throws {
        try await self.withScene(listLength: 1) { scene in
            try await scene.decide(try await scene.offer(), .page(status: 403, isDelivered: true), rejects: true)
            #expect(try await scene.results() == [.followed])
            try await scene.emulator.cloud.createOperation("login", userID: "alice")
            let settled = try await scene.service.reconcileReceipts(with: .twoFactors, isSettling: true)
            #expect(settled.differences == [])
            #expect(settled.settled.map(\.conclusion) == [.unknown])
            let sentence = "receipt 1 says reject: followed; the history does not have the operation"
            #expect(settled.settled.map(\.sentence) == [sentence])
            #expect(try await scene.results() == [.unknown])
            let position = await scene.emulator.journalPosition
            #expect(try await scene.kinds(isSettling: true) == [])
            #expect(await scene.emulator.journal(since: position).calls.contains("history"))
            #expect(await !scene.emulator.journal(since: position).calls.contains("detail"))
        }
    }

    /// Nobody found out in time, and a later signature has wiped out what the counter told: how the operation ended is all
    /// that is left.
    @Test func aHistoryProvesThatNothingWasDecidedAndNotThatSomethingWas() async throws {
        try await self.withScene { scene in
            let (approved, canceled, later) = (
                try await scene.offer(), try await scene.offer(), try await scene.offer()
            )
            try await scene.decide(approved, .page(status: 403, isDelivered: true), rejects: true)
            try await scene.giveUp(approved)
            try await scene.decide(canceled, .page(status: 403, isDelivered: false))
            try await scene.giveUp(canceled)
            try await scene.emulator.cloud.cancelOperation(canceled.id)
            try await scene.service.authorize(later, with: .twoFactors)
            #expect(try await scene.kinds() == [.provable])

            let settled = try await scene.service.reconcileReceipts(with: .twoFactors, isSettling: true)
            #expect(settled.differences.map(\.kind) == [])
            #expect(settled.settled.map(\.operationID) == [canceled.id])
            #expect(try await scene.results() == [.unknown, .notFollowed, .accepted])
            #expect(try await scene.kinds() == [])
        }
    }

    @Test func whatAnotherPhoneDecidedIsNamed() async throws {
        try await self.withScene { scene in
            let client = try scene.emulator.makeClient()
            let phone = try await scene.emulator.makeActivation(user: "alice", password: password, client: client)
            let operation = try await scene.offer()
            try await client.makeOperationsService(for: phone).authorize(operation, with: .twoFactors)
            try await scene.service.authorize(try await scene.offer(), with: .twoFactors)
            let reconciliation = try await scene.service.reconcileReceipts(with: .twoFactors)
            #expect(reconciliation.differences.map(\.kind) == [.decidedElsewhere])
            #expect(reconciliation.differences.map(\.operationID) == [operation.id])
            #expect(reconciliation.agreeingCount == 1)
        }
    }

    @Test func aBankThatForgotItsWordIsNamed() async throws {
        try await self.withScene { scene in
            let operation = try await scene.offer()
            let books = try await scene.emulator.exported()
            try await scene.service.authorize(operation, with: .twoFactors)
            try await scene.emulator.importState(books)
            #expect(try await scene.kinds(isSettling: true) == [.notCarriedOut])
            #expect(try await scene.results() == [.accepted])
        }
    }

    @Test func exportedReceiptsStandInForThoseThatTheStoreLost() async throws {
        try await self.withScene { scene in
            let folder = try TemporaryFolder()
            let archive = ReceiptArchive(folder: folder.file("receipts"))
            try await scene.service.authorize(try await scene.offer(), with: .twoFactors)
            try await archive.export(from: scene.client)

            let store = ActivationStore.inMemory()
            let id = try #require(try await scene.store.activationIDs().first)
            try await store.insert(try #require(try await scene.store.record(of: id)))
            let client = try scene.emulator.makeClient { $0.store = store }
            let service = client.makeOperationsService(for: try await client.activation(id: id))
            let without = try await service.reconcileReceipts(with: .twoFactors)
            #expect(without.differences.map(\.kind) == [.decidedElsewhere])
            let with = try await service.reconcileReceipts(with: .twoFactors, exportedTo: archive)
            #expect(with.differences == [])
            #expect(with.agreeingCount == 1)
        }
    }
}
