import StoreTesting
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// The health that a probe asks for while the database does not answer.
@Suite(.timeLimit(.minutes(5))) struct AgentHealthTests {
    /// A driver that hangs when told, and counts the questions for a pause: all of them, and those of a probe.
    private final class HangingDriver: ForwardingDriver {
        @TaskLocal static var isProbe = false

        let base: any JournalDriver = MemoryDriver()
        let door = Shared<Door?>(nil)
        let pauseQuestions = Shared(0)
        let probesQuestions = Shared(0)

        func passing<Result>(_ call: () async throws -> Result) async throws -> Result {
            await self.door.value?.pass()
            return try await call()
        }

        func decisionPause() async throws -> DecisionPause? {
            self.pauseQuestions.update { $0 += 1 }
            if Self.isProbe { self.probesQuestions.update { $0 += 1 } }
            return try await self.passing { try await self.base.decisionPause() }
        }
    }

    @Test(arguments: [false, true]) func healthChangesNothingAndWaitsForNoStore(ofFleet: Bool) async throws {
        try await withEmulator { emulator in
            let (driver, clock) = (HangingDriver(), ManualClock())
            let client = try emulator.makeClient {
                $0.store = .inMemory { _ in driver }
                $0.clock = clock
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let fleet = client.makeFleet()
            let agent =
                try ofFleet
                ? ApprovalAgent(fleet: fleet, factors: { _ in .twoFactors }) { _ in .deferToPeople }
                : ApprovalAgent(
                    operations: client.makeOperationsService(for: activation, configuration: .on(clock)),
                    factors: { .twoFactors }
                ) { _ in .deferToPeople }
            let running = Task { try await agent.run() }
            await until { agent.health.isRunning }
            await until { clock.sleeperCount > 0 && driver.pauseQuestions.value > 0 }

            try await client.pauseDeciding(reason: "fraud")
            HangingDriver.$isProbe.withValue(true) { _ = agent.health }
            #expect(driver.probesQuestions.value == 0)
            // The agent looks by itself.
            while !agent.health.isDecidingPaused {
                clock.advance(by: .seconds(1))
                for _ in 0..<100 { await Task.yield() }
            }
            #expect(agent.health.decisionPause?.reason == "fraud")

            let door = Door()
            driver.door.value = door
            // The agent may not have set its next look yet, so one step of the clock can come too early.
            let isThere = Shared(false)
            let visit = Task {
                await door.waitForVisitors()
                isThere.value = true
            }
            while !isThere.value {
                clock.advance(by: .seconds(60))
                for _ in 0..<100 { await Task.yield() }
            }
            await visit.value
            #expect(agent.health.isDecidingPaused)
            #expect(fleet.health.isRunning == ofFleet)
            driver.door.value = nil
            door.open()
            try await running.stop()
        }
    }
}
