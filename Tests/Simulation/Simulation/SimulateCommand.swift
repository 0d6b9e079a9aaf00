import Foundation
import Glibc
import Synchronization

/// The program `simulate`.
package struct SimulateCommand {
    private static let usage = """
        simulate --proof                      shows that the simulator does what worlds rest on
        simulate --seeds N [--from N]         lives through worlds, and ends at the first that must not be;
                                              more than \(Batches.size) in processes of their own
        simulate --seed N [--trace|--steps]   tells the story of one world; every step of it
        simulate --seed N --shrink            looks for a shorter plan that fails as well, and prints it
        simulate --plan FILE [--trace]        lives through a plan that was kept
        simulate --defects [--seeds N]        looks for each defect that can be put in
          --defect NAME                       puts a defect in
          --threads N                         lives through so many at a time: 2
          --rates FILE                        compares how often each kind of event comes with what was kept
          --keep-rates FILE                   keeps that
          --keep-going                        goes on after a world that must not be, and names all of them
        """

    private var seeds: Int?
    private var first: UInt64 = 1
    private var seed: UInt64?
    private var plan: String?
    private var rates: String?
    private var keptRates: String?
    private var defect = Defect.none
    private var threads = 2
    private var flags: Set<String> = []

    /// - Returns: The exit status of the program.
    package static func run(_ arguments: [String]) -> Int32 {
        self.makeHashingDeterministic(arguments)
        guard let command = Self(arguments.dropFirst()) else {
            print(self.usage)
            return 64
        }
        do {
            return try command.run() ? 0 : 1
        } catch {
            print("simulate: \(error)")
            return 2
        }
    }

    /// Restarts the program if dictionaries would be ordered by address.
    private static func makeHashingDeterministic(_ arguments: [String]) {
        let name = "SWIFT_DETERMINISTIC_HASHING"
        guard ProcessInfo.processInfo.environment[name] == nil else { return }
        setenv(name, "1", 1)
        var copies = arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", &copies)
        fatalError("The program cannot start itself: \(String(cString: strerror(errno)))")
    }

    private init?(_ arguments: ArraySlice<String>) {
        var rest = arguments
        while let option = rest.popFirst() {
            switch option {
            case "--proof", "--trace", "--steps", "--shrink", "--defects", "--keep-going", "--report":
                self.flags.insert(option)
            case "--seeds": self.seeds = rest.popFirst().flatMap { Int($0) }
            case "--from": self.first = rest.popFirst().flatMap { UInt64($0) } ?? 1
            case "--seed": self.seed = rest.popFirst().flatMap { UInt64($0) }
            case "--plan": self.plan = rest.popFirst()
            case "--rates": self.rates = rest.popFirst()
            case "--keep-rates": self.keptRates = rest.popFirst()
            case "--threads": self.threads = rest.popFirst().flatMap { Int($0) } ?? 2
            case "--defect":
                guard let defect = rest.popFirst().flatMap(Defect.init(rawValue:)) else { return nil }
                self.defect = defect
            default: return nil
            }
        }
        let isSomething = self.seeds != nil || self.seed != nil || self.plan != nil
        guard isSomething || self.flags.contains("--proof") || self.flags.contains("--defects") else { return nil }
    }

    private func run() throws -> Bool {
        if self.flags.contains("--proof") {
            var proof = Proof()
            proof.run()
            return !proof.hasFailed
        }
        let settings = try Self.waiting { try await Settings.make() }
        if self.flags.contains("--defects") { return self.findDefects(settings) }
        if let seeds { return try self.search(seeds, self.defect, settings) }
        let plan = try self.plan.map { try JSONDecoder().decode(Plan.self, from: Data(contentsOf: URL(filePath: $0))) }
        let marks = MarkFiles(name: "one")
        guard let chosen = plan ?? self.seed.map({ Plan(seed: $0) }) else { return false }
        if self.flags.contains("--shrink") {
            let shorter = Shrinking(settings: settings, marks: marks, defect: self.defect).shrunk(chosen)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(shorter), as: UTF8.self))
            return try self.tell(shorter, settings, marks)
        }
        return try self.tell(chosen, settings, marks)
    }

    /// Waits for work of the default executors.
    private static func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let promised = Promised<Value>()
        Task.detached {
            do { promised.keep(.success(try await body())) } catch { promised.keep(.failure(error)) }
        }
        return try promised.wait()
    }

    // MARK: One world

    private func tell(_ plan: Plan, _ settings: Settings, _ marks: MarkFiles) throws -> Bool {
        let result = try World.run(plan, settings, marks, defect: self.defect) { [flags] world in
            if flags.contains("--trace") { world.simulator.narrator = Self.narrate }
            if flags.contains("--steps") { world.simulator.tracer = { print($0) } }
        }
        for (name, count) in result.counts.sorted(by: { $0.key < $1.key }) { print("\(name): \(count)") }
        print("\(result.steps) steps, \(result.seconds) s, order \(String(result.digest, radix: 16))")
        print(result.violation.map { "FAILED: \($0)" } ?? "ok")
        return result.violation == nil
    }

    private static func narrate(_ now: Int64, _ process: String, _ text: String) {
        let milliseconds = now / 1_000_000
        let time = String(format: "%5d.%03d s", Int(milliseconds / 1_000), Int(milliseconds % 1_000))
        print("\(time)  \(process.padding(toLength: 16, withPad: " ", startingAt: 0))  \(text)")
    }

    // MARK: Many worlds

    private func look(_ count: Int, _ defect: Defect, _ settings: Settings) -> Found {
        Search(first: self.first, count: count, threads: self.threads, keepsGoing: self.flags.contains("--keep-going"))
            .run(defect, settings)
    }

    /// Reports the findings to the parent process.
    private func report(_ count: Int, _ settings: Settings) throws -> Bool {
        FileHandle.standardOutput.write(try JSONEncoder().encode(self.look(count, self.defect, settings)))
        return true
    }

    private func search(_ count: Int, _ defect: Defect, _ settings: Settings) throws -> Bool {
        let clock = ContinuousClock()
        let begun = clock.now
        let processorTime = Self.processorSeconds
        guard !self.flags.contains("--report") else { return try self.report(count, settings) }
        let found = self.look(count, defect, settings)
        let seconds = (clock.now - begun) / .seconds(1)
        for (name, number) in found.counts.sorted(by: { $0.key < $1.key }) { print("\(name): \(number)") }
        print(
            "\(found.done) seeds, \(found.steps) steps, \(found.seconds) simulated seconds in \(Int(seconds)) s:",
            "\(Int(Double(found.done) / seconds * 60)) seeds a minute"
        )
        let used = max(0.001, Self.processorSeconds - processorTime)
        func rate(_ number: Int) -> String { "\(Int(Double(number) / used))" }
        print(
            "in each of \(Int(used)) s of processor time: \(rate(found.seconds)) simulated seconds, \(rate(found.steps)) steps,",
            "\(rate(found.counts["decisions"] ?? 0)) decisions"
        )
        for (seed, violation) in found.violations.sorted(by: { $0.key < $1.key }) {
            print("FAILED: seed \(seed): \(violation)")
        }
        let differences = try self.compareRates(of: found)
        let isFine = found.violations.isEmpty && differences.isEmpty
        if isFine { print("ok") }
        return isFine
    }

    /// Compares the rates of events with those that were kept, or keeps them.
    private func compareRates(of found: Found) throws -> [String] {
        let rates = found.sums.rates
        if let keptRates = self.keptRates, found.violations.isEmpty { try rates.write(to: keptRates) }
        guard let path = self.rates, found.violations.isEmpty else { return [] }
        let differences = rates.differences(from: try Rates(contentsOf: path))
        for difference in differences { print("FAILED: \(difference)") }
        return differences
    }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        var children = rusage()
        getrusage(RUSAGE_CHILDREN.rawValue, &children)
        let past = Double(children.ru_utime.tv_sec + children.ru_stime.tv_sec)
        return past + Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func findDefects(_ settings: Settings) -> Bool {
        var isEachFound = true
        for defect in Defect.allCases where defect != .none {
            let found = self.look(self.seeds ?? 1_000, defect, settings)
            if let (seed, violation) = found.violations.min(by: { $0.key < $1.key }) {
                print("\(defect.rawValue): found by seed \(seed): \(violation)")
            } else {
                print("\(defect.rawValue): NOT FOUND in \(found.done) seeds")
                isEachFound = false
            }
            fflush(nil)  // a line for each, as it is known
        }
        return isEachFound
    }
}

/// A value that another thread makes.
final class Promised<Value: Sendable>: Sendable {
    private let state = Mutex<Result<Value, any Error>?>(nil)
    private let done = DispatchSemaphore(value: 0)

    func keep(_ result: Result<Value, any Error>) {
        self.state.withLock { $0 = result }
        self.done.signal()
    }

    func wait() throws -> Value {
        self.done.wait()
        guard let result = self.state.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}

/// The results of many worlds.
private struct Found: Codable {
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
private struct Search {
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
private struct Batches: Sendable {
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

/// Searches for a shorter plan with the same violation.
private struct Shrinking {
    let settings: Settings
    let marks: MarkFiles
    let defect: Defect

    private func failure(of plan: Plan) -> String? {
        (try? World.run(plan, self.settings, self.marks, defect: self.defect))?.violation.map(Self.kind)
    }

    /// Returns the violation without its operation: a shorter plan must not fail for another reason.
    private static func kind(_ violation: String) -> String {
        Plan.Kind.allCases.reduce(violation.filter { !$0.isNumber }) { $0.replacing("\($1) ", with: "") }
    }

    func shrunk(_ plan: Plan) -> Plan {
        var plan = plan
        guard let failure = self.failure(of: plan) else { return plan }
        let chances: [WritableKeyPath<Plan.Chances, Double>] = [
            \.requestLost, \.responseLost, \.late, \.doubled, \.proxyPage, \.answerOfDatabaseLost,
            \.callOfDatabaseRefused, \.callOfDatabaseLate,
        ]
        for chance in chances where plan.chances[keyPath: chance] > 0 {
            self.attempt(&plan, failure) { $0.chances[keyPath: chance] = 0 }
        }
        while plan.nodes > 1, self.attempt(&plan, failure, { $0.removeLastNode() }) {}
        var length = plan.entries.count / 2
        while length > 0 {
            var start = 0
            while start < plan.entries.count {
                let range = start..<min(start + length, plan.entries.count)
                if !self.attempt(&plan, failure, { $0.entries.removeSubrange(range) }) { start += length }
            }
            length /= 2
        }
        return plan
    }

    @discardableResult
    private func attempt(_ plan: inout Plan, _ failure: String, _ change: (inout Plan) -> Void) -> Bool {
        var shorter = plan
        change(&shorter)
        guard self.failure(of: shorter) == failure else { return false }
        plan = shorter
        return true
    }
}

extension Plan {
    fileprivate mutating func removeLastNode() {
        self.nodes -= 1
        self.entries.removeAll { $0.act.node.map { $0 >= self.nodes } ?? false }
    }
}

extension Plan.Act {
    fileprivate var node: Int? {
        switch self {
        case .kill(let node, _, _), .stop(let node, _), .freeze(let node, _, _), .starve(let node, _),
            .cut(let node, _), .setClock(let node, _), .stall(let node, _), .promoteAtLease(let node, _),
            .promote(let node, _, _), .replaceServerAt(let node, _, _):
            node
        default: nil
        }
    }
}
