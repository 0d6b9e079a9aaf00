import StoreTesting
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// The behaviour of a fleet towards a server that is slow, unwell, or has forgotten everybody.
@Suite(.timeLimit(.minutes(5))) struct GoodGuestTests {
    @Test func noSecondSeesMoreRequestsThanTheCap() async throws {
        try await FleetStage.with { stage, client in
            _ = try await stage.activate(20, client)
            let before = stage.requests.value.count
            var configuration = FleetStage.configuration
            configuration.limits.requestsPerSecond = 5
            let fleet = client.makeFleet(configuration: configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.health.counts == [.active: 20] }
            }
            let times = stage.requests.value[before...].map(\.time)
            #expect(times.count >= 40)  // a token and a list each
            let most = times.map { start in times.count { $0 >= start && $0 < start + .seconds(1) } }.max()
            #expect(most ?? 0 <= 5)
        }
    }

    /// As many activations as would burn the counter of one that decides, if it moved before the request may leave.
    @Test func aDecisionThatWaitsInLineForTooLongSpendsNothing() async throws {
        try await FleetStage.with { stage in
            let (turns, store) = LimitedTurns.inMemory()
            let client = try stage.makeClient(store: store)
            let ids = try await stage.activate(20, client)
            let service = client.makeOperationsService(for: try await client.activation(id: ids[0]))
            let operation = try await stage.emulator.offer(to: "user 0", on: service)
            let before = try await store.record(of: ids[0])?.counterMoves
            var configuration = FleetStage.configuration
            configuration.limits.requestsPerSecond = 1
            let fleet = client.makeFleet(configuration: configuration)
            try await stage.running(fleet) {
                // The next place is not free before time moves.
                await stage.advance(fleet) { fleet.limiters[0].delayedCount > 0 }
                let deciding = Deciding { try await service.reject(operation) }
                await until { turns.hasTurn(ids[0]) }
                turns.end = .now
                await stage.advance(fleet) { deciding.hasEnded.value }
                #expect(try await errorCode { try await deciding.task.value } == .signingTurnLost)
                #expect(try await store.record(of: ids[0])?.counterMoves == before)
                #expect(try await store.receipts(of: nil, after: 0, limit: 1).isEmpty)

                turns.end = nil
                let later = Deciding { try await service.reject(operation) }
                await stage.advance(fleet) { later.hasEnded.value }
                try await later.task.value
                #expect(try await store.record(of: ids[0])?.counterMoves == before.map { $0 + 1 })
                #expect(try await store.receipts(of: nil, after: 0, limit: 9).map(\.outcome?.result) == [.accepted])
            }
        }
    }

    /// A decision that takes as long as the time that is in the test's hand.
    private struct Deciding {
        let hasEnded = Shared(false)
        let task: Task<Void, any Error>

        init(_ decide: @escaping @Sendable () async throws -> Void) {
            self.task = Task { [hasEnded] in
                defer { hasEnded.value = true }
                try await decide()
            }
        }
    }

    @Test func aServerThatAsksToBeLeftAloneIs() async throws {
        try await FleetStage.with { stage, client in
            _ = try await stage.activate(4, client)
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.health.counts == [.active: 4] }
                try await stage.emulator.withFault(.unavailable(retryAfter: 120), on: "/api/**") {
                    await stage.advance(fleet) { fleet.health.heldBack != [:] }
                    // Those that were under way at the same time may still fail.
                    await stage.advance(fleet, by: .seconds(1))
                    let count = stage.requests.value.count
                    await stage.advance(fleet, by: .seconds(100))
                    #expect(stage.requests.value.count == count)
                    // One looks whether the server is well again.
                    await stage.advance(fleet) { stage.requests.value.count > count }
                    await stage.advance(fleet, by: .seconds(60))
                    #expect(stage.requests.value.count == count + 1)
                }
                await stage.advance(fleet) {
                    fleet.health.oldestSuccessfulPoll.map { $0 < .seconds(20) } ?? false
                }
                #expect(fleet.health.heldBack == [:])
            }
        }
    }

    @Test func refusedTokensAreNotAllRenewedAtOnce() async throws {
        try await FleetStage.with { stage, client in
            _ = try await stage.activate(30, client)
            var configuration = FleetStage.configuration
            configuration.limits.tokenRenewalsPerSecond = 2
            let fleet = client.makeFleet(configuration: configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.health.counts == [.active: 30] }
                let start = stage.requests.value.count
                // As if the server had lost all tokens: the next request with each is refused.
                stage.spoiltTokens.value = 30
                await stage.advance(fleet) { stage.spoiltTokens.value <= 0 }
                await stage.advance(fleet, by: .seconds(60))
                let times = stage.requests.value[start...].filter { $0.path.hasSuffix("/token/create") }.map(\.time)
                #expect(!times.isEmpty)
                let most = times.map { start in times.count { $0 >= start && $0 < start + .seconds(1) } }.max()
                #expect(most ?? 0 <= 2)
                #expect(fleet.health.oldestSuccessfulPoll.map { $0 < .seconds(30) } == true)
                #expect(fleet.health.counts == [.active: 30])
            }
        }
    }
}
