import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Synchronization
import TestSupport

/// Counts requests on their way, so that a manual clock moves only while nobody waits for the network, which knows no clock.
final class Traffic: Sendable {
    private let count = Shared(0)

    /// A transport whose requests are counted.
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
        var configuration = Self()
        configuration.policyDeadline = .seconds(86_400)
        return configuration
    }
}
