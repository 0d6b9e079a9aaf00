import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import TestSupport

/// One life of the process under test: a store, a client, a fleet and an agent, from the start until it is stopped or killed.
///
/// It has a clock of its own, so that what a dead one still waits for can be hurried to its end.
struct MortalProcess: Sendable {
    let line = LifeLine()
    let clock = ManualClock()
    let fleet: OperationsFleet
    let agent: ApprovalAgent
    private let client: MobileTokenClient
    private let store: ActivationStore
    private let running: Task<Void, any Error>
    private let reading: Task<Void, Never>

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - path: The store, which outlives it.
    ///   - world: What the process lives in.
    init(storeAt path: String, in world: TroubledWorld) throws {
        let (line, clock) = (self.line, self.clock)
        self.store = ActivationStore.sqlite(path: path)
        let store = self.store
        self.client = try world.emulator.makeClient {
            $0.store = store.reopened { MortalDriver(line: line, base: $0) }
            $0.transport = world.network(of: line, on: clock)
            $0.clock = clock
            $0.wallClock = { world.date }
        }
        var configuration = OperationsFleet.Configuration()
        configuration.pollInterval = world.plan.pollInterval
        configuration.limits.requestsPerSecond = Double(world.plan.requestsPerSecond)
        let fleet = self.client.fleet(configuration: configuration)
        let agent = ApprovalAgent(
            fleet: fleet,
            factors: { activation in try await activation.unlockKnowledge(password: password) },
            policy: TroubledBank.policy
        )
        (self.fleet, self.agent) = (fleet, agent)
        self.running = Task { try await agent.run() }
        let events = agent.events()
        self.reading = Task { for await event in events { world.heard(event) } }
    }

    /// What must be released once the process has ended.
    struct Remains {
        private weak var fleet: OperationsFleet?
        private weak var agent: ApprovalAgent?

        fileprivate init(_ process: MortalProcess) { (self.fleet, self.agent) = (process.fleet, process.agent) }

        var isReleased: Bool { self.fleet == nil && self.agent == nil }
    }

    var remains: Remains { Remains(self) }

    /// How many requests wait for the cap on requests a second.
    var delayedRequestCount: Int { self.fleet.limiters.reduce(0) { $0 + $1.delayedCount } }

    /// Whether nothing happens before time passes.
    var isQuiet: Bool {
        get async {
            guard await self.fleet.isIdle else { return false }
            return await self.agent.isQuiet
        }
    }

    /// Stops it as a service manager does, while time goes on for everybody. What is signed comes to its end.
    func stop(in world: TroubledWorld) async throws {
        let (ending, hasEnded) = self.beginEnd()
        while !hasEnded.value {
            await world.traffic.settle()
            await world.pass(.milliseconds(100), for: self)
        }
        try await ending.value
    }

    /// Kills it. Its tasks find a world that they cannot reach any more, and end.
    func kill(in world: TroubledWorld) async {
        self.line.cut()
        let (ending, hasEnded) = self.beginEnd()
        while !hasEnded.value {
            await world.traffic.settle()
            self.clock.advance(by: .seconds(1))  // its own: no request of it goes out any more
        }
        _ = await ending.result
    }

    private func beginEnd() -> (Task<Void, any Error>, hasEnded: Shared<Bool>) {
        self.running.cancel()
        let hasEnded = Shared(false)
        let ending = Task { [running, reading, client, store] in
            let result = await running.result
            await reading.value
            await client.shutdown()
            await store.close()
            hasEnded.value = true
            try result.get()
        }
        return (ending, hasEnded)
    }
}
