import Foundation
import MobileTokenTesting
import TestSupport
import Testing

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

    static func run(
        _ words: [String],
        home: URL,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        let program = try Self.start(words, home: home, environment: environment)
        program.write(input)
        return await program.outcome()
    }

    static func run(
        _ words: String...,
        home: URL,
        input: String = "",
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome {
        try await Self.run(words, home: home, input: input, environment: environment)
    }

    /// Runs the program to its end, with the password of ``activate(at:version:home:environment:)``.
    static func runWithPassword(_ words: [String], home: URL) async throws -> ChildProcess.Outcome {
        try await Self.run(words + ["--password-stdin"], home: home, input: "1234\n")
    }

    static func runWithPassword(_ words: String..., home: URL) async throws -> ChildProcess.Outcome {
        try await Self.runWithPassword(words, home: home)
    }

    /// Activates at a server for alice, whose password is 1234, and returns the activation's identifier.
    static func activate(
        at emulator: Emulator,
        version: String = "3.3",
        home: URL,
        environment: [String: String] = [:]
    ) async throws -> String {
        let registration = try await emulator.cloud.register(userID: "alice")
        let outcome = try await Self.run(
            [
                "activate", registration.activationQRCode, "--url", emulator.baseURL, "--sdk-configuration",
                emulator.sdkConfiguration, "--protocol", version, "--password-stdin",
            ],
            home: home,
            input: "1234\n",
            environment: environment
        )
        #expect(outcome.exitCode == 0, "\(outcome.errors)")
        try await emulator.cloud.commitRegistration(registration.id)
        return registration.id
    }
}

/// Runs `body` with a server, and a home of the program's that is removed at the end.
func withProgramAndServer(_ body: (Emulator, TemporaryFolder) async throws -> Void) async throws {
    try await withEmulator { emulator in
        try await body(emulator, try TemporaryFolder())
    }
}

/// As ``withProgramAndServer(_:)``, with an activation of alice's, whose identifier is the last argument.
func withActivatedProgram(_ body: (Emulator, TemporaryFolder, String) async throws -> Void) async throws {
    try await withProgramAndServer { emulator, home in
        try await body(emulator, home, try await Program.activate(at: emulator, home: home.url))
    }
}

func withActivatedProgram(_ body: (Emulator, TemporaryFolder) async throws -> Void) async throws {
    try await withActivatedProgram { emulator, home, _ in try await body(emulator, home) }
}
