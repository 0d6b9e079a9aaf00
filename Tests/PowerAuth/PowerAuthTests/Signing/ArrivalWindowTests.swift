import Foundation
import HTTPClientTransport
import MobileTokenTesting
import Testing
import TestSupport

import PowerAuth
@testable import PowerAuthClient

/// The process that signs writes down until when its request may still arrive, and every other one waits for that moment.
@Suite(.timeLimit(.minutes(5))) struct ArrivalWindowTests {
    private let start = Date(timeIntervalSince1970: 1_750_000_000)

    /// Signs with a client of these settings, and loses the response.
    private func loseAnswer(
        _ store: ActivationStore,
        _ configure: (inout MobileTokenClient.Configuration) -> Void
    ) async throws -> (VerifyingServer, Activation) {
        let start = self.start
        let fixture = try Fixture(server: try VerifyingServer(now: { start }), store: store) {
            $0.wallClock = { start }
            configure(&$0)
        }
        let activation = try await fixture.activate()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let intent = DecisionIntent(
            activationID: activation.activationID,
            operationID: "a",
            verdict: .approve,
            factors: .possession,
            signed: "A1"
        )
        await #expect(throws: MobileTokenError.self) { try await activation.decide("a", intent) }
        return (fixture.server, activation)
    }

    /// Returns the time that is left by another process' client, with other time-outs.
    private func timeLeft(_ server: VerifyingServer, _ store: ActivationStore, after age: TimeInterval) async throws
        -> Duration
    {
        let start = self.start
        let other = try Fixture(server: server, store: store) {
            $0.wallClock = { start + age }
            $0.timeout = .seconds(5)
        }
        let id = try #require(try await store.activationIDs().first)
        let activation = try await other.client.activation(id: id)
        return activation.timeLeft(of: try #require(try await activation.openDecisions().first))
    }

    @Test(arguments: [(Duration.zero, 60), (.seconds(30), 90), (.seconds(300), 360)])
    func whoTakesOverWaitsAsLongAsTheSignersRequestMayTake(proxyTimeout: Duration, seconds: Int) async throws {
        let store = ActivationStore.inMemory()
        let (server, activation) = try await self.loseAnswer(store) {
            $0.timeout = .seconds(60)
            $0.proxyTimeout = proxyTimeout
        }
        let length = Double(seconds)
        let open = try #require(try await activation.openDecisions().first)
        #expect(open.intent.arrivesBefore == self.start + length)
        #expect(try await self.timeLeft(server, store, after: length - 1) == .seconds(1))
        #expect(try await self.timeLeft(server, store, after: length) == .zero)
        #expect(try await self.timeLeft(server, store, after: -1_000) == .seconds(seconds))
    }

    /// The server's time follows the monotonic clock, which nobody sets.
    @Test func aWallClockThatIsSetAheadLetsNoTimePass() async throws {
        let (wall, clock) = (Shared(self.start), ManualClock())
        let (server, activation) = try await self.loseAnswer(ActivationStore.inMemory()) {
            $0.timeout = .seconds(60)
            $0.wallClock = { wall.value }
            $0.clock = clock
        }
        let open = try #require(try await activation.openDecisions().first)
        #expect(open.intent.serverDate != nil)
        wall.value += 3_600
        #expect(activation.timeLeft(of: open) == .seconds(60))
        // Nor does it where the server cannot be asked what time it is.
        server.setFate { _ in .requestLost }
        try await activation.synchronizeTime()
        #expect(activation.timeLeft(of: open) == .seconds(60))
        clock.advance(by: .seconds(59))
        #expect(activation.timeLeft(of: open) == .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(activation.timeLeft(of: open) == .zero)
    }

    @Test func aRightThatLastsCountsFromItsEnd() throws {
        let now = ContinuousClock.now
        let window = ArrivalWindow(
            at: now,
            notAfter: now + .seconds(6),
            timeout: .seconds(20),
            arrivalTimeout: .seconds(20)
        )
        #expect(window.length == .seconds(26))
        #expect(window.timeout(at: now) == .seconds(20))
        #expect(window.timeout(at: now + .seconds(16)) == .seconds(10))
        #expect(window.timeout(at: now + .seconds(26)) == nil)
    }

    @Test func aRightWithoutAnEndCountsFromTheSignature() throws {
        let now = ContinuousClock.now
        let window = ArrivalWindow(at: now, notAfter: nil, timeout: .seconds(20), arrivalTimeout: .seconds(110))
        #expect(window.length == .seconds(110))
        #expect(window.timeout(at: now + .seconds(1)) == .seconds(19))
        #expect(window.timeout(at: now + .seconds(20)) == nil)
    }

    /// Receipts of versions that wrote no moment.
    @Test func whatNamesNoMomentHasTheClientsOwn() async throws {
        let store = ActivationStore.inMemory()
        let (_, activation) = try await self.loseAnswer(store) { $0.timeout = .seconds(60) }
        let intent = DecisionIntent(
            activationID: activation.activationID,
            operationID: "a",
            verdict: .approve,
            factors: .possession,
            signed: "A1",
            localDate: self.start - 50
        )
        #expect(activation.timeLeft(of: OpenDecision(intent, moves: 1)) == .seconds(10))
    }
}
