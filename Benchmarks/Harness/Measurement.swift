import CAllocations
import Glibc

extension Scenario {
    /// Warms up, then takes samples of subject and baselines by turns, so that a drift of the machine meets all alike.
    func measured(name: String, unit: Unit, goals: [Goal], _ settings: Settings) async throws -> Row {
        let subjects = [self.subject] + self.baselines
        var counts: [Int] = []
        for subject in subjects { counts.append(try await subject.warmedUpCount(for: settings.sampleDuration)) }

        var samples = subjects.map { _ in [Double]() }
        var processorTimes = samples
        for _ in 0..<settings.samples {
            for (index, subject) in subjects.enumerated() {
                let processorTime = Measurement.processorNanoseconds
                samples[index].append(try await subject.nanoseconds(of: counts[index]) / Double(counts[index]))
                processorTimes[index].append((Measurement.processorNanoseconds - processorTime) / Double(counts[index]))
            }
        }
        var allocations: [(count: Double, bytes: Double)] = []
        for (subject, count) in zip(subjects, counts) {
            allocations.append(try await subject.allocations(of: min(count, 1000)))
        }
        let figures = samples.map { Figure(samples: $0.map(unit.value(nanoseconds:))) }
        return Row(
            name: name,
            unit: unit,
            figure: figures[0],
            processorTime: Figure(samples: processorTimes[0]).median,
            baselines: self.baselines.indices.map { index in
                Row.Baseline(
                    name: self.baselines[index].name,
                    figure: figures[index + 1],
                    processorTime: Figure(samples: processorTimes[index + 1]).median,
                    allocations: allocations[index + 1].count
                )
            },
            allocations: allocations[0].count,
            allocatedBytes: allocations[0].bytes,
            goals: goals
        )
    }
}

enum Measurement {
    /// The processor time that this process, with all its threads, has used so far.
    static var processorNanoseconds: Double { self.nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) }

    /// The same of another process.
    static func processorNanoseconds(ofProcess id: pid_t) throws -> Double {
        var clock = clockid_t()
        try check(clock_getcpuclockid(id, &clock) == 0)
        return self.nanoseconds(of: clock)
    }

    private static func nanoseconds(of clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}

extension Subject {
    /// Runs for about half a sample, and returns how many repetitions fill a whole one.
    fileprivate func warmedUpCount(for duration: Duration) async throws -> Int {
        let target = duration / .nanoseconds(1)
        var count = self.leastCount
        while true {
            let elapsed = try await self.nanoseconds(of: count)
            if elapsed >= target / 2 { return max(self.leastCount, Int(Double(count) * target / elapsed)) }
            count = elapsed < target / 20 ? count * 8 : count * 2
        }
    }

    fileprivate func nanoseconds(of count: Int) async throws -> Double {
        let start = ContinuousClock.now
        try await self.run(count)
        return start.duration(to: .now) / .nanoseconds(1)
    }

    /// Allocations of one repetition, on whatever thread, in a run of its own since counting takes time.
    fileprivate func allocations(of count: Int) async throws -> (count: Double, bytes: Double) {
        CAllocations_start()
        do {
            try await self.run(count)
        } catch {
            _ = CAllocations_stop()
            throw error
        }
        let allocations = Double(CAllocations_stop())
        return (allocations / Double(count), Double(CAllocations_bytes_counted()) / Double(count))
    }
}
