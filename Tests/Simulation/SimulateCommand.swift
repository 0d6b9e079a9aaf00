import Foundation
import Glibc
import Synchronization

/// The program `simulate`.
package struct SimulateCommand {
    private static let usage = """
        simulate --proof                      shows that the simulator does what worlds rest on
        simulate --seeds N [--from N]         lives through worlds, and ends at the first that must not be
        simulate --seed N [--trace|--steps]   tells the story of one world; every step of it
        simulate --seed N --shrink            looks for a shorter plan that fails as well, and prints it
        simulate --plan FILE [--trace]        lives through a plan that was kept
        simulate --defects [--seeds N]        looks for each defect that can be put in
          --defect NAME                       puts a defect in; --threads N
        """

    private var seeds: Int?
    private var first: UInt64 = 1
    private var seed: UInt64?
    private var plan: String?
    private var defect = Defect.none
    private var threads = 2
    private var flags: Set<String> = []

    /// - Returns: The status with which the program ends.
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

    /// Starts the program anew where the order of a dictionary would come from its address.
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
            case "--proof", "--trace", "--steps", "--shrink", "--defects": self.flags.insert(option)
            case "--seeds": self.seeds = rest.popFirst().flatMap { Int($0) }
            case "--from": self.first = rest.popFirst().flatMap { UInt64($0) } ?? 1
            case "--seed": self.seed = rest.popFirst().flatMap { UInt64($0) }
            case "--plan": self.plan = rest.popFirst()
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
        let setting = try Self.waiting { try await Setting.make() }
        if self.flags.contains("--defects") { return self.findDefects(setting) }
        if let seeds { return self.search(seeds, self.defect, setting) }
        let plan = try self.plan.map { try JSONDecoder().decode(Plan.self, from: Data(contentsOf: URL(filePath: $0))) }
        let marks = MarkFiles(name: "one")
        guard let chosen = plan ?? self.seed.map({ Plan(seed: $0) }) else { return false }
        if self.flags.contains("--shrink") {
            let shorter = Shrinking(setting: setting, marks: marks, defect: self.defect).shrunk(chosen)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            print(String(decoding: try encoder.encode(shorter), as: UTF8.self))
            return try self.tell(shorter, setting, marks)
        }
        return try self.tell(chosen, setting, marks)
    }

    /// Waits for work of the ordinary executors.
    private static func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let (result, done) = (Box<Value>(), DispatchSemaphore(value: 0))
        Task.detached {
            do {
                let value = try await body()
                result.state.withLock { $0 = .success(value) }
            } catch {
                result.state.withLock { $0 = .failure(error) }
            }
            done.signal()
        }
        done.wait()
        guard let result = result.state.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let state = Mutex<Result<Value, any Error>?>(nil)
    }

    // MARK: One world

    private func tell(_ plan: Plan, _ setting: Setting, _ marks: MarkFiles) throws -> Bool {
        let world = try World(plan, setting, marks, defect: self.defect)
        if self.flags.contains("--trace") { world.simulator.narrator = Self.narrate }
        if self.flags.contains("--steps") { world.simulator.tracer = { print($0) } }
        let result = world.run()
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

    private func search(_ count: Int, _ defect: Defect, _ setting: Setting) -> Bool {
        let clock = ContinuousClock()
        let begun = clock.now
        let processorTime = Self.processorSeconds
        let found = Search(first: self.first, count: count, threads: self.threads).run(defect, setting)
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
        if found.violations.isEmpty { print("ok") }
        return found.violations.isEmpty
    }

    private static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private func findDefects(_ setting: Setting) -> Bool {
        var isEachFound = true
        for defect in Defect.allCases where defect != .none {
            let found = Search(first: self.first, count: self.seeds ?? 1_000, threads: self.threads).run(
                defect,
                setting
            )
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

/// Lives through worlds side by side, in threads, until one must not be.
private struct Search {
    struct Found {
        var done = 0
        var steps = 0
        var seconds = 0
        var counts: [String: Int] = [:]
        var violations: [UInt64: String] = [:]
        var next: UInt64
    }

    let first: UInt64
    let count: Int
    let threads: Int

    func run(_ defect: Defect, _ setting: Setting) -> Found {
        let state = SharedFound(Found(next: self.first))
        let ended = DispatchSemaphore(value: 0)
        let end = self.first + UInt64(self.count)
        for number in 0..<self.threads {
            let thread = Thread {
                let marks = MarkFiles(name: "\(number)")
                while let seed = state.take(before: end) {
                    do {
                        state.add(try World(Plan(seed: seed), setting, marks, defect: defect).run(), of: seed)
                    } catch {
                        state.add(violation: "\(error)", of: seed)
                    }
                }
                ended.signal()
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
        for _ in 0..<self.threads { ended.wait() }
        return state.value
    }

    private final class SharedFound: Sendable {
        private let state: Mutex<Found>
        init(_ found: Found) { self.state = Mutex(found) }

        var value: Found { self.state.withLock { $0 } }

        func take(before end: UInt64) -> UInt64? {
            self.state.withLock { found in
                guard found.violations.isEmpty, found.next < end else { return nil }
                defer { found.next += 1 }
                return found.next
            }
        }

        func add(violation: String, of seed: UInt64) { self.state.withLock { $0.violations[seed] = violation } }

        func add(_ result: World.Result, of seed: UInt64) {
            self.state.withLock { found in
                found.done += 1
                found.steps += result.steps
                found.seconds += result.seconds
                found.counts.merge(result.counts, uniquingKeysWith: +)
                if let violation = result.violation { found.violations[seed] = violation }
            }
        }
    }
}

/// Looks for a shorter plan that must not be, either.
private struct Shrinking {
    let setting: Setting
    let marks: MarkFiles
    let defect: Defect

    private func fails(_ plan: Plan) -> Bool {
        (try? World(plan, self.setting, self.marks, defect: self.defect).run())?.violation != nil
    }

    func shrunk(_ plan: Plan) -> Plan {
        var plan = plan
        guard self.fails(plan) else { return plan }
        let chances: [WritableKeyPath<Plan.Chances, Double>] = [
            \.requestLost, \.responseLost, \.late, \.doubled, \.proxyPage, \.answerOfDatabaseLost,
            \.callOfDatabaseRefused, \.callOfDatabaseLate,
        ]
        for chance in chances where plan.chances[keyPath: chance] > 0 {
            self.attempt(&plan) { $0.chances[keyPath: chance] = 0 }
        }
        while plan.nodes > 1, self.attempt(&plan, { $0.removeLastNode() }) {}
        var length = plan.entries.count / 2
        while length > 0 {
            var start = 0
            while start < plan.entries.count {
                let range = start..<min(start + length, plan.entries.count)
                if !self.attempt(&plan, { $0.entries.removeSubrange(range) }) { start += length }
            }
            length /= 2
        }
        return plan
    }

    @discardableResult
    private func attempt(_ plan: inout Plan, _ change: (inout Plan) -> Void) -> Bool {
        var shorter = plan
        change(&shorter)
        guard self.fails(shorter) else { return false }
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
            .cut(let node, _), .setClock(let node, _), .stall(let node, _), .promote(let node, _, _):
            node
        default: nil
        }
    }
}
