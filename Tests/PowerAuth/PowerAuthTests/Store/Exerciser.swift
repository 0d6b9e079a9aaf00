import TestSupport

/// A `StoreExerciser` that runs beside the test.
enum Exerciser {
    static func start(_ settings: [String]) throws -> ChildProcess {
        try ChildProcess(ChildProcess.besideTests("StoreExerciser"), settings)
    }

    /// Runs to its end.
    static func run(_ settings: String...) async throws -> ChildProcess.Outcome {
        try await Self.run(settings)
    }

    /// Runs to its end.
    static func run(_ settings: [String]) async throws -> ChildProcess.Outcome {
        await (try Self.start(settings)).outcome()
    }
}
