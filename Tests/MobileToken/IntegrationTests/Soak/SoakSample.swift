import Foundation
import Glibc

/// The resources of the process at a moment, and the delays of its polls since the sample before.
struct SoakSample: Sendable {
    /// Since the beginning.
    var elapsed: Duration
    var residentBytes: Int
    var descriptorCount: Int
    var threadCount: Int
    /// The number of operations that the bank has made so far.
    var operationCount: Int
    var longestLag: Duration

    static func now(elapsed: Duration, operationCount: Int, longestLag: Duration) -> Self {
        func entryCount(_ folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
        }
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return Self(
            elapsed: elapsed,
            residentBytes: (pages.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))),
            descriptorCount: entryCount("/proc/self/fd"),
            threadCount: entryCount("/proc/self/task"),
            operationCount: operationCount,
            longestLag: longestLag
        )
    }
}

/// The bounds for the resources of a process that holds so many things.
struct SoakBounds: Sendable {
    var activationCount: Int
    /// The largest number of a fleet's concurrent requests, each on a connection with two ends in this process.
    var connectionCount: Int
    var processorCount: Int

    /// The memory of an activation with its service and the agent's share of it; the figure of the benchmark `agent.idle`.
    private static let activationBytes = 8 << 10
    /// The memory of an operation in the bank's books, in its list of what it must not accept twice, and in the test's books.
    private static let operationBytes = 16 << 10
    /// The memory of the server's full journal, 25 MB, and of allocator and caches.
    private static let slackBytes = 32 << 20

    /// Returns what is above its bound.
    ///
    /// - Parameters:
    ///   - idle: The process with the bank, before anything connects to it.
    ///   - samples: The samples since all activations have been polled.
    ///   - end: The sample after all that was started has been stopped.
    func violations(idle: SoakSample, _ samples: [SoakSample], end: SoakSample) -> [String] {
        guard let first = samples.first else { return ["there are no samples"] }
        var violations: [String] = []
        func check(_ sample: SoakSample, _ what: String, _ value: Int, atMost limit: Int) {
            guard value > limit else { return }
            violations.append("\(value) \(what), at most \(limit), after \(sample.elapsed)")
        }
        for sample in samples {
            let operationCount = max(0, sample.operationCount - first.operationCount)
            check(
                sample,
                "bytes more than at first",
                sample.residentBytes - first.residentBytes,
                atMost: self.activationCount * Self.activationBytes + operationCount * Self.operationBytes
                    + Self.slackBytes
            )
            // A store has its database, its log, its index and its marks open; an agent that ends overlaps with the next.
            check(
                sample,
                "descriptors",
                sample.descriptorCount,
                atMost: idle.descriptorCount + 2 * self.connectionCount + 16
            )
            // Those of the engine, of stores and of blocking calls, and a pool of one thread a processor.
            check(sample, "threads", sample.threadCount, atMost: idle.threadCount + 2 * self.processorCount + 12)
        }
        check(end, "descriptors at the end", end.descriptorCount, atMost: idle.descriptorCount + 4)
        check(end, "threads at the end", end.threadCount, atMost: idle.threadCount + 2 * self.processorCount + 4)
        return violations
    }
}
