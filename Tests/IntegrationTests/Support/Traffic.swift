import HTTPClientTransport
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
            self.count.update { $0 += 1 }
            defer { self.count.update { $0 -= 1 } }
            return try await intercept(request, deliver)
        }
    }

    /// Lets time pass in steps, until the calling task is canceled.
    func pass(_ clock: ManualClock, by step: Duration = .milliseconds(100), _ then: () async -> Void = {}) async {
        while !Task.isCancelled {
            await self.settle()
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
