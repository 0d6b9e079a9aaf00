import DecisionReceipts
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport
import WireFacts

/// Agents behind a proxy that answers for the bank: what receipts say is what the bank did.
@Suite(
    .timeLimit(.minutes(8)),
    .wireFact("2.6", "4.1", "4.3")
)
struct AgentBehindProxyTests {
    private let clock = ManualClock()
    private let traffic = Traffic()
    private static let deviceCount = 4
    private static let roundCount = 12

    /// Lets this much of the agent's time pass, which another task moves on.
    private func pass(_ duration: Duration) async {
        let end = self.clock.now.advanced(by: duration)
        await until { self.clock.now >= end }
    }

    @Test func noReceiptLiesAndNothingStaysStopped() async throws {
        let proxy = MeddlingProxy(SeededGenerator())
        try await withEmulator { emulator async throws in
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.transport = try self.traffic.transport { try await proxy.pass($0, $1) }
            }
            for number in 0..<Self.deviceCount {
                _ = try await emulator.makeActivation(user: "user \(number)", password: password, client: client)
            }
            var record = BankRecord()
            await record.skip(emulator)
            let agent = ApprovalAgent(
                fleet: client.makeFleet(),
                factors: { try await $0.unlockKnowledge(password: password) },
                configuration: .patient,
                policy: TroubledBank.policy
            )
            let stops = Shared(0)
            let events = agent.events()
            let listening = Task {
                for await event in events { if case .stopped = event.kind { stops.update { $0 += 1 } } }
            }
            let running = Task { try await agent.run() }
            let time = Task { await self.traffic.pass(self.clock) }
            await until { agent.health.fleet.counts == [.active: Self.deviceCount] }

            proxy.set(probability: 0.25)
            let operations = try await self.makeOperations(at: emulator)
            await self.pass(.seconds(60))
            proxy.set(probability: 0)

            for (id, status) in operations { #expect(await emulator.decision(on: id)?.status.rawValue == status) }
            await until { (try? await client.allReceipts().allSatisfy { $0.outcome?.isOpen == false }) == true }
            #expect(agent.health.stoppedActivationCount == 0)
            #expect(stops.value == 0)
            time.cancel()
            try await running.stop()
            listening.cancel()

            await record.read(emulator)
            let audit = ReceiptAudit(try await client.allReceipts(), record)
            print(audit.results, proxy.strikes.values.reduce(0, +), "decisions struck")
            #expect(audit.problems == [])
            #expect(record.reusedCounters.isEmpty)
            #expect(record.decisionCounts.values.allSatisfy { $0 == 1 })
            #expect(record.decisions.count == operations.count)
            #expect(proxy.strikes.values.reduce(0, +) >= 5)
        }
    }

    /// One operation a device and round, by turns to be approved and to be rejected: which state each has to get to.
    private func makeOperations(at emulator: Emulator) async throws -> [String: String] {
        var operations: [String: String] = [:]
        for round in 0..<Self.roundCount {
            for number in 0..<Self.deviceCount {
                let (template, status) =
                    (round + number).isMultiple(of: 3) ? ("login_1FA", "REJECTED") : ("login", "APPROVED")
                let made = try await emulator.cloud.createOperation(template, userID: "user \(number)")
                operations[made.id] = status
            }
            await self.pass(.seconds(5))
        }
        return operations
    }

    // MARK: One strike at a time

    /// Runs an agent for one activation, whose first approval the proxy strikes, until the operation is approved and all is known.
    private func receiptsAfter(
        _ strike: MeddlingProxy.Strike,
        leavesDoubt: Bool = false
    ) async throws -> [DecisionOutcome.Result?] {
        let isFirst = Shared(true)
        var results: [DecisionOutcome.Result?] = []
        try await withEmulator { emulator async throws in
            let client = try emulator.makeClient {
                $0.clock = self.clock
                $0.transport = try self.traffic.transport { request, deliver in
                    guard request.url.hasSuffix("/operation/authorize"), isFirst.take() else {
                        return try await deliver(request)
                    }
                    return try await strike.answer(to: request, deliver)
                }
            }
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let agent = ApprovalAgent(
                fleet: client.makeFleet(),
                factors: { try await $0.unlockKnowledge(password: password) },
                configuration: .patient,
                policy: { _ in .approve }
            )
            try await self.traffic.run(agent, self.clock) { _ in
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(await emulator.decision(on: login.id)?.status == .approved)
                await until { (try? await client.allReceipts().allSatisfy { $0.outcome?.isOpen == false }) == true }
                if !leavesDoubt { #expect(agent.health.isWell) }
            }
            results = try await client.results()
            #expect(await emulator.requests(to: "**/operation/authorize").accepted.count == 1)
        }
        return results
    }

    @Test(arguments: MeddlingProxy.statuses) func aPageAfterTheBankDidItIsFoundOutAbout(status: Int) async throws {
        #expect(try await self.receiptsAfter(.page(status: status, isDelivered: true)) == [.inferred])
    }

    @Test(arguments: MeddlingProxy.statuses) func aPageInsteadOfTheBankIsFollowedByAnotherAttempt(status: Int)
        async throws
    {
        #expect(try await self.receiptsAfter(.page(status: status, isDelivered: false)) == [.notFollowed, .accepted])
    }

    /// The bank refused this very request: that it carried out another copy is likely, and not proved.
    @Test func aRequestSentTwiceIsNeverInferred() async throws {
        #expect(try await self.receiptsAfter(.twice, leavesDoubt: true) == [.unknown])
    }
}
