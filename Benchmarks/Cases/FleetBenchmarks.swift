import CAllocations
import Foundation
import MobileToken

/// Thousands of activations in one process, polled as one fleet.
let fleetBenchmarks: [Benchmark] =
    [(100, 7), (1000, 7), (10_000, 7), (100_000, 60)].map { fleetBenchmark($0, every: .seconds($1)) }
    + [startBenchmark(10_000), idleBenchmark(10_000), agentBenchmark(10_000)]

private func fleetBenchmark(_ count: Int, every interval: Duration) -> Benchmark {
    Benchmark("fleet.\(count)", "\(count) activations polled every \(interval.components.seconds) s") { settings in
        let intervals = settings.isQuick || count > 10_000 ? 1 : 4
        let lags = LagRecorder(capacity: count * (intervals + 2))
        return try await withFleet(of: count, every: interval, lags) { fleet in
            try await fleet.measure(intervals: intervals, name: "fleet.\(count)")
        }
    }
}

/// From an SQLite file to the moment at which every activation is open, its first poll planned.
private func startBenchmark(_ count: Int) -> Benchmark {
    Benchmark("fleet.start.\(count)", "\(count) activations opened from SQLite") { settings in
        let folder = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = ActivationStore.sqlite(path: folder.appending(path: "activations.sqlite").path)
        let lags = LagRecorder(capacity: count)
        let row = try await withFleet(of: count, every: .seconds(600), lags, in: store) { fleet in
            Row(
                name: "fleet.start.\(count)",
                detail: "all opened",
                unit: .milliseconds,
                figure: Figure(fleet.startDuration / .milliseconds(1)),
                goals: [.atMost(2000)],
                size: count
            )
        }
        await store.close()
        return [row]
    }
}

/// Measures an activation that another process polls.
private func idleBenchmark(_ count: Int) -> Benchmark {
    Benchmark("fleet.idle.\(count)", "\(count) activations that another process polls") { settings in
        let activations = try await StoredActivations(count: count)
        let server = try StaticServerProcess([OperationFixture.answer(count: 0)])
        let client = try activations.client(of: server)
        let before = CAllocations_bytes_in_use()
        let fleet = client.makeFleet()
        try await fleet.refreshActivations()
        let bytes = (CAllocations_bytes_in_use() - before) / count
        try check(fleet.health.elsewhereCount == count)
        await client.shutdown()
        server.stop()
        return [
            Row(
                name: "fleet.idle.\(count)",
                detail: "heap of an unopened activation",
                unit: .bytes,
                figure: Figure(Double(bytes)),
                goals: [.atMost(1024)],
                size: count
            )
        ]
    }
}

/// Measures an activation that an agent watches and that has nothing to decide.
private func agentBenchmark(_ count: Int) -> Benchmark {
    Benchmark("agent.idle.\(count)", "\(count) activations that an agent watches, without operations") { _ in
        let lags = LagRecorder(capacity: 3 * count)
        return try await withFleet(of: count, every: .seconds(7), lags, withAgent: true) { fleet in
            [try await fleet.measureMemory(name: "agent.idle.\(count)")]
        }
    }
}

/// Runs a fleet of activations that were made earlier, before a server which knows nobody.
private func withFleet<Result>(
    of count: Int,
    every interval: Duration,
    _ lags: LagRecorder,
    in store: ActivationStore = ActivationStore.inMemory(),
    withAgent hasAgent: Bool = false,
    _ body: (RunningFleet) async throws -> Result
) async throws -> Result {
    let server = try StaticServerProcess([OperationFixture.answer(count: 0)])
    defer { server.stop() }
    let activations = try await StoredActivations(count: count, in: store)
    let client = try activations.client(of: server, observer: lags)
    do {
        let fleet = try await RunningFleet(activations, client, lags, every: interval, withAgent: hasAgent)
        let result = try await body(fleet)
        await fleet.stop()
        await client.shutdown()
        return result
    } catch {
        await client.shutdown()
        throw error
    }
}

private final class RunningFleet: Sendable {
    let startDuration: Duration

    private let count: Int
    private let interval: Duration
    private let lags: LagRecorder
    private let fleet: OperationsFleet
    private let running: Task<Void, any Error>
    private let threadsBefore: Int
    private let bytesBefore: Int

    /// Starts the fleet, its first polls spread over an interval, and waits until all activations are open.
    init(
        _ activations: StoredActivations,
        _ client: MobileTokenClient,
        _ lags: LagRecorder,
        every interval: Duration,
        withAgent hasAgent: Bool
    ) async throws {
        // Connections, worker threads and caches are there before anything is counted.
        let first = client.makeOperationsService(for: try await client.activation(id: activations.ids[0]))
        try await inParallel(inFlight) { _ in _ = try await first.operations() }
        var configuration = OperationsFleet.Configuration()
        configuration.pollInterval = interval
        configuration.limits = OperationsFleet.ServerLimits(requestsPerSecond: 10_000, concurrentRequests: 64)
        let fleet = client.makeFleet(configuration: configuration)
        (self.count, self.interval, self.lags, self.fleet) = (activations.ids.count, interval, lags, fleet)
        self.threadsBefore = Self.threadCount
        self.bytesBefore = CAllocations_bytes_in_use()
        let start = ContinuousClock.now
        self.running = Task {
            guard hasAgent else { return try await fleet.run() }
            try await ApprovalAgent(fleet: fleet, factors: { _ in Activation.Authentication.possession }) { _ in
                .deferToPeople
            }.run()
        }
        while lags.opened < self.count { try await Task.sleep(for: .milliseconds(2)) }
        self.startDuration = ContinuousClock.now - start
    }

    func stop() async {
        self.running.cancel()
        _ = await self.running.result
    }

    func measure(intervals: Int, name: String) async throws -> [Row] {
        try await Task.sleep(for: self.interval * 1.1)
        try check(self.lags.polled == self.count)
        let bytes = (CAllocations_bytes_in_use() - self.bytesBefore) / self.count
        let threads = max(0, Self.threadCount - self.threadsBefore)
        _ = self.lags.take()
        let start = Measurement.processorNanoseconds
        try await Task.sleep(for: self.interval * intervals)
        let processorTime = Measurement.processorNanoseconds - start
        let lags = self.lags.take().map { $0 / .milliseconds(1) }
        try check(self.fleet.health.counts == [.active: self.count])
        // Intervals vary by a twentieth, so the number of polls in a given time does as well.
        try check(Double(lags.count) >= 0.9 * Double(self.count * intervals))
        let late = Figure(samples: lags)
        let isGoal = self.count <= 10_000
        func row(_ detail: String, _ unit: Unit, _ value: Double, atMost limit: Double? = nil) -> Row {
            let goals = limit.map { isGoal ? [Goal.atMost($0)] : [] } ?? []
            return Row(name: name, detail: detail, unit: unit, figure: Figure(value), goals: goals, size: self.count)
        }
        return [
            row("lag of a poll, p99", .milliseconds, late.percentile(99), atMost: 250),
            row("lag of a poll, median", .milliseconds, late.median),
            row("heap of an activation and its service", .bytes, Double(bytes), atMost: 5800),
            row(
                "processor time of a poll",
                .microseconds,
                processorTime / 1e3 / Double(lags.count),
                atMost: self.count == 10_000 ? 100 : nil
            ),
            row("more threads than before", .count, Double(threads), atMost: 8),
        ]
    }

    func measureMemory(name: String) async throws -> Row {
        try await Task.sleep(for: self.interval * 1.1)
        try check(self.lags.polled == self.count)
        let bytes = (CAllocations_bytes_in_use() - self.bytesBefore) / self.count
        return Row(
            name: name,
            detail: "heap of an activation, its service and the agent's share",
            unit: .bytes,
            figure: Figure(Double(bytes)),
            goals: [.atMost(8192)],
            size: self.count
        )
    }

    private static var threadCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

}
