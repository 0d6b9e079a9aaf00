import Testing
import TestSupport

/// Runs the program `simulate`, since the simulator replaces the executors and the clocks of the whole program that it is in.
@Suite(.timeLimit(.minutes(10))) struct SimulatorTests {
    private func simulate(_ arguments: String...) async throws -> ChildProcess.Outcome {
        try await ChildProcess.run(ChildProcess.besideTests("simulate"), arguments)
    }

    @Test func theSimulatorKeepsItsPromises() async throws {
        let outcome = try await self.simulate("--proof")
        #expect(outcome.exitCode == 0, "\(outcome.output)\(outcome.errors)")
        #expect(outcome.lines.count { $0.hasPrefix("ok ") } == 14)
        // Another process, at other addresses: the same order.
        let other = try await self.simulate("--proof")
        #expect(other.output == outcome.output)
    }
}
