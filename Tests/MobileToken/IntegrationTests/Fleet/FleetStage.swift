import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport

/// A fleet before a real server, with the time of both in the test's hand.
struct FleetStage: Sendable {
    static let start = Date(timeIntervalSince1970: 1_750_000_000)

    let emulator: Emulator
    let clock = ManualClock()
    /// The paths of requests and the times at which they were sent, in the test's time.
    let requests = Shared<[(path: String, time: Duration)]>([])
    /// The number of coming requests with a token that are spoilt on their way, so that the server refuses the token.
    let spoiltTokens = Shared(0)

    /// Runs a test with a server of its own.
    static func with(_ body: (FleetStage) async throws -> Void) async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze(at: Self.start)
            try await body(FleetStage(emulator: emulator))
        }
    }

    static func with(_ body: (FleetStage, MobileTokenClient) async throws -> Void) async throws {
        try await self.with { try await body($0, $0.makeClient()) }
    }

    func makeClient(store: ActivationStore = ActivationStore.inMemory()) throws -> MobileTokenClient {
        let zero = ManualClock().now
        let (clock, requests, spoiltTokens) = (self.clock, self.requests, self.spoiltTokens)
        let transport = try InterceptingTransport { request, deliver in
            let path = URLComponents(string: request.url)?.path ?? ""
            requests.update { $0.append((path, zero.duration(to: clock.now))) }
            guard request.headers["X-PowerAuth-Token"] != nil,
                spoiltTokens.update({
                    $0 -= 1; return $0 >= 0
                })
            else {
                return try await deliver(request)
            }
            var spoilt = request
            spoilt.headers["X-PowerAuth-Token"] = spoilt.headers["X-PowerAuth-Token"]
                .map { $0.replacing(/token_digest="..../, with: "token_digest=\"AAAA") }
            return try await deliver(spoilt)
        }
        return try self.emulator.makeClient {
            $0.store = store
            $0.transport = transport
            $0.clock = clock
            $0.wallClock = { Self.start + zero.duration(to: clock.now) / .seconds(1) }
        }
    }

    /// Makes activations of users `user 0`, `user 1`, … and returns their identifiers.
    func activate(_ count: Int, _ client: MobileTokenClient) async throws -> [String] {
        var ids: [String] = []
        for number in 0..<count {
            let user = "user \(number)"
            ids.append(
                try await self.emulator.makeActivation(user: user, password: password, client: client).activationID
            )
        }
        return ids
    }

    /// The configuration of the tests' fleets, which poll without chance.
    static var configuration: OperationsFleet.Configuration {
        altered(OperationsFleet.Configuration()) { $0.random = { 0.5 } }
    }

    func running(_ fleet: OperationsFleet, _ body: () async throws -> Void) async throws {
        let running = Task { try await fleet.run() }
        do {
            try await body()
        } catch {
            running.cancel()
            _ = await running.result
            throw error
        }
        try await running.stop()
    }

    /// Moves both clocks step by step, and lets the fleet do what has fallen due after each.
    func advance(_ fleet: OperationsFleet, by duration: Duration, step: Duration = .milliseconds(100)) async {
        var left = duration
        while left > .zero {
            let part = min(step, left)
            await self.emulator.clock.advance(by: part)
            self.clock.advance(by: part)
            left -= part
            await until { await fleet.isIdle }
        }
    }

    /// Moves both clocks until a condition holds.
    func advance(_ fleet: OperationsFleet, until condition: () async throws -> Bool) async rethrows {
        while !Task.isCancelled, try await !condition() {
            await self.advance(fleet, by: .milliseconds(100))
        }
    }

    func count(of path: String) -> Int { self.requests.value.count { $0.path.hasSuffix(path) } }
}
