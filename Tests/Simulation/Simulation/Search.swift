import Foundation
import Synchronization

/// The results of many worlds.
struct Found: Codable {
    var done = 0
    var steps = 0
    var seconds = 0
    var counts: [String: Int] = [:]
    var sums = Rates.Sums()
    var violations: [UInt64: String] = [:]

    mutating func add(_ other: Self) {
        self.done += other.done
        self.steps += other.steps
        self.seconds += other.seconds
        self.counts.merge(other.counts, uniquingKeysWith: +)
        self.sums.add(other.sums)
        self.violations.merge(other.violations) { $1 }
    }
}

/// Runs worlds concurrently in threads, until a violation.
struct Search {
    let first: UInt64
    let count: Int
    let threads: Int
    let keepsGoing: Bool

    func run(_ defect: Defect, _ settings: Settings) -> Found {
        let batches = self.count > Batches.size ? Batches(defect: defect, keepsGoing: self.keepsGoing) : nil
        let state = Progress(next: self.first, end: self.first + UInt64(self.count), keepsGoing: self.keepsGoing)
        let ended = DispatchSemaphore(value: 0)
        for number in 0..<self.threads {
            let thread = Thread {
                let marks = MarkFiles(name: "\(number)")
                while let seeds = state.take(batches == nil ? 1 : Batches.size) {
                    if let batches {
                        state.add(batches.run(seeds))
                    } else {
                        let found = self.live(seeds.lowerBound, defect, settings, marks)
                        if self.keepsGoing { Self.tell(found) }
                        state.add(found)
                    }
                }
                ended.signal()
            }
            thread.start()
        }
        for _ in 0..<self.threads { ended.wait() }
        return state.found
    }

    /// Reports violations at once to an observer of a long run.
    private static func tell(_ found: Found) {
        for (seed, violation) in found.violations {
            FileHandle.standardError.write(Data("seed \(seed): \(violation)\n".utf8))
        }
    }

    private func live(_ seed: UInt64, _ defect: Defect, _ settings: Settings, _ marks: MarkFiles) -> Found {
        do {
            let result = try World.run(Plan(seed: seed), settings, marks, defect: defect)
            return Found(
                done: 1,
                steps: result.steps,
                seconds: result.seconds,
                counts: result.counts,
                sums: Rates.Sums(result.counts),
                violations: result.violation.map { [seed: $0] } ?? [:]
            )
        } catch {
            return Found(violations: [seed: "\(error)"])
        }
    }

    private final class Progress: Sendable {
        private let state: Mutex<(found: Found, next: UInt64)>
        private let end: UInt64
        private let keepsGoing: Bool

        init(next: UInt64, end: UInt64, keepsGoing: Bool) {
            self.state = Mutex((Found(), next))
            self.end = end
            self.keepsGoing = keepsGoing
        }

        var found: Found { self.state.withLock { $0.found } }

        func take(_ count: Int) -> Range<UInt64>? {
            self.state.withLock { state in
                guard self.keepsGoing || state.found.violations.isEmpty, state.next < self.end else { return nil }
                let first = state.next
                state.next = min(self.end, first + UInt64(count))
                return first..<state.next
            }
        }

        func add(_ found: Found) { self.state.withLock { $0.found.add(found) } }
    }
}

/// Runs worlds in other processes, some hundred in each: killed tasks leak, and their memory is freed with the process.
struct Batches: Sendable {
    static let size = 500

    let defect: Defect
    let keepsGoing: Bool

    func run(_ seeds: Range<UInt64>) -> Found {
        do {
            let (process, output) = (Process(), Pipe())
            process.executableURL = URL(filePath: "/proc/self/exe")
            process.arguments =
                ["--report", "--threads", "1", "--from", "\(seeds.lowerBound)", "--seeds", "\(seeds.count)"]
                + (self.keepsGoing ? ["--keep-going"] : [])
                + (self.defect == .none ? [] : ["--defect", self.defect.rawValue])
            process.standardOutput = output
            try process.run()
            let report = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else {
                throw Failure(description: "the process that lived through it and \(seeds.count - 1) more ended")
            }
            return try JSONDecoder().decode(Found.self, from: report)
        } catch {
            return Found(violations: [seeds.lowerBound: "\(error)"])
        }
    }

    private struct Failure: Error, CustomStringConvertible { let description: String }
}
