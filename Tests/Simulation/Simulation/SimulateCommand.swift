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
        simulate --quiet N                    lives through N decisions without trouble, and measures them
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
    private var quiet: Int?
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
            case "--quiet": self.quiet = rest.popFirst().flatMap { Int($0) }
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
        let isSomething = self.seeds != nil || self.seed != nil || self.plan != nil || self.quiet != nil
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
        if let quiet {
            let begun = Self.processorSeconds
            let isFine = try self.tell(.quiet(decisions: quiet), settings, marks)
            print(String(format: "%.2f s of processor time", Self.processorSeconds - begun))
            return isFine
        }
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
