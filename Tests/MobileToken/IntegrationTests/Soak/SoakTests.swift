import Foundation
import MobileToken
import MobileTokenObserving
import MobileTokenTesting
import TestSupport
import Testing

private let soakMinutes = ProcessInfo.processInfo.environment["MOBILE_TOKEN_SOAK_MINUTES"]

/// Agents that decide for a fleet at a troubled bank, for as long as `Scripts/soak` says, in real time: what they take in memory,
/// descriptors and threads must be explained by how many things there are, and every decision must be right.
///
/// Only here does a test wait for time to pass. What trouble can do is the matter of simulated worlds (`Tests/Simulation/Simulation`); this one is
/// about what hours do.
@Suite(.enabled(if: soakMinutes != nil, "Scripts/soak runs it")) struct SoakTests {
    private static let limits = OperationsFleet.ServerLimits(requestsPerSecond: 100, concurrentRequests: 16)

    @Test func nothingGrowsAndEveryDecisionIsRight() async throws {
        let minutes = try #require(soakMinutes.flatMap { Double($0) })
        let duration = Int((try #require(minutes > 0 && minutes <= 10_000 ? minutes : nil) * 60).rounded())
        let generator = SeededGenerator()
        let plan = TroubledBank.Plan(duration: duration)
        try await withEmulator(altered(.init()) { $0.seed = generator.seed }) { emulator async throws in
            let folder = try TemporaryFolder()
            var soak = Soak(emulator, plan, generator, storeAt: folder.file("store.sqlite"))
            try await soak.run()
            try await self.check(soak, plan)
        }
    }

    private func check(_ soak: Soak, _ plan: TroubledBank.Plan) async throws {
        let report = SoakReport(samples: soak.samples, title: "\(plan.deviceCount) activations, faults, and an agent")
        print(report.table)
        if let file = ProcessInfo.processInfo.environment["MOBILE_TOKEN_SOAK_PLOT"] {
            try report.svg.write(toFile: file, atomically: true, encoding: .utf8)
        }
        let bounds = SoakBounds(
            activationCount: plan.deviceCount,
            connectionCount: Self.limits.concurrentRequests,
            processorCount: ProcessInfo.processInfo.activeProcessorCount
        )
        let (idle, end) = (try #require(soak.idle), try #require(soak.end))
        // All have been polled once by then.
        let settled = soak.samples.filter { $0.elapsed >= plan.pollInterval * 2 }
        #expect(bounds.violations(idle: idle, settled, end: end) == [])

        let statuses = try await soak.bank.statuses()
        for (id, kind) in soak.bank.operations {
            let decided = statuses[id].flatMap { ["APPROVED", "REJECTED"].contains($0) ? $0 : nil }
            #expect(decided == kind.decided, "\(id) \(kind) is \(statuses[id] ?? "")")
            #expect(soak.record.decisionCounts[id] ?? 0 <= 1, "\(id) was decided twice")
        }
        #expect(soak.record.reusedCounters == [])
        #expect(soak.record.wrongSignatures == [])
        let audit = try await soak.auditReceipts()
        #expect(audit.problems == [])
        print(
            "operations: \(soak.bank.operations.count), faults: \(soak.record.strikeCount), receipts: \(audit.results)"
        )

        // Otherwise this was no soak.
        #expect(soak.record.requestCount > plan.deviceCount * plan.duration / 10)
        #expect(soak.record.strikeCount > 0 && soak.agentCount > 1)
        for status in ["APPROVED", "REJECTED"] { #expect(statuses.values.contains(status)) }
    }

    /// The bank, and the agents that come and go.
    private struct Soak {
        var bank: TroubledBank
        var record = BankRecord()
        private(set) var samples: [SoakSample] = []
        /// The process before anything connects to the bank, and when all has been stopped.
        private(set) var idle: SoakSample?
        private(set) var end: SoakSample?
        private(set) var agentCount = 0
        private let path: String
        private let lags = LongestLag()
        private var generator: SeededGenerator
        private var agent: SoakedAgent?
        private let start = ContinuousClock.now

        /// The probability that a request is struck, by each kind of fault.
        private static let weather = [0, 0.003, 0.01]

        init(_ emulator: Emulator, _ plan: TroubledBank.Plan, _ generator: SeededGenerator, storeAt path: String) {
            self.bank = TroubledBank(emulator, plan, generator)
            (self.path, self.generator) = (path, generator)
        }

        mutating func run() async throws {
            self.idle = self.sample
            let (client, store) = try self.client()
            for _ in 0..<self.bank.plan.deviceCount { try await self.bank.register(with: client) }
            await client.shutdown()
            await store.close()
            await self.record.skip(self.bank.emulator)

            let duration = self.bank.plan.duration
            // Agents follow one another, so that what one leaves behind is seen.
            let lifetime = max(10, min(600, duration / 2))
            for second in 0..<duration {
                if second.isMultiple(of: lifetime) { try await self.replaceAgent() }
                if second.isMultiple(of: 10) {
                    let probability = Self.weather.randomElement(using: &self.generator) ?? 0
                    await self.bank.emulator.faults.set(TroubledBank.faults(second == 0 ? 0.01 : probability))
                }
                try await self.bank.liveASecond()
                try await self.passSecond()
                if second.isMultiple(of: max(1, duration / 500)) { self.samples.append(self.sample) }
            }
            try await self.calmDown()
            try await self.agent?.stop()
            self.agent = nil
            // The server closes its ends when it notices.
            let idle = self.idle?.descriptorCount ?? 0
            for _ in 0..<10 where self.sample.descriptorCount > idle { try await self.passSecond() }
            self.end = self.sample
        }

        /// The trouble ends, what the agent can decide is decided, and it knows what became of that.
        private mutating func calmDown() async throws {
            await self.bank.emulator.faults.removeAll()
            // The operations that chance made before may all have been for people.
            for kind in [TroubledBank.Kind.login, .quickLogin] { try await self.bank.make(kind) }
            for _ in 0..<60 {
                try await self.passSecond()
                if try await self.isDone() { break }
            }
            self.samples.append(self.sample)
        }

        private func isDone() async throws -> Bool {
            guard await self.agent?.hasNothingOpen ?? true else { return false }
            let statuses = try await self.bank.statuses()
            return self.bank.operations.allSatisfy { id, kind in statuses[id] != "PENDING" || kind.decided == nil }
        }

        private mutating func passSecond() async throws {
            try await Task.sleep(for: .seconds(1))
            await self.record.read(self.bank.emulator)
        }

        private mutating func replaceAgent() async throws {
            try await self.agent?.stop()
            let (client, store) = try self.client()
            self.agent = SoakedAgent(
                client,
                store,
                interval: self.bank.plan.pollInterval,
                limits: SoakTests.limits
            )
            self.agentCount += 1
        }

        private var sample: SoakSample {
            .now(
                elapsed: ContinuousClock.now - self.start,
                operationCount: self.bank.operations.count,
                longestLag: self.lags.take()
            )
        }

        private func client() throws -> (MobileTokenClient, ActivationStore) {
            let store = ActivationStore.sqlite(path: self.path)
            let client = try self.bank.emulator.makeClient {
                $0.store = store
                $0.observer = self.lags
            }
            return (client, store)
        }

        func auditReceipts() async throws -> ReceiptAudit {
            let (client, store) = try self.client()
            let receipts = try await client.allReceipts()
            await client.shutdown()
            await store.close()
            return ReceiptAudit(receipts, self.record)
        }
    }
}

/// An agent with a fleet, a client and a store of its own, in real time.
private struct SoakedAgent {
    private let agent: ApprovalAgent
    private let client: MobileTokenClient
    private let store: ActivationStore
    private let running: Task<Void, any Error>

    init(
        _ client: MobileTokenClient,
        _ store: ActivationStore,
        interval: Duration,
        limits: OperationsFleet.ServerLimits
    ) {
        (self.client, self.store) = (client, store)
        var configuration = OperationsFleet.Configuration()
        configuration.pollInterval = interval
        configuration.limits = limits
        let agent = ApprovalAgent(
            fleet: client.makeFleet(configuration: configuration),
            factors: { activation in try await activation.unlockKnowledge(password: password) },
            policy: TroubledBank.policy
        )
        self.agent = agent
        self.running = Task { try await agent.run() }
    }

    /// `true` if it waits for nothing but new operations.
    var hasNothingOpen: Bool {
        get async {
            let health = self.agent.health
            return health.openOperationCount == 0 && health.fleet.decisionsInFlight == 0
                && health.fleet.decisionsUnknown == 0
        }
    }

    func stop() async throws {
        self.running.cancel()
        let result = await self.running.result
        await self.client.shutdown()
        await self.store.close()
        try result.get()
    }
}

/// Records the longest delay of a poll, as services tell their observer.
private final class LongestLag: MobileTokenObserver {
    private let longest = Shared(Duration.zero)

    func pollStarted(_ poll: MobileTokenObservation.Poll) { self.longest.update { $0 = max($0, poll.lag) } }

    /// The longest since the last call.
    func take() -> Duration {
        self.longest.update { longest in
            defer { longest = .zero }
            return longest
        }
    }
}
