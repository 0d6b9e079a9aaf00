import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// A store that was put back is noticed when an agent starts, and not by the first payment that is lost to it.
@Suite(.timeLimit(.minutes(5))) struct AgentRollbackTests {
    private let clock = ManualClock()
    private let traffic = Traffic()

    private func makeClient(_ emulator: Emulator) throws -> MobileTokenClient {
        try emulator.makeClient {
            $0.clock = self.clock
            $0.transport = try self.traffic.transport()
        }
    }

    @Test(arguments: [false, true]) func aFleetSaysSoBeforeAnythingIsSigned(isStatusLate: Bool) async throws {
        try await withEmulator { emulator async throws in
            let client = try self.makeClient(emulator)
            let old = try await emulator.makeActivation(user: "mallory", password: password, client: client)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await emulator.advanceCounter(ofActivation: old.activationID, by: 26)
            let position = await emulator.journalPosition
            let agent = ApprovalAgent.patient(for: client.makeFleet()) { _ in .deferToPeople }
            // The first questions for the status fail, and polling goes on.
            try await emulator.withFault(.unavailable(), on: "/pa/v3/activation/status", first: isStatusLate ? 4 : 0) {
                try await self.traffic.run(agent, self.clock) { _ in
                    await until { agent.health.fleet.counts == [.active: 1, .rolledBack: 1] }
                }
            }
            // A poll makes a token first, with a signature.
            if !isStatusLate { #expect(await emulator.signedRequests(of: old, since: position).isEmpty) }
        }
    }

    @Test func theAgentOfOneActivationEndsWithIt() async throws {
        try await withEmulator { emulator async throws in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: 26)
            let service = client.makeOperationsService(for: activation)
            let agent = try ApprovalAgent.patient(for: service) { _ in .deferToPeople }
            let error = await #expect(throws: MobileTokenError.self) { try await agent.run() }
            #expect(error?.code == .stateRolledBack)
            #expect(agent.health.fleet.counts == [.rolledBack: 1])
            #expect(agent.health.fleet.lastFailure?.error.code == .stateRolledBack)
        }
    }
}
