import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import TestSupport

/// Counts requests on their way, so that a manual clock moves only while nobody waits for the network, which knows no clock.
final class Traffic: Sendable {
    private let count = Shared(0)

    func transport(
        _ intercept: @escaping @Sendable (HTTPRequest, InterceptingTransport.Delivery) async throws -> HTTPResponse = {
            request,
            deliver in
            try await deliver(request)
        }
    ) throws -> InterceptingTransport {
        try InterceptingTransport { request, deliver in
            self.begin()
            defer { self.end() }
            return try await intercept(request, deliver)
        }
    }

    func begin() { self.count.update { $0 += 1 } }
    func end() { self.count.update { $0 -= 1 } }

    /// Lets time pass in steps, until the calling task is canceled.
    ///
    /// - Parameter speed: The seconds that pass in one of the machine's at most. A server on a clock of its own, and work that waits for a
    ///   processor, must not find that hours have gone by.
    func pass(
        _ clock: ManualClock,
        by step: Duration = .milliseconds(100),
        speed: Double = 100,
        _ then: () async -> Void = {}
    ) async {
        var next = ContinuousClock.now
        while !Task.isCancelled {
            await self.settle()
            try? await ContinuousClock().sleep(until: next)
            next = .now + step / speed
            clock.advance(by: step)
            await then()
        }
    }

    /// Runs an agent, and its time, while `body` reads its events.
    func run(
        _ agent: ApprovalAgent,
        _ clock: ManualClock,
        by step: Duration = .milliseconds(100),
        speed: Double = 100,
        _ body: (inout AsyncStream<ApprovalAgent.Event>.Iterator) async throws -> Void
    ) async throws {
        var events = agent.events().makeAsyncIterator()
        let running = Task { try await agent.run() }
        let time = Task { await self.pass(clock, by: step, speed: speed) }
        try await body(&events)
        time.cancel()
        try await running.stop()
    }

    /// Waits until nothing is on its way, and what follows from the last response has had its turn.
    func settle() async {
        var quiet = 0
        while quiet < 50, !Task.isCancelled {
            quiet = self.count.value == 0 ? quiet + 1 : 0
            await Task.yield()
        }
    }
}

extension ApprovalAgent.Configuration {
    /// For an agent whose time passes faster than a busy machine gets to a policy.
    static var patient: Self {
        altered(Self()) { $0.policyDeadline = .seconds(86_400) }
    }
}

extension ApprovalAgent {
    static func patient(for fleet: OperationsFleet, policy: @escaping Policy = { _ in .approve }) -> ApprovalAgent {
        ApprovalAgent(fleet: fleet, factors: { _ in .twoFactors }, configuration: .patient, policy: policy)
    }

    static func patient(
        for operations: OperationsService,
        policy: @escaping Policy = { _ in .approve }
    ) throws -> ApprovalAgent {
        try ApprovalAgent(operations: operations, factors: { .twoFactors }, configuration: .patient, policy: policy)
    }
}
