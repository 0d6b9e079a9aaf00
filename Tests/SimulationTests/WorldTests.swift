import Foundation
import Testing
import TestSupport

/// Worlds that are lived through by the program `simulate`.
@Suite(.timeLimit(.minutes(10))) struct WorldTests {
    private func simulate(_ arguments: String...) async throws -> ChildProcess.Outcome {
        try await ChildProcess.run(ChildProcess.besideTests("simulate"), arguments)
    }

    /// How many seeds there are; `SIMULATED_SEEDS` sets it.
    private static let seedCount = ProcessInfo.processInfo.environment["SIMULATED_SEEDS"] ?? "100"

    @Test func nothingGoesWrongInAHundredWorlds() async throws {
        let outcome = try await self.simulate("--seeds", Self.seedCount)
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
        // Otherwise these were no bad days.
        for name in ["decisions", "unclean takeovers", "responses lost", "late requests", "database answers lost"] {
            #expect(outcome.lines.contains { $0.hasPrefix("\(name): ") }, "no \(name)")
        }
    }

    @Test func oneSeedIsOneStory() async throws {
        let stories = [
            try await self.simulate("--seed", "3", "--steps"), try await self.simulate("--seed", "3", "--steps"),
        ]
        #expect(stories[0].outputBytes == stories[1].outputBytes)
        #expect(stories[0].lines.count > 1_000)
    }
}
