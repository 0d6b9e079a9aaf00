import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(5))) struct AgentLostSignaturesTests {
    private let clock = ManualClock()
    private let traffic = Traffic()

    /// Runs an agent that approves everything, after ten signatures that the server has not seen.
    ///
    /// - Parameter hasToken: `true` if the list can be fetched without another signature.
    private func run(
        hasToken: Bool,
        _ body: (Emulator, Activation, _ trials: Shared<[ManualClock.Instant]>, _ isLosing: Shared<Bool>, ApprovalAgent)
            async throws ->
            Void
    ) async throws {
        try await withEmulator { emulator in
            let (isLosing, trials, clock) = (Shared(false), Shared<[ManualClock.Instant]>([]), self.clock)
            let client = try emulator.makeClient {
                $0.clock = clock
                $0.transport = try self.traffic.transport { request, deliver in
                    guard isLosing.value, request.isSigned else { return try await deliver(request) }
                    trials.update { $0.append(clock.now) }
                    var request = request
                    request.headers["X-PowerAuth-Authorization"] = nil
                    return try await deliver(request)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            if hasToken { _ = try await client.makeOperationsService(for: activation).fetchList() }
            isLosing.value = true
            for _ in 1...10 { _ = try await errorCode { try await activation.validate(.possession) } }
            trials.value = []
            let service = client.makeOperationsService(for: activation, configuration: .on(self.clock))
            let agent = try ApprovalAgent.patient(for: service)
            try await self.traffic.run(agent, self.clock, by: .seconds(60), speed: .infinity) { _ in
                try await body(emulator, activation, trials, isLosing, agent)
            }
        }
    }

    /// It tries one an hour by itself, never the last three, and one that arrives heals everything.
    @Test(arguments: [true, false]) func oneAnHourIsTriedUntilOneArrives(hasToken: Bool) async throws {
        try await self.run(hasToken: hasToken) { emulator, activation, trials, isLosing, agent in
            var events = agent.events().makeAsyncIterator()
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            var stop: MobileTokenError?
            while stop == nil, let event = await events.next(isolation: #isolation) {
                if case .stopped(let error) = event.kind { stop = error }
            }
            #expect(stop?.code == .signaturesAreLost)
            #expect(agent.stoppedActivations.values.map(\.code) == [.signaturesAreLost])
            await until { trials.value.count == 3 }
            for (earlier, later) in zip(trials.value, trials.value.dropFirst()) {
                #expect(earlier.duration(to: later) >= .seconds(3_600))
            }
            #expect(try await activation.status().counter.distance == 13)
            #expect(try await emulator.cloud.operation(login.id).status == .pending)

            isLosing.value = false
            var kinds: [String] = []
            while kinds.last?.hasPrefix("decided") != true, let event = await events.next(isolation: #isolation) {
                kinds.append(event.kind.description)
            }
            #expect(kinds.first == "resumed", "\(kinds)")
            #expect(try await emulator.cloud.operation(login.id).status == .approved)
            #expect(try await activation.status().counter.distance == 0)
        }
    }

    @Test func theLastThreeAreLeftToPeople() async throws {
        try await self.run(hasToken: true) { emulator, activation, trials, isLosing, agent in
            _ = try await emulator.cloud.createOperation("login", userID: "alice")
            await until { trials.value.count == 7 }
            #expect(try await activation.status().counter.distance == 17)
            // Three more hours, in which the status alone is asked for.
            let end = self.clock.now.advanced(by: .seconds(3 * 3_600))
            await until { self.clock.now >= end }
            #expect(trials.value.count == 7)
            isLosing.value = false
            #expect(try await activation.tryCounter().lostSignatures == 0)
            await until { agent.stoppedActivations.isEmpty }
        }
    }
}
