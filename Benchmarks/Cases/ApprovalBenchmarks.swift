import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import Synchronization

/// An approval from end to end: the counter on the disk before the signature, the emulator verifying it.
let approvalBenchmarks: [Benchmark] = [
    Benchmark("approve.loopback", "an approval with two factors, the factor unlocked, the counter stored durably") {
        settings in
        let times = try await withBank { bank in
            try await approve(settings.isQuick ? 60 : 300, bank.client, bank.emulator)
        }
        let goals = [Goal.atMost(3)]
        return [Row(name: "approve.loopback", unit: .milliseconds, figure: Figure(samples: times), goals: goals)]
    },
    Benchmark("approve.limited", "the same with and without four limits, by turns") { settings in
        try await withBank { bank in
            let devices = try await bank.devices(2)
            let factors = try await bank.unlocked(devices)
            _ = try bank.limited(devices[1])
            var times: [[Double]] = [[], []]
            for _ in 0..<(settings.isQuick ? 3 : 15) {
                try await bank.offer(20, to: devices)
                for (index, device) in devices.enumerated() {
                    for operation in try await device.operations.operations() {
                        let start = ContinuousClock.now
                        try await device.operations.authorize(
                            operation,
                            with: .possessionAndKnowledge(unlocked: factors[index])
                        )
                        times[index].append((ContinuousClock.now - start) / .milliseconds(1))
                    }
                }
            }
            let figures = times.map { Figure(samples: $0) }
            return [
                Row(
                    name: "approve.limited",
                    unit: .milliseconds,
                    figure: figures[1],
                    baselines: [.init(name: "without limits", figure: figures[0])],
                    goals: [.atMost(figures[0].median * 1.1)]
                )
            ]
        }
    },
    Benchmark(
        "approve.parallel",
        "approvals of 100 activations beside each other, the factors unlocked, counters and receipts stored durably"
    ) { settings in
        try await withBank { bank in
            let devices = try await bank.devices(100)
            let factors = try await bank.unlocked(devices)
            var (rates, processorTimes): ([Double], [Double]) = ([], [])
            for _ in 0..<settings.rounds(quick: 3, thorough: 7) {
                try await bank.offer(20, to: devices)
                let lists = try await inParallelMap(devices) { try await $0.operations.operations() }
                let (start, processorTime) = (ContinuousClock.now, Measurement.processorNanoseconds)
                _ = try await inParallelMap(Array(devices.indices)) { index in
                    for operation in lists[index] {
                        try await devices[index].operations.authorize(
                            operation,
                            with: .possessionAndKnowledge(unlocked: factors[index])
                        )
                    }
                }
                let count = Double(lists.joined().count)
                rates.append(count / ((ContinuousClock.now - start) / .seconds(1)))
                processorTimes.append((Measurement.processorNanoseconds - processorTime) / count)
            }
            return [
                Row(
                    name: "approve.parallel",
                    unit: .perSecond,
                    figure: Figure(samples: rates),
                    processorTime: Figure(samples: processorTimes).median,
                    goals: [.noLess(than: 3_000)]
                )
            ]
        }
    },
    Benchmark(
        "agent.throughput",
        "decisions of an agent over a fleet of 100 activations with 20 operations each, receipts stored durably"
    ) { settings in
        try await withBank { bank in
            let devices = try await bank.devices(100)
            try await bank.offer(20, to: devices)
            let decided = try await bank.decideAll(100 * 20, concurrency: 64)
            return [
                Row(
                    name: "agent.throughput",
                    unit: .perSecond,
                    figure: Figure(decided.rate),
                    processorTime: decided.processorNanoseconds
                )
            ]
        }
    },
]

/// An emulator in a process of its own, and a client whose activations are stored durably.
struct Bank {
    struct Device: Sendable {
        let user: String
        let activation: Activation
        let operations: OperationsService
    }

    let emulator: EmulatorProcess
    let client: MobileTokenClient

    func devices(_ count: Int) async throws -> [Device] {
        try await inParallelMap((0..<count).map { "user \($0)" }) { user in
            let activation = try await activate(user, self.client, self.emulator)
            return Device(
                user: user,
                activation: activation,
                operations: self.client.makeOperationsService(for: activation)
            )
        }
    }

    func unlocked(_ devices: [Device]) async throws -> [Activation.Authentication.UnlockedFactor] {
        try await inParallelMap(devices) { try await $0.activation.unlockKnowledge(password: "1234") }
    }

    /// Makes the decisions by hand of a device subject to four limits.
    func limited(_ device: Device) throws -> ApprovalAgent {
        var configuration = ApprovalAgent.Configuration()
        let scopes: [ApprovalAgent.Limit.Scope] = [.activation, .template, .fleet]
        configuration.limits = scopes.map {
            .init("\($0)", of: $0, within: .rolling(.hours(24)), count: 1_000_000, includingPeople: true)
        }
        configuration.limits.append(
            .init("sum", of: .fleet, within: .day(in: .gmt), sum: ["CZK": 1_000_000], includingPeople: true)
        )
        return try ApprovalAgent(
            operations: device.operations,
            factors: { .possession },
            configuration: configuration
        ) { _ in .deferToPeople }
    }

    /// Makes logins for each device.
    func offer(_ count: Int, to devices: [Device]) async throws {
        _ = try await inParallelMap(devices) { device in
            for _ in 0..<count {
                _ = try await self.emulator.control(
                    "operations",
                    ["userId": .string(device.user), "template": "login"]
                )
            }
        }
    }

    /// Runs an agent until it has approved so many operations, from its first verdict on.
    func decideAll(_ count: Int, concurrency: Int) async throws -> (rate: Double, processorNanoseconds: Double) {
        var configuration = OperationsFleet.Configuration()
        configuration.limits = OperationsFleet.ServerLimits(requestsPerSecond: 100_000, concurrentRequests: 128)
        configuration.random = { 0 }  // all polls at once, so that there is nothing to wait for
        var agentConfiguration = ApprovalAgent.Configuration()
        agentConfiguration.maximumConcurrency = concurrency
        let start = Start()
        let agent = ApprovalAgent(
            fleet: self.client.makeFleet(configuration: configuration),
            factors: { try await $0.unlockKnowledge(password: "1234") },
            configuration: agentConfiguration
        ) { _ in
            start.note()
            return .approve
        }
        let running = Task { try await agent.run() }
        var isBusy = true
        while isBusy {
            try await Task.sleep(for: .milliseconds(5))
            isBusy = agent.health.openOperationCount > 0 || start.asked < count
        }
        let end = (time: ContinuousClock.now, processorTime: Measurement.processorNanoseconds)
        running.cancel()
        try await running.value
        try check(agent.health.fleet.decisionsUnknown == 0)
        let first = try unwrap(start.first)
        return (
            Double(count) / ((end.time - first.time) / .seconds(1)),
            (end.processorTime - first.processorTime) / Double(count)
        )
    }
}

/// The moment at which a policy was asked first, and the number of its calls.
private final class Start: Sendable {
    private typealias Moment = (time: ContinuousClock.Instant, processorTime: Double)
    private let state = Mutex<(asked: Int, first: Moment?)>((0, nil))

    var asked: Int { self.state.withLock { $0.asked } }
    var first: (time: ContinuousClock.Instant, processorTime: Double)? { self.state.withLock { $0.first } }

    func note() {
        self.state.withLock { state in
            state.first = state.first ?? (.now, Measurement.processorNanoseconds)
            state.asked += 1
        }
    }
}

/// Runs `body` with a bank of its own.
///
/// - Parameter transport: The transport of the client; `nil` is the client's own.
func withBank<Result>(
    transport: (any HTTPTransport)? = nil,
    _ body: (Bank) async throws -> Result
) async throws -> Result {
    let emulator = try EmulatorProcess()
    let folder = FileManager.default.temporaryDirectory.appending(path: "approve-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = MobileTokenClient.Configuration()
    let store = ActivationStore.sqlite(path: folder.appending(path: "activations.sqlite").path)
    configuration.store = store
    configuration.transport = transport
    let client = try MobileTokenClient(
        baseURL: emulator.baseURL,
        sdkConfiguration: emulator.sdkConfiguration,
        configuration: configuration
    )
    func stop() async {
        await client.shutdown()
        await store.close()
        await emulator.stop()
    }
    do {
        let result = try await body(Bank(emulator: emulator, client: client))
        await stop()
        return result
    } catch {
        await stop()
        throw error
    }
}

/// Returns what `body` makes of each element, in their order, of all at once.
func inParallelMap<Element: Sendable, Value: Sendable>(
    _ elements: [Element],
    _ body: @escaping @Sendable (Element) async throws -> Value
) async throws -> [Value] {
    try await withThrowingTaskGroup(of: (Int, Value).self) { group in
        for (index, element) in elements.enumerated() { group.addTask { (index, try await body(element)) } }
        var values = [Value?](repeating: nil, count: elements.count)
        for try await (index, value) in group { values[index] = value }
        return values.compactMap { $0 }
    }
}

/// Makes an activation that is ready to sign.
private func activate(
    _ user: String,
    _ client: MobileTokenClient,
    _ emulator: EmulatorProcess
) async throws -> Activation {
    let registration = try await emulator.control("registrations", ["userId": .string(user)])
    let id = try unwrap(registration["registrationId"]?.string)
    let code = try unwrap(registration["activationQrCodeData"]?.string)
    let activation = try await client.activate(code: code, password: "1234")
    _ = try await emulator.control("registrations/\(id)/commit", [:])
    return activation
}

/// Activates, and returns the milliseconds of each approval.
private func approve(
    _ count: Int,
    _ client: MobileTokenClient,
    _ emulator: EmulatorProcess
) async throws -> [Double] {
    let activation = try await activate("alice", client, emulator)
    let factor = try await activation.unlockKnowledge(password: "1234")
    let service = client.makeOperationsService(for: activation)
    var times: [Double] = []
    for number in 0..<count {
        let made = try await emulator.control("operations", ["userId": "alice", "template": "login"])
        let operation = try await service.detail(id: try unwrap(made["operationId"]?.string))
        let start = ContinuousClock.now
        try await service.authorize(operation, with: .possessionAndKnowledge(unlocked: factor))
        // The first ones pay for connections and for the time synchronisation.
        if number >= 10 { times.append((ContinuousClock.now - start) / .milliseconds(1)) }
    }
    return times
}
