import Foundation
import HTTPClientTransport
import MobileTokenTesting
import Testing
import TestSupport

import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct TokenTests {
    @Test func aHundredRequestsAtOnceCreateOneToken() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { try await activation.poll() } }
            try await group.waitForAll()
        }
        #expect(fixture.server.requestCount("/token/create") == 1)
        #expect(fixture.server.requestCount("/api/token") == 100)
    }

    @Test func tokenRequestsPassBesideTheGate() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.poll()
        let hold = fixture.server.hold("/api/signed")
        let signed = Task { try await activation.approve("x") }
        await until { activation.isSigning }
        try await activation.poll()
        #expect(activation.isSigning)
        hold.value = false
        try await signed.value
    }

    @Test func tokensOfDifferentNamesAreKeptApartAndListed() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.requestToken("b", with: Fixture.twoFactors)
        try await activation.requestToken("a")
        try await activation.requestToken("a")
        #expect(try await activation.tokenNames() == ["a", "b"])
        #expect(fixture.server.tokenCount == 2)
        try await activation.removeToken("a")
        #expect(try await activation.tokenNames() == ["b"])
        #expect(fixture.server.tokenCount == 1)
        try await activation.removeTokenLocally("b")
        #expect(try await activation.tokenNames() == [])
        #expect(fixture.server.tokenCount == 1)
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aRefusedTokenIsRenewedOnceForEverybody(version: ProtocolVersion) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        try await activation.poll()
        fixture.server.forgetTokens()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await activation.poll() } }
            try await group.waitForAll()
        }
        #expect(fixture.server.requestCount("/token/create") == 2)
        try await activation.removeToken("possession_universal")
        #expect(fixture.server.tokenCount == 0)
    }

    @Test func aTokenRefusedAgainIsNotRenewedAgain() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.poll()
        let body = #"{"status":"ERROR","responseObject":{"code":"POWERAUTH_AUTH_FAIL","message":"m"}}"#
        let refusal = HTTPResponse(status: 401, body: Array(body.utf8))
        fixture.server.setFate { $0.url.hasSuffix("/api/token") ? .answered(refusal) : .delivered }
        // No password was asked for, and none is wrong.
        await expectError(.refusalUnproven) { try await activation.poll() }
        #expect(fixture.server.requestCount("/token/create") == 2)
        #expect(fixture.server.requestCount("/api/token") == 3)
        // Nor at each later request: one more token for each would stay at the server.
        for _ in 0..<6 {
            await expectError(.refusalUnproven) { try await activation.poll() }
        }
        #expect(fixture.server.requestCount("/token/create") == 2)
        fixture.server.setFate { _ in .delivered }
        try await activation.poll()
        fixture.server.forgetTokens()
        try await activation.poll()
        #expect(fixture.server.requestCount("/token/create") == 3)
    }

    /// A token costs a signature, which would wipe out the trace of a decision whose answer was lost a moment ago.
    @Test func aTokenThatAProxyRefusesIsNotRenewed() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.poll()
        fixture.server.setFate { $0.url.hasSuffix("/api/token") ? .answered(HTTPResponse(status: 401)) : .delivered }
        await expectError(.httpStatus) { try await activation.poll() }
        #expect(fixture.server.requestCount("/token/create") == 1)
    }

    @Test func aTokenOutlivesTheProcess() async throws {
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let id = try await Fixture(server: server, store: store).activate().activationID
        try await Fixture(server: server, store: store).client.activation(id: id).poll()
        try await Fixture(server: server, store: store).client.activation(id: id).poll()
        #expect(server.requestCount("/token/create") == 1)
    }

    @Test func aTokenThatAnotherProcessRenewedIsTakenFromTheStore() async throws {
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let one = try await Fixture(server: server, store: store).activate()
        try await one.poll()
        let other = try await Fixture(server: server, store: store).client.activation(id: one.activationID)
        try await other.poll()
        server.forgetTokens()
        try await other.poll()
        try await one.poll()
        #expect(server.requestCount("/token/create") == 2)
    }

    @Test func aCancelledTokenRequestIsTakenOffTheWire() async throws {
        let (fixture, activation) = try await Fixture().activated
        try await activation.poll()
        let wasCancelled = Shared(false)
        let arrived = Shared(false)
        fixture.server.setFate { _ in
            arrived.value = true
            await waitForCancellation()
            wasCancelled.value = true
            throw CancellationError()
        }
        let task = Task { try await activation.poll() }
        await until { arrived.value }
        await #expect(throws: CancellationError.self) { try await task.stop() }
        #expect(wasCancelled.value)
    }

    @Test(arguments: [-86_400.0, -7000, 3600, 86_400]) func tokensCarryTheServersTime(offset: Double) async throws {
        let clock = ManualClock()
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer(now: { start + offset })
        let configure: (inout MobileTokenClient.Configuration) -> Void = {
            $0.clock = clock
            $0.wallClock = { start }
        }
        let first = try Fixture(server: server, store: store, configure)
        let activation = try await first.activate()
        try await activation.poll()
        #expect(abs(activation.serverDate.timeIntervalSince(start + offset)) < 1)
        #expect(server.requestCount("/pa/v3/status") == 0)  // the temporary key told the time

        // After a restart the token is there already, so the time is asked for.
        let second = try Fixture(server: server, store: store, configure)
        try await second.client.activation(id: activation.activationID).poll()
        #expect(server.requestCount("/pa/v3/status") == 1)
        #expect(server.requestCount("/api/token") == 2)
    }

    @Test func aServerThatDoesNotTellTheTimeIsNotAskedAgain() async throws {
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let id = try await Fixture(server: server, store: store).activate().activationID
        try await Fixture(server: server, store: store).client.activation(id: id).poll()
        server.setFate { $0.url.hasSuffix("/pa/v3/status") ? .answered(HTTPResponse(status: 404)) : .delivered }
        let activation = try await Fixture(server: server, store: store).client.activation(id: id)
        for _ in 0..<5 { try await activation.poll() }
        #expect(server.requestCount("/pa/v3/status") == 1)
    }

    @Test func aWallClockSetByHoursDoesNotSpoilTokens() async throws {
        let clock = ManualClock()
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let elapsed = Shared(0.0)
        let shift = Shared(0.0)
        let server = try VerifyingServer(now: { start + elapsed.value })
        let fixture = try Fixture(server: server) {
            $0.clock = clock
            $0.wallClock = { start + elapsed.value + shift.value }
        }
        let activation = try await fixture.activate()
        try await activation.poll()
        for jump in [-10_800.0, 10_800, -100_000] {
            shift.value = jump
            elapsed.update { $0 += 10 }
            clock.advance(by: .seconds(10))
            try await activation.poll()
            #expect(abs(activation.serverDate.timeIntervalSince(start + elapsed.value)) < 1)
        }
        #expect(fixture.server.requestCount("/token/create") == 1)
        #expect(fixture.server.requestCount("/api/token") == 4)
    }
}
