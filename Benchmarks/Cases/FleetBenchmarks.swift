import CAllocations
import Foundation
import MobileToken
import Synchronization

/// Thousands of services in one process, each polling its own activation's list every 7 s.
let fleetBenchmarks: [Benchmark] = [100, 1000, 10_000].map { count in
    Benchmark("fleet.\(count)", "\(count) services polling every 7 s") { settings in
        let server = try StaticServerProcess(answer: OperationFixture.answer(count: 0))
        let intervals = settings.isQuick ? 1 : 4
        let lags = LagRecorder(capacity: count * (intervals + 2))
        let activations = try await StoredActivations(count: count)
        let client = try activations.client(of: server, observer: lags)
        let fleet = try await Fleet(activations, client, lags)
        let rows: [Row]
        do {
            rows = try await fleet.measure(intervals: intervals, name: "fleet.\(count)")
        } catch {
            await client.shutdown()
            server.stop()
            throw error
        }
        await client.shutdown()
        server.stop()
        return rows
    }
}

private final class Fleet: Sendable {
    private static let interval = Duration.seconds(7)

    private let lags: LagRecorder
    private let services: [OperationsService]
    private let threadsBefore: Int
    private let activationBytes: Int
    private let bytesBefore: Int

    /// Starts the services, their first polls spread over an interval as those of an application would be.
    init(_ activations: StoredActivations, _ client: MobileTokenClient, _ lags: LagRecorder) async throws {
        // Connections, worker threads and caches are there before anything is counted.
        let first = client.operations(of: try await client.activation(id: activations.ids[0]))
        try await inParallel(inFlight) { _ in _ = try await first.operations() }
        self.lags = lags
        self.threadsBefore = Self.threadCount
        let bytesAtFirst = CAllocations_bytes_in_use()
        let opened = try await client.activations()
        self.bytesBefore = CAllocations_bytes_in_use()
        self.activationBytes = (self.bytesBefore - bytesAtFirst) / opened.count
        self.services = opened.map { client.operations(of: $0) }
        for service in self.services { await service.startPolling(every: Self.interval, options: .spreadStart) }
    }

    func measure(intervals: Int, name: String) async throws -> [Row] {
        let count = self.services.count
        try await Task.sleep(for: Self.interval * 1.1)
        try check(self.lags.polled == count)
        let serviceBytes = (CAllocations_bytes_in_use() - self.bytesBefore) / count
        let threads = max(0, Self.threadCount - self.threadsBefore)
        _ = self.lags.take()
        let start = Self.processorNanoseconds
        try await Task.sleep(for: Self.interval * intervals)
        let processorTime = Self.processorNanoseconds - start
        let lags = self.lags.take().map { $0 / .milliseconds(1) }
        for service in self.services { try check((try? await service.lastFetchResult?.get()) != nil) }
        // Intervals vary by a twentieth, so the number of polls in a given time does as well.
        try check(Double(lags.count) >= 0.9 * Double(count * intervals))
        let late = Figure(samples: lags)
        func row(_ detail: String, _ unit: Unit, _ value: Double, atMost limit: Double? = nil) -> Row {
            let goals = limit.map { [Goal.atMost($0)] } ?? []
            return Row(name: name, detail: detail, unit: unit, figure: Figure(value), goals: goals, size: count)
        }
        return [
            row("lag of a poll, p99", .milliseconds, late.percentile(99), atMost: 250),
            row("lag of a poll, median", .milliseconds, late.median),
            row("heap of a service between polls", .bytes, Double(serviceBytes), atMost: 8192),
            row("heap of its activation", .bytes, Double(self.activationBytes)),
            row("processor time of a poll", .microseconds, processorTime / 1e3 / Double(lags.count)),
            row("more threads than before", .count, Double(threads), atMost: 8),
        ]
    }

    private static var threadCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

    private static var processorNanoseconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

/// How late polls began, as services tell their observer.
private final class LagRecorder: MobileTokenObserver {
    private struct State {
        var lags: [Duration] = []
        var activations: Set<String> = []
    }

    private let state: Mutex<State>

    /// Makes room at once, so that what it keeps is not taken for the services' memory.
    init(capacity: Int) {
        var state = State()
        state.lags.reserveCapacity(capacity)
        state.activations.reserveCapacity(capacity)
        self.state = Mutex(state)
    }

    /// How many services have polled so far.
    var polled: Int { self.state.withLock { $0.activations.count } }

    func pollStarted(activationID: String, lag: Duration) {
        self.state.withLock { state in
            state.lags.append(lag)
            state.activations.insert(activationID)
        }
    }

    /// The lags since the last call.
    func take() -> [Duration] {
        self.state.withLock { state in
            defer { state.lags.removeAll(keepingCapacity: true) }
            return state.lags
        }
    }
}
