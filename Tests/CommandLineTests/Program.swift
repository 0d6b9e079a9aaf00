import TestSupport
import Foundation

/// The built `mobile-token` program, run as a process of its own.
enum Program {
    /// Starts the program. It sees no configuration of the user who runs the tests.
    static func start(
        _ words: [String],
        home: URL,
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try ChildProcess(
            ChildProcess.besideTests("mobile-token"),
            words,
            environment: ["HOME": home.path, "MOBILE_TOKEN_HOME": home.path, "PATH": "/usr/bin:/bin"]
                .merging(environment) { $1 }
        )
    }

    /// Runs the program to its end.
    static func run(
        _ words: String...,
        home: URL,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        let program = try Self.start(words, home: home, environment: environment)
        program.write(input)
        return await program.outcome()
    }
}
