import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import Testing

/// The fleets of the page *Testing a fleet*. Number 31: the first polls need no time.
@Suite(.timeLimit(.minutes(5))) struct DocumentedFleetTests {
    @Test func aFleetFollowsAllUsers() async throws {
        let clock = ManualClock()
        try await withEmulator { emulator in
            let client = try emulator.makeClient { $0.clock = clock }
            for user in ["alice", "bob"] {
                _ = try await emulator.makeActivation(user: user, password: "1234", client: client)
            }
            let fleet = client.makeFleet()
            var changes = fleet.changes().makeAsyncIterator()
            let first = try await emulator.cloud.createOperation("login", userID: "bob")
            async let _ = fleet.run()
            #expect(await changes.next()?.change.added.map(\.id) == [first.id])

            // An operation that comes later is found by a later poll.
            let second = try await emulator.cloud.createOperation("login", userID: "alice")
            async let _ = clock.runFreely()
            #expect(await changes.next()?.change.added.map(\.id) == [second.id])
        }
    }

    @Test func anAgentDecidesForAllUsers() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient { $0.clock = ManualClock() }
            var logins: [String] = []
            for user in ["alice", "bob"] {
                _ = try await emulator.makeActivation(user: user, password: "1234", client: client)
                logins.append(try await emulator.cloud.createOperation("login", userID: user).id)
            }
            let agent = ApprovalAgent(
                fleet: client.makeFleet(),
                factors: { activation in try await activation.unlockKnowledge(password: "1234") }
            ) { review in review.operation.name == "login" ? .approve : .deferToPeople }
            async let _ = agent.run()
            for login in logins { #expect(await emulator.decision(on: login)?.status == .approved) }
        }
    }
}

/// Number 30: a service that is made by hand speaks and waits as those that its client makes.
@Suite struct ServiceOfActivationTests {
    @Test func aServiceTakesTheLanguageAndTheClockOfItsClient() async throws {
        let clock = ManualClock()
        try await withEmulator { emulator in
            let client = try emulator.makeClient {
                $0.clock = clock
                $0.acceptLanguage = try MobileTokenClient.AcceptLanguage("cs")
            }
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", client: client)
            let service = OperationsService(activation: activation)
            #expect(service.acceptLanguage.description == "cs")
            #expect(InboxService(activation: activation).acceptLanguage.description == "cs")
            async let _ = service.poll()
            // It waits on the client's clock.
            await clock.waitForSleepers(1)
            #expect(client.makeOperationsService(for: activation).acceptLanguage.description == "cs")
            let other = OperationsService(activation: activation, configuration: .init())
            #expect(other.acceptLanguage == .english)
        }
    }
}
