import TestSupport

/// A `StoreExerciser` that runs beside the test.
enum Exerciser {
    static func start(_ settings: [String]) throws -> ChildProcess {
        try ChildProcess(ChildProcess.besideTests("StoreExerciser"), settings)
    }

    static func run(_ settings: String...) async throws -> ChildProcess.Outcome {
        try await Self.run(settings)
    }

    static func run(_ settings: [String]) async throws -> ChildProcess.Outcome {
        await (try Self.start(settings)).outcome()
    }
}
