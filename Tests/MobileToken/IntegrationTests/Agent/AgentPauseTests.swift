import DecisionReceipts
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// A pause that one process makes in the store, and an agent of another one.
@Suite(.timeLimit(.minutes(5))) struct AgentPauseTests {
    private let clock = ManualClock()
    private let traffic = Traffic()

    private struct Stage {
        let emulator: Emulator
        let client: MobileTokenClient
        let activation: Activation
        /// Of another process.
        let otherClient: MobileTokenClient

        var receipts: [DecisionReceipt] { get async throws { try await self.client.allReceipts() } }
    }

    private func withStage(_ body: (Stage) async throws -> Void) async throws {
        try await withEmulator { emulator in
            let folder = try TemporaryFolder()
            let clients = try (0..<2).map { _ in
                try emulator.makeClient {
                    $0.store = ActivationStore.sqlite(path: folder.file("store.sqlite"))
                    $0.transport = try self.traffic.transport()
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: clients[0])
            try await body(
                Stage(emulator: emulator, client: clients[0], activation: activation, otherClient: clients[1])
            )
        }
    }

    private func run(
        _ stage: Stage,
        policy: @escaping ApprovalAgent.Policy,
        speed: Double = 100,
        _ body: (ApprovalAgent) async throws -> Void
    )
        async throws
    {
        let service = stage.client.makeOperationsService(for: stage.activation, configuration: .on(self.clock))
        let agent = try ApprovalAgent.patient(for: service, policy: policy)
        try await self.traffic.run(agent, self.clock, speed: speed) { _ in try await body(agent) }
    }

    /// The pause comes after the agent has looked for one, and before it signs.
    @Test func nothingIsSignedAgainstAPauseThatIsNotNoticed() async throws {
        try await self.withStage { stage async throws in
            let payment = try await stage.emulator.cloud.createOperation("payment", userID: "alice")
            let moves = try await stage.activation.status().counter
            let questions = Shared(0)
            try await self.run(stage) { review in
                // The login below may still be listed when deciding goes on.
                guard review.operation.id == payment.id else { return .deferToPeople }
                questions.update { $0 += 1 }
                try await stage.otherClient.pauseDeciding(reason: "fraud")
                return .approve
            } _: { agent in
                await until {
                    let health = agent.health
                    return health.decisionPause?.reason == "fraud" && health.openOperationCount == 1
                }
                #expect(!agent.health.isWell)
                #expect(try await stage.emulator.cloud.operation(payment.id).status == .pending)
                #expect(try await stage.receipts.isEmpty)
                #expect(try await stage.activation.status().counter == moves)
                #expect(await stage.emulator.refusals() == [])

                // A person may decide all the same.
                let login = try await stage.emulator.cloud.createOperation("login", userID: "alice")
                let byHand = stage.otherClient.makeOperationsService(
                    for: try await stage.otherClient.activation(id: stage.activation.activationID)
                )
                try await byHand.reject(try await byHand.detail(id: login.id))
                #expect(try await stage.receipts.map(\.intent.isAutomatic) == [false])

                try await stage.otherClient.resumeDeciding()
                #expect(await stage.emulator.decision(on: payment.id)?.status == .approved)
                await until { agent.health.isWell }
            }
            #expect(questions.value == 1)
            let receipts = try await stage.receipts
            #expect(receipts.map(\.intent.attempt) == [1, 1])
            #expect(receipts.map(\.outcome?.result) == [.accepted, .accepted])
        }
    }

    @Test func aPauseIsNoticedWithinSecondsAndHoldsAfterARestart() async throws {
        try await self.withStage { stage async throws in
            let questions = Shared(0)
            let policy: ApprovalAgent.Policy = { _ in
                questions.update { $0 += 1 }
                return .approve
            }
            try await self.run(stage, policy: policy, speed: 10) { agent in
                await until { agent.health.fleet.counts == [.active: 1] }
                let start = self.clock.now
                try await stage.otherClient.pauseDeciding()
                await until { agent.health.isDecidingPaused }
                #expect(start.duration(to: self.clock.now) < .seconds(120))  // time runs while the test looks
            }
            let login = try await stage.emulator.cloud.createOperation("login", userID: "alice")
            try await self.run(stage, policy: policy) { agent in
                await until { agent.health.openOperationCount == 1 }
                #expect(agent.health.decisionPause != nil)
                #expect(questions.value == 0)
                try await stage.otherClient.resumeDeciding()
                #expect(await stage.emulator.decision(on: login.id)?.status == .approved)
            }
        }
    }
}
