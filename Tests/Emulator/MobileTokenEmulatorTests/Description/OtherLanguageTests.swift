import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// The description in the hands of programs that know nothing else of the server.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OtherLanguageTests {
    /// The Python that `Scripts/setup --tests` has installed; `nil` where the packages could not be fetched.
    private static let python: URL? = {
        let root = URL(filePath: #filePath).appending(path: "../../../../..").standardized
        let folder = root.appending(path: ".build/python/bin")
        let isThere = FileManager.default.isExecutableFile(atPath: folder.appending(path: "schemathesis").path)
        return isThere ? folder : nil
    }()

    private static let scripts = URL(filePath: #filePath).appending(path: "../../../Python").standardized

    /// Runs a program of the environment; where there is none, says so, which a continuous integration does not accept.
    private func run(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) async throws -> ChildProcess.Outcome? {
        let variables = ProcessInfo.processInfo.environment
        guard let python = Self.python else {
            let what = "Left out: \(program), for lack of packages that `Scripts/setup --tests` could not fetch"
            if variables["CI"] != nil { Issue.record("\(what)") } else { print(what) }
            return nil
        }
        // Some leave files where they are called.
        let folder = try TemporaryFolder()
        return try await ChildProcess.run(
            "env",
            ["-C", folder.path, python.appending(path: program).path] + arguments,
            environment: variables.merging(environment) { $1 }
        )
    }

    @Test func noRouteFailsOrGivesWhatIsNotDescribed() async throws {
        try await withEmulator { emulator async throws in
            // It would wait for the document for ten seconds only, which may be too short beside other tests.
            let folder = try TemporaryFolder()
            let description = try await emulator.send("GET", "/openapi.json")
            try Data(description.body).write(to: URL(filePath: folder.file("openapi.json")))
            let isWhole = ProcessInfo.processInfo.environment["MOBILE_TOKEN_WHOLE_DESCRIPTION"] != nil
            let outcome = try await self.run(
                "schemathesis",
                [
                    "run", folder.file("openapi.json"), "--url", emulator.cloudURL, "--auth",
                    "\(emulator.cloudUser):\(emulator.cloudPassword)",
                    "--checks",
                    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
                    "--phases", "examples,coverage,fuzzing", "--max-examples", "4",
                    // One after the other: while there are fault rules, other calls would meet them.
                    "--workers", "1",
                    // Has no end; the tests of the events read it.
                    "--exclude-path", "/_emulator/events",
                    "--request-timeout", "90", "--seed", "1", "--no-color", "--suppress-health-check", "all",
                    "--generation-database", "none", "--warnings", "off",
                    // As far as it comes in a minute: the whole description takes several beside other tests.
                ] + (isWhole ? [] : ["--max-time", "60"]),
                environment: [
                    "SCHEMATHESIS_HOOKS": Self.scripts.appending(path: "schemathesis_hooks.py").path,
                    "EMULATOR_URL": emulator.cloudURL,
                ]
            )
            guard let outcome else { return }
            #expect(outcome.exitCode == 0, "\(outcome.output.suffix(6000)) \(outcome.errors.suffix(2000))")
        }
    }

    @Test func aGeneratedClientMakesARegistrationAndAnOperation() async throws {
        try await withEmulator { emulator async throws in
            let folder = try TemporaryFolder()
            let generated = try await self.run(
                "openapi-python-client",
                [
                    "generate", "--url", emulator.cloudURL + "/openapi.json", "--meta", "none",
                    "--output-path", folder.file("generated"),
                ]
            )
            guard let generated else { return }
            try #require(generated.exitCode == 0, "\(generated.output) \(generated.errors)")
            let used = try await self.run(
                "python",
                [
                    Self.scripts.appending(path: "use_generated_client.py").path, folder.path, emulator.cloudURL,
                    emulator.cloudUser, emulator.cloudPassword,
                ]
            )
            #expect(used?.exitCode == 0 && used?.lines == ["done"], "\(used?.errors ?? "")")
            #expect(await emulator.operations().map(\.status) == [.canceled])
            #expect(await emulator.activations().map(\.userID) == ["alice"])
        }
    }

    /// Fifty tests, eight at a time, each in a space with a clock of its own: they know the description, and nothing else.
    @Test func fiftyTestsAtOnceShareOneServer() async throws {
        try await withEmulator { emulator async throws in
            let outcome = try await self.run(
                "python",
                [
                    "-m", "pytest", "-n", "8", "-q", "-p", "no:cacheprovider", "--color", "no",
                    Self.scripts.appending(path: "spaces").path,
                ],
                environment: [
                    "MOBILE_TOKEN_SPACES_URL": emulator.cloudURL + "/_emulator/spaces",
                    "MOBILE_TOKEN_CLOUD_USER": emulator.cloudUser,
                    "MOBILE_TOKEN_CLOUD_PASSWORD": emulator.cloudPassword,
                    "PYTHONDONTWRITEBYTECODE": "1",
                ]
            )
            guard let outcome else { return }
            #expect(outcome.exitCode == 0, "\(outcome.output.suffix(6000)) \(outcome.errors.suffix(2000))")
            #expect(outcome.output.contains("50 passed"))
            // None has used the server itself, and all have cleaned up.
            #expect(await emulator.journal() == [])
            #expect(emulator.spaces() == [])
        }
    }
}
