import HTTPClientTransport
import StoreTesting
import Foundation
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// A service by itself, and one that a fleet polls, before a real server.
@Suite(.timeLimit(.minutes(5))) struct ServiceBesideFleetTests {
    private struct CountingDriver: ForwardingDriver {
        let base: any JournalDriver
        let calls: Shared<Int>

        func passing<Result>(_ call: () async throws -> Result) async throws -> Result {
            self.calls.update { $0 += 1 }
            return try await call()
        }
    }

    @Test func aServiceThatNobodyPollsAsksNoStore() async throws {
        try await FleetStage.with { stage in
            let calls = Shared(0)
            let client = try stage.makeClient(store: .inMemory { CountingDriver(base: $0, calls: calls) })
            let activation = try await client.activation(id: try await stage.activate(1, client)[0])
            let service = client.makeOperationsService(for: activation, configuration: .on(stage.clock))
            let stream = service.events()
            try await service.operations()
            await until { !service.isLoadingOperations }
            let (before, requests) = (calls.value, stage.requests.value.count)
            stage.clock.advance(by: .seconds(3600))
            #expect(stage.clock.sleeperCount == 0)
            #expect(service.list.operations.isEmpty)
            #expect(calls.value == before)
            #expect(stage.requests.value.count == requests)
            withExtendedLifetime(stream) {}
        }
    }

    /// Two fleets of one client refuse each other.
    @Test func theAgentOfOneActivationSetsItsClientNoLimits() async throws {
        try await FleetStage.with { stage, client in
            let activation = try await client.activation(id: try await stage.activate(1, client)[0])
            let service = client.makeOperationsService(for: activation, configuration: .on(stage.clock))
            let agent = try ApprovalAgent(operations: service, factors: { .twoFactors }) { _ in
                .deferToPeople
            }
            let deciding = Task { try await agent.run() }
            await until { agent.health.fleet.counts == [.active: 1] }
            let fleet = client.makeFleet(configuration: FleetStage.configuration)
            try await stage.running(fleet) {
                await stage.advance(fleet) { fleet.health.counts == [.active: 1] }
                #expect(agent.health.isRunning)
            }
            try await deciding.stop()
            #expect(!service.isPolling)
        }
    }

    @Test func aReleasedServiceEndsItsStreamsAndItsRequestThoughAFleetPolledIt() async throws {
        try await FleetStage.with { stage in
            let (isHeld, held, canceled) = (Shared(false), Shared(0), Shared(0))
            let zero = ManualClock().now
            let clock = stage.clock
            let transport = try InterceptingTransport { request, deliver in
                guard isHeld.value, request.url.hasSuffix("/operation/list") else { return try await deliver(request) }
                held.update { $0 += 1 }
                await waitForCancellation()
                canceled.update { $0 += 1 }
                throw CancellationError()
            }
            let client = try stage.emulator.makeClient {
                $0.transport = transport
                $0.clock = clock
                $0.wallClock = { FleetStage.start + zero.duration(to: clock.now) / .seconds(1) }
            }
            let id = try await stage.activate(1, client)[0]
            weak var released: OperationsService?
            let reader = try await {
                let fleet = client.makeFleet(configuration: FleetStage.configuration)
                let running = Task { try await fleet.run() }
                await stage.advance(fleet) { fleet.state(of: id)?.phase == .active }
                let service = try await fleet.service(of: id)
                released = service
                let events = service.events()
                isHeld.value = true
                service.pollNow()
                stage.clock.advance(by: .seconds(7))
                await until { held.value == 1 }
                try await running.stop()
                return Task { for await _ in events {} }
            }()
            await reader.value
            await until { released == nil && canceled.value == 1 }
        }
    }
}
