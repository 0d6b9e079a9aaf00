import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import StoreTesting
import Testing
import TestSupport

/// An agent whose first approval meets with an accident, at a real server: what the server's counter tells about it.
@Suite(.timeLimit(.minutes(5))) struct AgentLostAnswerTests {
    /// The parts of the test that an accident can touch.
    struct Scene: Sendable {
        let emulator: Emulator
        let client: MobileTokenClient
        let activation: Activation
        let payment: CloudResponse<CloudClient.Operation>

        func status() async throws -> CloudClient.OperationStatus {
            try await self.emulator.cloud.operation(self.payment.id).status
        }
        func approvals() async -> [Emulator.JournalEntry] {
            await self.emulator.requests(to: AgentLostAnswerTests.approvals)
        }
    }

    /// The fate of the approval, instead of being delivered and answered.
    typealias Accident = @Sendable (Scene, HTTPRequest, InterceptingTransport.Delivery) async throws -> HTTPResponse

    static let approvals = "/api/auth/token/app/operation/authorize"
    private let clock = ManualClock()
    private let traffic = Traffic()
    private let scene = Shared<Scene?>(nil)
    /// Done before the next question for the operation is delivered.
    private let beforeDetail = Shared<(@Sendable () async throws -> Void)?>(nil)

    /// Runs an agent that approves everything, and its time.
    private func run(
        _ template: String = "payment",
        with factors: Activation.Authentication = .twoFactors,
        listLength: Int = 100,
        store: ActivationStore = ActivationStore.inMemory(),
        timeout: Duration? = nil,
        _ accident: @escaping Accident,
        then body: (Scene, inout AsyncStream<ApprovalAgent.Event>.Iterator) async throws -> Void
    ) async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.limits.listLength = listLength }) { emulator in
            let scene = try await self.makeScene(emulator, template, store, timeout, accident)
            let agent = try ApprovalAgent(
                operations: OperationsService(activation: scene.activation, configuration: .on(self.clock)),
                factors: { factors },
                configuration: .patient
            ) { _ in .approve }
            var iterator = agent.events().makeAsyncIterator()
            let running = Task { try await agent.run() }
            let time = Task { await self.traffic.pass(self.clock) }
            try await body(scene, &iterator)
            time.cancel()
            running.cancel()
            do { try await running.value } catch let error as MobileTokenError where error.code == .activationRemoved {}
        }
    }

    private func makeScene(
        _ emulator: Emulator,
        _ template: String,
        _ store: ActivationStore,
        _ timeout: Duration?,
        _ accident: @escaping Accident
    ) async throws -> Scene {
        let (scene, isFirst) = (self.scene, Shared(true))
        let client = try emulator.makeClient {
            $0.store = store
            $0.timeout = timeout
            $0.transport = try self.traffic.transport { request, deliver in
                if request.url.hasSuffix("/operation/detail"), let action = self.beforeDetail.update({ $0.take() }) {
                    try await action()
                }
                guard request.url.hasSuffix(Self.approvals), let scene = scene.value, isFirst.take() else {
                    return try await deliver(request)
                }
                return try await accident(scene, request, deliver)
            }
        }
        let made = Scene(
            emulator: emulator,
            client: client,
            activation: try await emulator.makeActivation(user: "alice", password: password, client: client),
            payment: try await emulator.cloud.createOperation(template, userID: "alice")
        )
        scene.value = made
        return made
    }

    private static let lost = HTTPTransportError(.connectionLost)

    // MARK: Ours

    /// There is no answer, or that of a gateway or of a hotel's network.
    @Test(arguments: [(nil, ""), (502, ": httpStatus"), (200, ": invalidResponse")] as [(Int?, String)])
    func aDecisionWhoseAnswerWasLostIsOurs(status: Int?, trouble: String) async throws {
        try await self.run { _, request, deliver in
            _ = try await deliver(request)
            guard let status else { throw Self.lost }
            return HTTPResponse(status: status, body: Array("<html>Log in to the hotel's network</html>".utf8))
        } then: { scene, events async throws in
            await expect("unanswered\(trouble)", in: &events)
            await expect("decided: approve, inferred", in: &events)
            #expect(try await scene.status() == .approved)
            #expect(await scene.approvals().count == 1)
            #expect(await scene.emulator.signedRequests(of: scene.activation).areConsecutive)
        }
    }

    /// The request was on its way for longer than the client waited.
    @Test func aDecisionThatArrivesAfterTheFirstLookIsOurs() async throws {
        let late = Shared<HTTPRequest?>(nil)
        try await self.run { _, request, _ in
            late.value = request
            throw HTTPTransportError(.timeout)
        } then: { scene, events async throws in
            await expect("again after", in: &events)
            _ = try await CurlTransport().send(try #require(late.value))
            await expect("decided: approve, inferred", in: &events)
            #expect(await scene.approvals().count == 1)
        }
    }

    /// The activation's next decision waits until the first cannot arrive any more, and says so.
    @Test func theWaitOfTheNextDecisionIsReported() async throws {
        try await self.run { scene, _, _ in
            _ = try await scene.emulator.cloud.createOperation("login", userID: "alice")
            return HTTPResponse(status: 504)
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            await expect("waiting for an earlier decision, ", in: &events)
            await expect("decided: approve", in: &events)
            await expect("decided: approve", in: &events)
            #expect(try await scene.status() == .approved)
            #expect(await scene.emulator.refusals() == [])
        }
    }

    // MARK: Not ours

    /// No sooner than the client lets requests take.
    @Test(arguments: [nil, Duration.seconds(60)])
    func aDecisionThatNeverArrivedIsMadeAgain(timeout: Duration?) async throws {
        try await self.run(timeout: timeout) { _, _, _ in
            throw Self.lost
        } then: { scene, events async throws in
            await expect("again after", in: &events)
            let lost = self.clock.now
            #expect(try await scene.status() == .pending)
            await expect("decided: approve", in: &events)
            #expect(lost.duration(to: self.clock.now) >= (timeout ?? .seconds(20)) - .seconds(1))
            #expect(try await scene.status() == .approved)
            #expect(await scene.emulator.refusals() == [])
        }
    }

    @Test func whatTheBankCanceledMeanwhileIsNotOurs() async throws {
        try await self.run { scene, _, _ in
            try await scene.emulator.cloud.cancelOperation(scene.payment.id)
            throw Self.lost
        } then: { scene, events async throws in
            await expect("finished elsewhere: operationAlreadyCanceled", in: &events)
            #expect(await scene.approvals().isEmpty)
        }
    }

    @Test func whatAnotherDeviceDecidedIsNotOurs() async throws {
        try await self.run { scene, _, _ in
            let device = try await scene.emulator.makeActivation(user: "alice", password: password)
            let operations = OperationsService(activation: device)
            for operation in try await operations.operations() {
                try await operations.authorize(operation, with: .twoFactors)
            }
            throw Self.lost
        } then: { scene, events async throws in
            await expect("finished elsewhere: operationAlreadyFinished", in: &events)
            #expect(try await scene.status() == .approved)
        }
    }

    // MARK: Unknown

    /// Nothing can be asked about it any more, so the receipt is closed.
    @Test(arguments: [false, true]) func theFateOfWhatARemovedActivationDecidedIsUnknown(isDelivered: Bool) async throws
    {
        try await self.run { scene, request, deliver in
            if isDelivered { _ = try await deliver(request) }
            try await scene.emulator.removeActivation(scene.activation.activationID)
            throw Self.lost
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            await expect("unknown", in: &events)
            #expect(try await scene.client.results() == [.unknown])
        }
    }

    /// Neither a look at the operation tells how it ended, nor the history, which shows the latest ones alone, to two factors
    /// alone. Nobody asks for it again, although the store might have lost what is unknown.
    @Test(arguments: [false, true])
    func theVerdictThatTheServerDoesNotTellIsUnknownOnce(hasTwoFactors: Bool) async throws {
        let store = ActivationStore.inMemory(
            MemoryDriver(mayLoseOutcomes: true),
            sealingKey: SecretBytes(copying: [UInt8](repeating: 7, count: 32))
        )
        let factors: Activation.Authentication = hasTwoFactors ? .twoFactors : .possession
        try await self.run("login_1FA", with: factors, listLength: 1, store: store) { scene, request, deliver in
            _ = try await deliver(request)
            _ = try await scene.emulator.cloud.createOperation("login_1FA", userID: "alice")
            throw Self.lost
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            await expect("unknown", in: &events)
            await expect("decided: approve", in: &events)
            let position = await scene.emulator.journalPosition
            try await self.clock.sleep(for: .seconds(60))
            let made = await scene.emulator.journal(since: position).calls
            #expect(!made.isEmpty && Set(made) == ["list"])
            let results = try await store.receipts(of: nil, after: 0, limit: 9).map(\.outcome?.result)
            #expect(results == [.unknown, .accepted])
        }
    }

    /// Another signature is made after the turn of the lost one, and before the agent can ask. The status before it wrote into the
    /// receipts that the server had followed.
    @Test func anotherSignatureDoesNotHideTheFate() async throws {
        let signed = Shared(false)
        try await self.run { scene, request, deliver in
            _ = try await deliver(request)
            let outage = FaultRule(match: .init(path: "**/operation/detail"), effect: .init(status: 503))
            await scene.emulator.faults.add(outage)
            Task {
                try await scene.activation.validate(.twoFactors)
                // The agent may have asked for the status before the signature: then not for the operation any more.
                let position = await scene.emulator.journalPosition
                _ = await scene.emulator.nextRequest(to: "**/operation/detail", since: position)
                await scene.emulator.faults.removeAll()
                signed.value = true
            }
            throw Self.lost
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            await expect("decided: approve, inferred", in: &events)
            #expect(signed.value)
            #expect(await scene.approvals().count == 1)
        }
    }

    /// Two receipts do not claim one operation.
    @Test(arguments: [DecisionOutcome.Result.accepted, .inferred])
    func whatAnotherReceiptClaimsIsNotInferred(claim: DecisionOutcome.Result) async throws {
        let store = ActivationStore.inMemory()
        try await self.run(store: store) { scene, request, deliver in
            _ = try await deliver(request)
            try await store.insert(ActivationStoreConformance.sparseRecord("other"))
            let intent = DecisionIntent(
                activationID: "other",
                operationID: scene.payment.id,
                verdict: .approve,
                factors: .possessionKnowledge,
                signed: ""
            )
            let move = try await store.update("other", recording: intent) { $0.takeMove() + 1 }
            let outcome = DecisionOutcome(claim, localDate: Date(), serverDate: nil)
            try await store.record(outcome, ofMove: move, of: "other")
            throw Self.lost
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            // Two signatures never decide one operation.
            await expect(claim == .accepted ? "finished elsewhere" : "unknown", in: &events)
            let receipts = try await store.receipts(of: scene.activation.activationID, after: 0, limit: 9)
            #expect(receipts.map(\.outcome?.result) == [claim == .accepted ? .notFollowed : .unknown])
        }
    }

    /// The request arrives between the two questions, and another signature follows it. A receipt that says "not followed" would lie.
    @Test func whatArrivesWhileItsFateIsAskedForIsOurs() async throws {
        try await self.run { scene, request, _ in
            self.beforeDetail.value = {
                _ = try await CurlTransport().send(request)
                try await scene.activation.validate(.possession)
            }
            throw Self.lost
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            await expect("decided: approve, inferred", in: &events)
            #expect(try await scene.status() == .approved)
            #expect(await scene.approvals().count == 1)
        }
    }

    /// A refusal that says nothing of the operation is no end of it.
    @Test func theServersTroubleWithTheQuestionIsWaitedFor() async throws {
        try await self.run { scene, request, deliver in
            _ = try await deliver(request)
            self.beforeDetail.value = {
                throw MobileTokenError(.httpStatus, "", httpStatus: 400, serverCode: "ERR_GENERIC_X")
            }
            throw Self.lost
        } then: { scene, events async throws in
            await expect("unanswered", in: &events)
            await expect("again after", in: &events)
            await expect("decided: approve, inferred", in: &events)
            #expect(await scene.approvals().count == 1)
        }
    }
}
