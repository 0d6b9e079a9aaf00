import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing
import TestSupport

/// Some minutes in the life of many activations at a troubled bank, and an agent that decides for them.
///
/// `MOBILE_TOKEN_TROUBLE=hour` takes 200 activations and an hour. The seed is printed.
@Suite(.timeLimit(.minutes(30))) struct AgentTroubleTests {
    private static let isLong = ProcessInfo.processInfo.environment["MOBILE_TOKEN_TROUBLE"] == "hour"
    private static let (deviceCount, duration) = isLong ? (200, 3_600) : (10, 400)
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private let clock = ManualClock()
    private let traffic = Traffic()

    /// What the journal tells, gathered while time passes, because it forgets.
    private struct Record {
        var position: UInt64 = 0
        var strikes = 0
        /// How often the server carried out a decision on an operation.
        var decisions: [String: Int] = [:]
        var refusals: Set<String> = []
        /// The last counter value that each activation used up.
        var counters: [String: UInt64] = [:]
        var reusedCounters: [String] = []

        mutating func read(_ emulator: Emulator) async throws {
            for entry in await emulator.journal(since: self.position) {
                self.position = entry.id
                if entry.fault != nil { self.strikes += 1 }
                if let refusal = entry.refusal { self.refusals.insert(refusal) }
                guard entry.isSigned, entry.isAccepted else { continue }
                self.note(entry)
                guard entry.path.hasSuffix("/authorize") || entry.path.hasSuffix("/cancel") else { continue }
                let id = try JSONValue(parsing: Array(entry.body.utf8))["requestObject"]?["id"]?.string
                self.decisions[id ?? "", default: 0] += 1
            }
        }

        private mutating func note(_ entry: Emulator.JournalEntry) {
            guard let id = entry.activationID, let before = entry.counterBefore, let after = entry.counterAfter else {
                return
            }
            if before < self.counters[id] ?? 0 || after <= before { self.reusedCounters.append(id) }
            self.counters[id] = after
        }
    }

    @Test func aBadDayAtTheBankEndsWell() async throws {
        let generator = SeededGenerator()
        var configuration = Emulator.Configuration()
        configuration.seed = generator.seed
        configuration.templates = [TroubledBank.deceptiveTemplate]
        try await withEmulator(configuration) { emulator async throws in
            await emulator.clock.freeze(at: Self.start)
            var bank = TroubledBank(emulator, generator)
            let client = try self.makeClient(emulator)
            for _ in 0..<Self.deviceCount { try await bank.register(with: client) }
            let fleet = client.fleet()
            let agent = self.makeAgent(fleet)
            let events = Shared<[ApprovalAgent.Event]>([])
            let reading = Task {
                for await event in agent.events() { events.update { $0.append(event) } }
            }
            let running = Task { try await agent.run() }

            var record = Record()
            await emulator.faults.set(TroubledBank.faults(0.02))
            for second in 0..<Self.duration {
                try await bank.live(through: second)
                try await self.pass(emulator, fleet, agent, &record)
            }
            try await bank.calmDown()
            // Long enough for a blocked activation to be asked about, and for what was lost to be made again.
            for _ in 0..<400 { try await self.pass(emulator, fleet, agent, &record) }

            running.cancel()
            try await running.value
            await reading.value
            try await self.check(bank, record, events.value, await agent.health)
        }
    }

    private func makeClient(_ emulator: Emulator) throws -> MobileTokenClient {
        let clock = self.clock
        return try emulator.makeClient {
            $0.clock = clock
            $0.wallClock = { Self.start + ManualClock().now.duration(to: clock.now) / .seconds(1) }
            $0.transport = try self.traffic.transport()
        }
    }

    private func makeAgent(_ fleet: OperationsFleet) -> ApprovalAgent {
        ApprovalAgent(
            fleet: fleet,
            factors: { activation in try await activation.unlockKnowledge(password: password) }
        ) { review in
            switch review.operation.name {
            case "login": return .approve
            case "login_1FA": return .reject(.unexpectedOperation)
            default:
                guard let total = review.total(in: "CZK"), total > 0, total <= 50 else { return .leave }
                return .approve
            }
        }
    }

    /// A second, for the client and for the server, once all is quiet. What is under way may itself wait for time, such as at
    /// the limit of requests a second; so after a while time passes anyhow.
    private func pass(
        _ emulator: Emulator,
        _ fleet: OperationsFleet,
        _ agent: ApprovalAgent,
        _ record: inout Record
    ) async throws {
        for _ in 0..<200 {
            await self.traffic.settle()
            guard await fleet.isIdle, await agent.isQuiet else { continue }
            break
        }
        await emulator.clock.advance(by: .seconds(1))
        self.clock.advance(by: .seconds(1))
        try await record.read(emulator)
    }

    // MARK: What must hold

    private func check(
        _ bank: TroubledBank,
        _ record: Record,
        _ events: [ApprovalAgent.Event],
        _ health: ApprovalAgent.Health
    ) async throws {
        let told = Dictionary(grouping: events.filter { $0.operation != nil }) { $0.operation?.id ?? "" }
        var statuses: [String: Int] = [:]
        for (id, operation) in bank.operations {
            let status = try await bank.emulator.cloud.operation(id).status
            statuses[status, default: 0] += 1
            self.check(id, operation, status, told[id] ?? [], bank.devices[operation.device])
            #expect(record.decisions[id] ?? 0 <= 1, "\(id) was decided twice")
        }
        #expect(record.reusedCounters == [])
        #expect(!record.refusals.contains("the signature is wrong"))
        for device in bank.devices {
            #expect(await bank.emulator.summary(of: device.activation)?.failedAttempts == 0)
        }
        let inferred = events.count { if case .decided(_, isInferred: true) = $0.kind { true } else { false } }
        let unanswered = events.count { if case .unanswered = $0.kind { true } else { false } }
        print(
            "\(bank.operations.count) operations \(statuses), \(record.strikes) faults,",
            "\(unanswered) lost answers, \(inferred) inferred, \(health.fleet.decisionsUnknown) unknown"
        )
        // Otherwise this was no bad day.
        #expect(
            record.strikes > 50 && unanswered > 0 && statuses["APPROVED"] ?? 0 > 10 && statuses["REJECTED"] ?? 0 > 3
        )
    }

    private func check(
        _ id: String,
        _ operation: TroubledBank.Operation,
        _ status: String,
        _ events: [ApprovalAgent.Event],
        _ device: TroubledBank.Device
    ) {
        let story = events.map { "\($0.kind)" }
        let isUnknown = story.contains("unknown")
        switch status {
        case "APPROVED", "REJECTED":
            #expect(status == operation.kind.decided, "\(id) \(operation.kind): \(story)")
            #expect(isUnknown || story.count { $0.hasPrefix("decided") } == 1, "\(id): \(story)")
        case "PENDING":
            let isLeft = operation.kind.decided == nil && !story.isEmpty
            #expect(isLeft || isUnknown || device.isRemoved, "\(id) \(operation.kind) is pending: \(story)")
        default:  // expired or canceled: its story tells, unless its device could not see it
            #expect(!story.isEmpty || device.hadTrouble, "\(id) \(operation.kind) is \(status): \(story)")
        }
    }
}
