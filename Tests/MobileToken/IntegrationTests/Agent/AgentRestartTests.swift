import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// An agent whose predecessor was stopped between a signature and its answer: the receipts tell what is to be found out first.
@Suite(.timeLimit(.minutes(5))) struct AgentRestartTests {
    private let clock = ManualClock()
    private let traffic = Traffic()
    private static let approvals = "/api/auth/token/app/operation/authorize"

    /// Approves what the predecessor did not, and tells its events.
    private func run(
        _ client: MobileTokenClient,
        _ activation: Activation,
        _ body: (inout AsyncStream<ApprovalAgent.Event>.Iterator) async throws -> Void
    ) async throws {
        let service = client.makeOperationsService(for: activation, configuration: .on(self.clock))
        try await self.traffic.run(.patient(for: service), self.clock, body)
    }

    /// Covers a request that arrived before the process was gone, and one that did not.
    @Test(arguments: [false, true]) func whatThePredecessorSentIsFoundOutFirst(isDelivered: Bool) async throws {
        try await withEmulator { emulator async throws in
            // The predecessor gets no answer any more.
            let (isFirst, isDown) = (Shared(true), Shared(false))
            let client = try emulator.makeClient {
                $0.transport = try self.traffic.transport { request, deliver in
                    guard !isDown.value else { throw HTTPTransportError(.connectionFailed) }
                    guard request.url.hasSuffix(Self.approvals), isFirst.take() else {
                        return try await deliver(request)
                    }
                    if isDelivered { _ = try await deliver(request) }
                    isDown.value = true
                    throw HTTPTransportError(.timeout)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
            let operations = client.makeOperationsService(for: activation)
            let operation = try #require(try await operations.operations().first)
            _ = try? await operations.authorize(operation, with: .twoFactors)
            isDown.value = false

            try await self.run(client, activation) { events in
                // The list that arrives first may still hold the operation.
                await expect(isDelivered ? "decided: approve, inferred" : "decided: approve", in: &events)
            }
            #expect(try await emulator.cloud.operation(payment.id).status == .approved)
            #expect(await emulator.requests(to: Self.approvals).accepted.count == 1)
            #expect(try await client.results() == (isDelivered ? [.inferred] : [.notFollowed, .accepted]))
        }
    }

    /// The database fails, loses the last outcome, which is not written durably, and is started again. The agent goes on.
    @Test func anOutcomeThatTheStoreHasLostIsFoundOutAgain() async throws {
        try await withEmulator { emulator async throws in
            let driver = MemoryDriver(mayLoseOutcomes: true)
            let signed = Shared<MemoryDriver.Contents?>(nil)
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.store = ActivationStore.inMemory(
                    driver,
                    sealingKey: SecretBytes(copying: [UInt8](repeating: 7, count: 32))
                )
                $0.transport = try self.traffic.transport { request, deliver in
                    if request.url.hasSuffix(Self.approvals) { signed.value = driver.snapshot }
                    return try await deliver(request)
                }
            }
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            _ = try await emulator.cloud.createOperation("payment", userID: "alice")
            try await self.traffic.run(.patient(for: client.makeFleet()), self.clock) { events in
                await expect("decided: approve", in: &events)
                driver.snapshot = try #require(signed.value)
                await expect("decided: approve, inferred", in: &events)
            }
            #expect(try await client.results() == [.inferred])
            #expect(await emulator.requests(to: Self.approvals).count == 1)
        }
    }

    /// The activation is removed before the next process could ask about what was sent with it.
    @Test(arguments: [false, true])
    func whatThePredecessorSentWithAnActivationThatIsRemovedStaysUnknown(isFleet: Bool) async throws {
        try await withEmulator { emulator async throws in
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.transport = try self.traffic.transport { request, deliver in
                    guard request.url.hasSuffix("/operation/cancel") else { return try await deliver(request) }
                    throw HTTPTransportError(.timeout)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            for _ in 0..<2 { _ = try await emulator.cloud.createOperation("payment", userID: "alice") }
            let operations = client.makeOperationsService(for: activation)
            for operation in try await operations.operations() { _ = try? await operations.reject(operation) }
            try await emulator.removeActivation(activation.activationID)

            let agent =
                try isFleet
                ? ApprovalAgent.patient(for: client.makeFleet()) : ApprovalAgent.patient(for: operations)
            var events = agent.events().makeAsyncIterator()
            let running = Task { try await agent.run() }
            let time = Task { await self.traffic.pass(self.clock) }
            for _ in 0..<2 { await expect("unknown", in: &events) }
            if isFleet { running.cancel() }
            let end = await running.result
            time.cancel()
            // An agent for one activation ends with it, and not before all of its receipts are closed.
            if !isFleet { #expect(throws: MobileTokenError.self) { try end.get() } }
            #expect(try await client.results() == [.unknown, .unknown])
            #expect(agent.health.fleet.decisionsUnknown == 2)
        }
    }
}
