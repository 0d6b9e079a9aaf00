import CRuntimeHooks

/// Runs all jobs of the concurrency runtime that begin in one thread, one at a time, in an order drawn from a seed.
///
/// A *step* runs one job from one suspension to the next. Judges look, and processes are killed, frozen or thawed, between steps.
/// If nothing is ready, time advances to the earliest timer.
///
/// Only the thread that runs it uses it, so it has no lock and may be passed to tasks, which run there too.
final class Simulator: @unchecked Sendable {
    /// Everything started in its own steps: tasks, including detached ones, and timers. They are killed, frozen and starved
    /// together.
    ///
    /// Processes interact only by ``post(to:after:_:)``: an actor's turn belongs to the process that scheduled it.
    struct Process: Hashable, Sendable {
        let index: Int
    }

    enum End: Equatable, Sendable {
        /// The condition holds.
        case done
        /// Nothing is ready or due, and it does not hold.
        case deadlock
        case outOfSteps
    }

    fileprivate enum Work {
        case job(UnsafeRawPointer, isTask: Bool)
        case mainJob(UnownedJob, UnownedSerialExecutor)
        case event(() -> Void)
    }

    fileprivate struct Item {
        /// Numbers tasks and events for the trace.
        let label: Int
        let work: Work
    }

    fileprivate struct Room {
        let name: String
        var ready: [Item] = []
        var weight = 1
        var isFrozen = false
        var isDead = false
        /// The lead of the wall clock, in nanoseconds.
        var skew: Int64 = 0
    }

    private struct Timer {
        let due: Int64
        /// A random number that orders timers due at once.
        let tie: UInt64
        let id: Int
        let process: Int
        let item: Item

        func isAfter(_ other: Self) -> Bool { (self.due, self.tie, self.id) > (other.due, other.tie, other.id) }
    }

    private struct Owner {
        let process: Int
        let label: Int
    }

    /// The start of all worlds, in 2027.
    static let start: Int64 = 1_800_000_000 * 1_000_000_000

    private var draw: Draw
    private let seed: UInt64
    /// Random numbers that do not affect the order: identifiers and tags. Each step has its own: libraries take some for what they make
    /// once in a process, such as a formatter.
    private var entropy: Draw
    /// Those for which libcrypto is asked. A thread draws them ahead.
    private var nonces: Draw
    private var rooms: [Room] = []
    /// The timers, earliest last.
    private var timers: [Timer] = []
    private var owners: [UInt32: Owner] = [:]
    private var watched: [(task: UnsafeRawPointer, owner: Owner)] = []
    private var lastNumber = 0
    private var current = 0
    private let watchesTasks: Bool

    /// The nanoseconds since the world began.
    private(set) var now: Int64 = 0
    private(set) var stepCount = 0
    /// The process of the last step.
    private(set) var lastProcess: Process?
    /// The number of sleeps on a system clock, which shows simulated time of no particular process.
    private(set) var systemSleepCount = 0
    /// Called after each step.
    var afterStep: () -> Void = {}
    /// Called with a line for each step, and for each ``note(_:)``.
    var tracer: ((String) -> Void)?
    /// Called only for each ``note(_:)``.
    var narrator: ((Int64, String, String) -> Void)?
    /// A number equal only in runs with the same steps.
    private(set) var digest: UInt64 = 0xcbf2_9ce4_8422_2325

    private static let install: Void = {
        simulation_install(
            simulation_callbacks(
                enqueue: { Unmanaged<Simulator>.fromOpaque($0).takeUnretainedValue().accept($1) },
                time: { Unmanaged<Simulator>.fromOpaque($0).takeUnretainedValue().time(isWall: $1) },
                random: { Unmanaged<Simulator>.fromOpaque($0).takeUnretainedValue().random(isNonce: $1) },
                dispatch: { Unmanaged<Simulator>.fromOpaque($0).takeUnretainedValue().dispatch($1) }
            )
        )
        RoutingExecutors.install()
    }()

    /// - Parameter watchesTasks: Tracks unfinished tasks, which takes memory.
    init(seed: UInt64, watchesTasks: Bool = false) {
        _ = Self.install
        self.seed = seed
        self.draw = Draw(seed: seed)
        self.entropy = Draw(seed: ~seed)
        self.nonces = Draw(seed: seed &+ 0x707)
        self.watchesTasks = watchesTasks
        self.rooms = [Room(name: "world")]
    }

    /// Ends the world: nothing of it runs again.
    func end() {
        for index in self.rooms.indices { self.kill(Process(index: index)) }
        for (task, _) in self.watched { simulation_release(task) }
        self.watched = []
        self.afterStep = {}
    }

    deinit { self.end() }

    /// The simulator of the calling thread.
    static var current: Simulator? {
        simulation_current().map { Unmanaged<Simulator>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The number of jobs enqueued by threads without a simulator. It stays zero while only simulators run.
    static var foreignJobCount: UInt64 { simulation_foreign_count() }

    // MARK: Processes

    /// The process that judges, delivers, and kills others.
    var world: Process { Process(index: 0) }
    var currentProcess: Process { Process(index: self.current) }

    func makeProcess(_ name: String) -> Process {
        self.rooms.append(Room(name: name))
        return Process(index: self.rooms.count - 1)
    }

    func name(of process: Process) -> String { self.rooms[process.index].name }

    /// Stops a process permanently, as `SIGKILL` does: nothing is canceled, and its tasks' memory leaks.
    func kill(_ process: Process) {
        self.rooms[process.index].isDead = true
        self.rooms[process.index].ready = []
        self.timers.removeAll { $0.process == process.index }
    }

    /// Freezes or thaws a process. Timers that became due meanwhile fire then.
    func freeze(_ process: Process, _ isFrozen: Bool) { self.rooms[process.index].isFrozen = isFrozen }

    func isAlive(_ process: Process) -> Bool { !self.rooms[process.index].isDead }

    func isFrozen(_ process: Process) -> Bool { self.rooms[process.index].isFrozen }

    /// Sets a process's scheduling weight; 0 runs only if no other process can.
    func setWeight(_ weight: Int, of process: Process) { self.rooms[process.index].weight = weight }

    /// Sets the wall clock of a process.
    func setSkew(_ skew: Duration, of process: Process) { self.rooms[process.index].skew = skew.nanoseconds }

    /// Unfinished tasks of live processes.
    var livingTasks: [String] { self.tasks { _ in true } }

    func livingTasks(of process: Process) -> [String] { self.tasks { $0 == process.index } }

    private func tasks(where isWanted: (Int) -> Bool) -> [String] {
        self.watched.filter { task, owner in
            isWanted(owner.process) && !self.rooms[owner.process].isDead && simulation_retain_count(task) > 1
        }.map { "\(self.rooms[$0.owner.process].name) #\($0.owner.label)" }
    }

    // MARK: Work

    /// Begins a task in a process.
    func spawn(in process: Process, _ body: @escaping @Sendable () async -> Void) {
        self.act(as: process) { _ = Task.detached { await body() } }
    }

    /// Runs `body` at once; everything it starts belongs to a process.
    func act<Result>(as process: Process, _ body: () throws -> Result) rethrows -> Result {
        let outer = (process: self.current, simulator: simulation_current())
        self.current = process.index
        simulation_enter(Unmanaged.passUnretained(self).toOpaque())
        defer {
            self.current = outer.process
            simulation_enter(outer.simulator)
        }
        return try body()
    }

    /// Runs `body` in a process, in a separate step.
    @discardableResult
    func post(to process: Process, after delay: Duration = .zero, _ body: @escaping () -> Void) -> Int {
        self.post(to: process.index, at: self.now + max(0, delay.nanoseconds), .event(body))
    }

    /// Runs `body` later in the current process.
    func postHere(after delay: Duration, _ body: @escaping () -> Void) -> Int {
        self.post(to: self.currentProcess, after: delay, body)
    }

    private func post(to process: Int, at due: Int64, _ work: Work, label: Int? = nil) -> Int {
        let id = self.takeNumber()
        let item = Item(label: label ?? id, work: work)
        self.insert(Timer(due: due, tie: self.draw.next(), id: id, process: process, item: item))
        return id
    }

    func cancelTimer(_ id: Int) {
        if let index = self.timers.firstIndex(where: { $0.id == id }) { self.timers.remove(at: index) }
    }

    /// Takes a job of the main executor.
    func enqueue(_ job: UnownedJob, on executor: UnownedSerialExecutor) {
        self.add(Item(label: self.takeNumber(), work: .mainJob(job, executor)), to: self.current)
    }

    private func takeNumber() -> Int {
        self.lastNumber += 1
        return self.lastNumber
    }

    // MARK: Narration

    /// Adds a line to the story.
    func note(_ text: @autoclosure () -> String) {
        guard self.tracer != nil || self.narrator != nil else { return }
        let (name, text) = (self.rooms[self.current].name, text())
        self.narrator?(self.now, name, text)
        self.tracer?("\(self.now) \(name): \(text)")
    }

    // MARK: Running

    /// Runs steps until a condition holds after one of them.
    func run(maximumSteps: Int = .max, until isDone: () -> Bool) -> End {
        let outer = simulation_current()
        simulation_enter(Unmanaged.passUnretained(self).toOpaque())
        defer { simulation_enter(outer) }
        var left = maximumSteps
        while !isDone() {
            guard left > 0 else { return .outOfSteps }
            left -= 1
            guard self.step() else { return .deadlock }
        }
        return .done
    }

    private func step() -> Bool {
        while true {
            if let index = self.drawRoom() {
                let last = self.rooms[index].ready.count - 1
                self.rooms[index].ready.swapAt(self.draw.below(last + 1), last)
                self.run(self.rooms[index].ready.removeLast(), in: index)
                return true
            }
            guard let next = self.timers.lastIndex(where: { !self.rooms[$0.process].isFrozen }) else { return false }
            let timer = self.timers.remove(at: next)
            self.now = max(self.now, timer.due)
            self.add(timer.item, to: timer.process)
        }
    }

    private func drawRoom() -> Int? {
        var total = 0
        var fallback: Int?
        for index in self.rooms.indices where self.rooms[index].canRun {
            total += self.rooms[index].weight * self.rooms[index].ready.count
            fallback = index
        }
        guard total > 0 else { return fallback }
        var drawn = self.draw.below(total)
        for index in self.rooms.indices where self.rooms[index].canRun {
            drawn -= self.rooms[index].weight * self.rooms[index].ready.count
            if drawn < 0 { return index }
        }
        return fallback
    }

    private func run(_ item: Item, in process: Int) {
        self.stepCount += 1
        self.entropy = Draw(seed: ~self.seed ^ UInt64(self.stepCount) << 32)
        self.current = process
        for part in [UInt64(process), UInt64(item.label), UInt64(bitPattern: self.now)] {
            self.digest = (self.digest ^ part) &* 0x100_0000_01b3
        }
        self.tracer?("\(self.now) \(self.rooms[process].name) #\(item.label)\(item.work.mark)")
        switch item.work {
        case .job(let job, _):
            simulation_run(job, RoutingExecutor.reference.executor, RoutingExecutor.reference.witnessTable)
        case .mainJob(let job, let executor): job.runSynchronously(on: executor)
        case .event(let body): body()
        }
        self.current = 0
        self.lastProcess = Process(index: process)
        self.afterStep()
    }

    /// Takes a block submitted to a queue: a separate step, in the submitting process.
    private func dispatch(_ block: UnsafeMutableRawPointer) {
        self.add(Item(label: self.takeNumber(), work: .event { simulation_run_block(block) }), to: self.current)
    }

    private func accept(_ job: simulated_job) {
        let isTask = job.kind == 0
        let owner = isTask ? self.owner(of: job) : Owner(process: self.current, label: 0)
        if job.delay >= 0 {
            self.systemSleepCount += 1
            let due = self.now + job.delay
            _ = self.post(to: owner.process, at: due, .job(job.job, isTask: isTask), label: owner.label)
        } else {
            self.add(Item(label: owner.label, work: .job(job.job, isTask: isTask)), to: owner.process)
        }
    }

    /// Returns a task's owner: the process in whose step it was first enqueued.
    private func owner(of job: simulated_job) -> Owner {
        if let owner = self.owners[job.number] { return owner }
        let owner = Owner(process: self.current, label: self.takeNumber())
        self.owners[job.number] = owner
        if self.watchesTasks, !job.is_child {
            simulation_retain(job.job)
            self.watched.append((job.job, owner))
        }
        return owner
    }

    private func add(_ item: Item, to process: Int) {
        if !self.rooms[process].isDead { self.rooms[process].ready.append(item) }
    }

    private func insert(_ timer: Timer) {
        guard !self.rooms[timer.process].isDead else { return }
        var range = 0..<self.timers.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            range = self.timers[middle].isAfter(timer) ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
        }
        self.timers.insert(timer, at: range.lowerBound)
    }

    private func random(isNonce: Bool) -> UInt64 { isNonce ? self.nonces.next() : self.entropy.next() }

    private func time(isWall: Bool) -> Int64 {
        isWall ? Self.start + self.now + self.rooms[self.current].skew : self.now + 86_400_000_000_000
    }
}

extension Simulator.Room {
    fileprivate var canRun: Bool { !self.ready.isEmpty && !self.isFrozen }
}

extension Simulator.Work {
    fileprivate var mark: String {
        switch self {
        case .job(_, let isTask): isTask ? "" : " actor"
        case .mainJob: " main"
        case .event: " event"
        }
    }
}
