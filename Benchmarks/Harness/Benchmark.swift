/// One case: what it is called, what it should reach, and how it is measured.
struct Benchmark: Sendable {
    /// The name by which `--filter` finds it.
    let name: String
    /// One line for `--list`.
    let summary: String
    /// Measures, and returns one row or several.
    let measure: @Sendable (Settings) async throws -> [Row]

    /// A case with a measurement of its own, such as a distribution or an amount of memory.
    init(
        _ name: String,
        _ summary: String,
        measure: @escaping @Sendable (Settings) async throws -> [Row]
    ) {
        self.name = name
        self.summary = summary
        self.measure = measure
    }

    /// A case that repeats an operation and compares its time with that of baselines, in the same run.
    ///
    /// - Parameters:
    ///   - unit: The unit in which the result is shown.
    ///   - goals: The goals that the result should reach.
    ///   - prepare: Sets up, outside the timing.
    init(
        _ name: String,
        _ summary: String,
        unit: Unit = .nanoseconds,
        goals: [Goal] = [],
        prepare: @escaping @Sendable () async throws -> Scenario
    ) {
        self.init(name, summary) { settings in
            let scenario = try await prepare()
            let result: Result<[Row], any Error>
            do {
                result = .success([try await scenario.measured(name: name, unit: unit, goals: goals, settings)])
            } catch {
                result = .failure(error)
            }
            await scenario.tearDown()
            return try result.get()
        }
    }
}

/// The thoroughness of a run.
struct Settings: Sendable {
    let samples: Int
    let sampleDuration: Duration
    let isQuick: Bool

    static let thorough = Self(samples: 9, sampleDuration: .milliseconds(500), isQuick: false)
    static let quick = Self(samples: 5, sampleDuration: .milliseconds(100), isQuick: true)
    /// So little that it shows only which cases fail.
    static let trial = Self(samples: 1, sampleDuration: .milliseconds(10), isQuick: true)

    /// Returns how often a case with a measurement of its own repeats it.
    func rounds(quick: Int, thorough: Int) -> Int {
        self.isQuick ? min(self.samples, quick) : thorough
    }
}

/// An operation and what it is compared with.
struct Scenario: Sendable {
    var subject: Subject
    var baselines: [Subject]
    var tearDown: @Sendable () async -> Void

    init(_ subject: Subject, baselines: [Subject] = [], tearDown: @escaping @Sendable () async -> Void = {}) {
        self.subject = subject
        self.baselines = baselines
        self.tearDown = tearDown
    }
}

/// Something that can be done over and over.
struct Subject: Sendable {
    let name: String
    /// As many repetitions as a sample has at least: with fewer, what is meant to run at once would run alone.
    var leastCount = 1
    /// Does it as often as told.
    let run: @Sendable (Int) async throws -> Void

    /// Runs `body`, which repeats the operation itself, such as several at once.
    init(_ name: String = "ours", repeating run: @escaping @Sendable (Int) async throws -> Void) {
        self.name = name
        self.run = run
    }

    /// Repeats `body`, whose result is consumed so that nothing of it can be left out.
    init<Value>(_ name: String = "ours", _ body: @escaping @Sendable () throws -> Value) {
        self.name = name
        self.run = { count in for _ in 0..<count { blackHole(try body()) } }
    }
}

/// Takes a value in a way that the optimiser cannot see through.
@inline(never) @_optimize(none) func blackHole<Value>(_ value: Value) {}
