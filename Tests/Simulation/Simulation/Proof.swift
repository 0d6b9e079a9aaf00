import Foundation
import Synchronization

/// Shows that the simulator meets the worlds' assumptions. Each printed line begins with `ok` or `FAILED`.
struct Proof {
    private(set) var hasFailed = false

    private mutating func expect(_ isTrue: Bool, _ what: String) {
        if !isTrue { self.hasFailed = true }
        print(isTrue ? "ok" : "FAILED", what)
    }

    mutating func run() {
        self.oneSeedIsOneTrace()
        self.threadsBesideEachOther()
        self.death()
        self.freezing()
        self.deadlock()
        self.escape()
        self.time()
    }

    // MARK: The order

    private mutating func oneSeedIsOneTrace() {
        let foreign = Simulator.foreignJobCount
        let traces = Set((0..<50).map { _ in Story.tell(seed: 7).trace })
        self.expect(traces.count == 1, "one seed, fifty runs: \(traces.count) trace")
        let digests = Set((0..<100).map { Story.tell(seed: $0).digest })
        self.expect(digests.count == 100, "a hundred seeds: \(digests.count) orders")
        print("the order of seed 7 is", String(Story.tell(seed: 7).digest, radix: 16))
        self.expect(Simulator.foreignJobCount == foreign, "no job left the thread")
    }

    private mutating func threadsBesideEachOther() {
        let expected = Story.tell(seed: 7).digest
        let wrong = Counter()
        let ended = DispatchSemaphore(value: 0)
        let ordinary = Task.detached { while !Task.isCancelled { await Task.yield() } }
        for _ in 0..<3 {
            Thread {
                for _ in 0..<20 where Story.tell(seed: 7).digest != expected { wrong.add() }
                ended.signal()
            }.start()
        }
        for _ in 0..<3 { ended.wait() }
        ordinary.cancel()
        self.expect(wrong.count == 0, "three threads beside an ordinary task: the same order")
    }

    // MARK: Processes

    /// Counts rounds of two processes, each of which works in a detached task and in a group too.
    private func counted(_ seed: UInt64) -> (simulator: Simulator, processes: [Simulator.Process], rounds: [Counter]) {
        let simulator = Simulator(seed: seed)
        let clock = SimulatedClock(simulator: simulator)
        let processes = ["one", "two"].map { simulator.makeProcess($0) }
        let rounds = processes.map { process in
            let rounds = Counter()
            simulator.spawn(in: process) {
                let cell = Cell()
                Task.detached { while await rounds.pass(clock, cell) {} }
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 { group.addTask { while await rounds.pass(clock, cell) {} } }
                }
            }
            return rounds
        }
        return (simulator, processes, rounds)
    }

    private mutating func death() {
        var (afterDeath, survivors) = (0, 0)
        for seed in 0..<100 as Range<UInt64> {
            let (simulator, processes, rounds) = self.counted(seed)
            _ = simulator.run(maximumSteps: 20 + Int(seed)) { false }
            simulator.kill(processes[0])
            let before = rounds.map(\.count)
            _ = simulator.run(maximumSteps: 500) { false }
            afterDeath += rounds[0].count - before[0]
            survivors += rounds[1].count > before[1] + 20 ? 1 : 0
        }
        self.expect(afterDeath == 0, "a hundred killed processes did nothing more")
        self.expect(survivors == 100, "the processes beside them went on")
    }

    private mutating func freezing() {
        let (simulator, processes, rounds) = self.counted(1)
        _ = simulator.run(maximumSteps: 50) { false }
        simulator.freeze(processes[0], true)
        let before = rounds[0].count
        _ = simulator.run(maximumSteps: 500) { false }
        self.expect(rounds[0].count == before, "a frozen process stands still")
        simulator.freeze(processes[0], false)
        _ = simulator.run(maximumSteps: 500) { false }
        self.expect(rounds[0].count > before, "a thawed process goes on")
    }

    // MARK: Reports

    private mutating func deadlock() {
        let simulator = Simulator(seed: 1, watchesTasks: true)
        simulator.spawn(in: simulator.makeProcess("waiting")) {
            try? await simulator.suspend { (_, _: @escaping (Result<Void, any Error>) -> Bool) in nil }
        }
        let end = simulator.run { false }
        self.expect(end == .deadlock && simulator.livingTasks.count == 1, "a deadlock, of \(simulator.livingTasks)")
        let other = Simulator(seed: 1, watchesTasks: true)
        other.spawn(in: other.makeProcess("ending")) { await Task { await Task.yield() }.value }
        self.expect(
            other.run { false } == .deadlock && other.livingTasks.isEmpty,
            "no task is left of those that ended"
        )
    }

    private mutating func escape() {
        let before = Simulator.foreignJobCount
        let simulator = Simulator(seed: 1)
        let mayResume = DispatchSemaphore(value: 0)
        let resumed = DispatchSemaphore(value: 0)
        simulator.spawn(in: simulator.makeProcess("escaping")) {
            await withCheckedContinuation { continuation in
                // A queue would stay on the thread: see `CRuntimeHooks`.
                Thread {
                    // If resumed before it waits, the task would continue without a job.
                    mayResume.wait()
                    continuation.resume()
                }.start()
            }
            resumed.signal()
        }
        let end = simulator.run { false }
        mayResume.signal()
        resumed.wait()
        let count = Simulator.foreignJobCount - before
        self.expect(end == .deadlock && count == 1, "what leaves the thread is a deadlock here, and counted: \(count)")
    }

    private mutating func time() {
        let simulator = Simulator(seed: 1)
        let process = simulator.makeProcess("sleeping")
        simulator.setSkew(.seconds(3_600), of: process)
        let clock = SimulatedClock(simulator: simulator)
        let seen = Mutex<[Int]>([])
        simulator.spawn(in: process) {
            let (begin, date) = (ContinuousClock.now, Date())
            try? await clock.sleep(for: .seconds(86_400))
            let (end, later) = (ContinuousClock.now, Date())
            seen.withLock { seen in
                seen.append(Int(begin.duration(to: end) / .seconds(1)))
                seen.append(Int(later.timeIntervalSince(date).rounded()))
                seen.append(Int(date.timeIntervalSince1970.rounded()))
            }
        }
        let clockTime = ContinuousClock().measure { _ = simulator.run { false } }
        let expected = [86_400, 86_400, Int(Simulator.start / 1_000_000_000) + 3_600]
        self.expect(seen.withLock { $0 } == expected, "a day passes by every clock of the process")
        self.expect(clockTime < .seconds(60), "and not for others")
        self.expect(simulator.systemSleepCount == 0, "nobody slept by the system's clock")
    }
}

/// A counter for any thread.
final class Counter: Sendable {
    private let state = Atomic(0)
    var count: Int { self.state.load(ordering: .relaxed) }
    func add() { self.state.add(1, ordering: .relaxed) }

    /// A round of a process.
    fileprivate func pass(_ clock: SimulatedClock, _ cell: Cell) async -> Bool {
        try? await clock.sleep(for: .milliseconds(2))
        _ = await cell.add()
        self.add()
        return true
    }
}

private actor Cell {
    private var count = 0

    func add() -> Int {
        self.count += 1
        return self.count
    }
}

/// Three processes that use all ways of starting and awaiting work.
private enum Story {
    static func tell(seed: UInt64) -> (trace: [String], digest: UInt64) {
        let simulator = Simulator(seed: seed)
        let clock = SimulatedClock(simulator: simulator)
        let ended = Counter()
        var trace: [String] = []
        simulator.tracer = { trace.append($0) }
        for name in ["one", "two", "three"] {
            simulator.spawn(in: simulator.makeProcess(name)) {
                await self.live(simulator, clock)
                ended.add()
            }
        }
        let end = simulator.run { ended.count == 3 }
        trace.append("\(end)")
        return (trace, simulator.digest)
    }

    private static func live(_ simulator: Simulator, _ clock: SimulatedClock) async {
        let cell = Cell()
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<5 {
                group.addTask {
                    try? await clock.sleep(for: .seconds(Int.random(in: 1...3)))
                    let count = await cell.add()
                    simulator.note("\(number) is the one of number \(count)")
                    continuation.yield(count)
                    await Task.yield()
                }
            }
            await group.waitForAll()
        }
        continuation.finish()
        let canceled = Task.detached { try? await clock.sleep(for: .seconds(100)) }
        canceled.cancel()
        _ = await canceled.value
        async let sum = stream.reduce(0, +)
        await MainActor.run { simulator.note("on the main actor") }
        var names: [Int: String] = [:]
        for number in 0..<20 { names[number] = "\(number)" }
        let total = await sum
        simulator.note("\(total) \(names.keys.map { String($0) }.joined(separator: " "))")
    }
}
