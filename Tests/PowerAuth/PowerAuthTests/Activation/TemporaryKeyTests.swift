import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import Testing
import TestSupport
import WireFacts

import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct TemporaryKeyTests {
    private let clock = ManualClock()
    private let elapsed = Shared(0.0)
    /// By how much the server's clock was set, without the client's.
    private let serverOffset = Shared(0.0)

    private func makeFixture() throws -> Fixture {
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let (elapsed, offset) = (self.elapsed, self.serverOffset)
        return try Fixture(server: try VerifyingServer(now: { start + elapsed.value + offset.value })) {
            $0.clock = self.clock
            $0.wallClock = { start + elapsed.value }
        }
    }

    private func wait(_ seconds: Int) {
        self.elapsed.update { $0 += Double(seconds) }
        self.clock.advance(by: .seconds(seconds))
    }

    @Test func aKeyIsUsedUntilTenSecondsBeforeItExpires() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        _ = try await activation.userInfo()
        let count = fixture.server.requestCount("/keystore/create")
        self.wait(289)
        _ = try await activation.userInfo()
        #expect(fixture.server.requestCount("/keystore/create") == count)
        self.wait(1)
        _ = try await activation.userInfo()
        #expect(fixture.server.requestCount("/keystore/create") == count + 1)
    }

    @Test func concurrentRequestsFetchOneKey() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        let count = fixture.server.requestCount("/keystore/create")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { _ = try await activation.userInfo() } }
            try await group.waitForAll()
        }
        #expect(fixture.server.requestCount("/keystore/create") == count + 1)
    }

    @Test func aKeyThatTheServerForgotIsReplacedOnce() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        _ = try await activation.userInfo()
        fixture.server.forgetTemporaryKeys()
        _ = try await activation.userInfo()
        fixture.server.forgetTemporaryKeys()
        // A wrong code would be answered in the same words: the status tells the two apart.
        try await activation.requestToken("t")
        let sealed = PowerAuthEndpoint<EndpointTests.Note, EndpointTests.Echo>(
            "/api/encrypted/token",
            .token("t"),
            encryption: .activation
        )
        fixture.server.forgetTemporaryKeys()
        _ = try await activation.call(sealed, EndpointTests.Note(text: "x"))
        fixture.server.forgetTemporaryKeys()
        // A new activation is not asked for twice by itself.
        await #expect(throws: MobileTokenError.self) { try await fixture.activate() }
        _ = try await fixture.activate()
        #expect(fixture.server.requestCount("/activation/create") == 3)
    }

    private static func refusal(_ code: String, _ message: String = "m", status: Int = 400) -> HTTPResponse {
        HTTPResponse(
            status: status,
            body: Array(#"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"\#(message)"}}"#.utf8)
        )
    }

    // MARK: What servers say instead of "unknown key"

    /// Every 401 has one message, of servers 1.x or 2.x: only the status, which shows a step and no failure, tells (recordings, core:
    /// `token/create envelope temporaryKeyId capitals`, `vault/unlock with an expired temporary key`).
    @Test(
        .wireFact("4.2"),
        arguments: [ProtocolVersion.v3_3, .v4_0],
        ["POWER_AUTH_SIGNATURE_INVALID", "POWER_AUTH_CODE_INVALID", "words of its own"]
    )
    func aStandardCallIsMadeOnceMoreWithAnotherKey(version: ProtocolVersion, message: String) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        try await activation.requestToken("first")
        fixture.server.setRewrite { request, response in
            response.status == 401 ? Self.refusal("ERR_AUTHENTICATION", message, status: 401) : response
        }
        fixture.server.forgetTemporaryKeys()
        try await activation.requestToken("second")
        fixture.server.forgetTemporaryKeys()
        try await activation.requestToken("third", with: Fixture.twoFactors)
        fixture.server.forgetTemporaryKeys()
        _ = try await activation.deriveDataKey(index: 1, with: Fixture.twoFactors)
        #expect(fixture.server.requestCount("/token/create") == 5)
        #expect(fixture.server.requestCount("/vault/unlock") == 2)
        #expect(try await activation.status().failedAttempts == 0)
    }

    /// A wrong password is not tried again with another key, nor is a right code that the server refuses for another reason.
    @Test func aRefusalOfTheCodeItselfIsNotTriedAgain() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        try await activation.requestToken("first")
        let keys = fixture.server.requestCount("/keystore/create")
        let wrong = Activation.Authentication.possessionAndKnowledge(password: "wrong-password")
        let error = await #expect(throws: MobileTokenError.self) {
            try await activation.requestToken("second", with: wrong)
        }
        #expect(error?.code == .authenticationFailed && error?.remainingAttempts == 4)
        #expect(fixture.server.requestCount("/keystore/create") == keys)
        self.refuseAfterwards("/token/create", at: fixture.server)
        await expectError(.refusalUnproven) { try await activation.requestToken("third") }
        #expect(fixture.server.requestCount("/token/create") == 4)
        #expect(fixture.server.requestCount("/keystore/create") == keys + 1)
    }

    /// Lets the server carry out requests to a path, and refuse them all the same.
    private func refuseAfterwards(_ path: String, at server: VerifyingServer) {
        server.setRewrite { $0.url.hasSuffix(path) ? Self.refusal("ERR_AUTHENTICATION", status: 401) : $1 }
    }

    /// The status changes nothing, and a server that has lost its keys would otherwise hold up everything until they expire.
    @Test(.wireFact("A5")) func theStatusOfVersion4IsAskedForOnceMore() async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        _ = try await activation.status()
        let keys = fixture.server.requestCount("/keystore/create")
        fixture.server.setFate(.answered(Self.refusal("ERR_ACTIVATION")), ofFirst: "/activation/status")
        #expect(try await activation.status().state == .active)
        #expect(fixture.server.requestCount("/keystore/create") == keys + 1)
    }

    @Test(.wireFact("A5", "4.2")) func aNewActivationIsNotAskedForTwice() async throws {
        let fixture = try self.makeFixture()
        fixture.server.setFate(.answered(Self.refusal("ERR_ACTIVATION")), ofFirst: "/activation/create")
        await #expect(throws: MobileTokenError.self) { try await fixture.activate() }
        #expect(fixture.server.requestCount("/activation/create") == 1)
        // The key is gone, so the next attempt does not fail for the same reason.
        let keys = fixture.server.requestCount("/keystore/create")
        _ = try await fixture.activate()
        #expect(fixture.server.requestCount("/keystore/create") == keys + 1)
    }

    /// Each attempt is a failure of five, so it is left to the caller.
    @Test(.wireFact("A4")) func aCodeOverWhatIsInTheEnvelopeIsNotTriedAgain() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        let sealed = PowerAuthEndpoint<EndpointTests.Note, EndpointTests.Echo>(
            "/api/sealed",
            .signed(uriID: "/sealed"),
            encryption: .activation
        )
        _ = try await activation.call(sealed, EndpointTests.Note(text: "x"))
        let keys = fixture.server.requestCount("/keystore/create")
        let refusal = Self.refusal("ERR_AUTHENTICATION", "POWER_AUTH_SIGNATURE_INVALID", status: 401)
        fixture.server.setFate(.answered(refusal), ofFirst: "/api/sealed")
        await #expect(throws: MobileTokenError.self) {
            try await activation.call(sealed, EndpointTests.Note(text: "y"))
        }
        #expect(fixture.server.requestCount("/api/sealed") == 2)
        _ = try await activation.call(sealed, EndpointTests.Note(text: "y"))
        #expect(fixture.server.requestCount("/keystore/create") == keys + 1)
    }

    // MARK: Before signing

    @Test(.wireFact("A4")) func aKeyThatMayExpireOnTheWayIsNotSignedFor() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        _ = try await activation.userInfo()
        let keys = fixture.server.requestCount("/keystore/create")
        self.wait(269)
        try await activation.requestToken("a")
        #expect(fixture.server.requestCount("/keystore/create") == keys)
        self.wait(1)
        try await activation.requestToken("b")
        #expect(fixture.server.requestCount("/keystore/create") == keys + 1)
    }

    @Test(.wireFact("A4"), arguments: [5.0, -5.0]) func aClockThatWasSetMakesAKeyOfUnknownAge(seconds: Double)
        async throws
    {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        try await activation.requestToken("a")
        let keys = fixture.server.requestCount("/keystore/create")
        // As after a machine has slept: the one clock has moved, and the other has not.
        self.elapsed.update { $0 += seconds }
        try await activation.requestToken("b")
        #expect(fixture.server.requestCount("/keystore/create") == keys + 1)
    }

    /// A server whose clock was set back hands out keys that have expired by the time measured before.
    @Test(.wireFact("2.8")) func anExpiredKeyMakesTheTimeDoubtful() async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        _ = try await activation.userInfo()
        self.serverOffset.value = -36_000
        self.wait(300)
        _ = try await activation.userInfo()
        #expect(abs(activation.serverDate.timeIntervalSince1970 - 1_790_000_000 - 300 + 36_000) < 1)
    }

    @Test(arguments: ["ERR_TEMPORARY_KEY", "ERR_ENCRYPTION"])
    func aSignedRequestGetsAnotherKeyEvenAfterTheStatusHadToBeAskedFor(code: String) async throws {
        let store = ActivationStore.inMemory()
        let past = try Fixture(store: store)
        let earlier = try await past.activate()
        try await earlier.approve("a")
        // A new process does not know what became of the last signature.
        let fixture = try Fixture(server: past.server, store: store)
        let activation = try await fixture.client.activation(id: earlier.activationID)
        fixture.server.setFate(.answered(Self.refusal(code)), ofFirst: "/token/create")
        try await activation.requestToken("t")
        #expect(fixture.server.requestCount("/token/create") == 2)
        try await activation.approve("b")
        #expect(try await activation.status().counter.distance == 0)
    }

    @Test(arguments: [
        ("ERR_TEMPORARY_KEY", MobileTokenError.Code.temporaryKeyRefused), ("ERR_ENCRYPTION", .encryptionFailed),
    ])
    func aServerThatNeverKnowsItsKeysIsAskedTwice(serverCode: String, code: MobileTokenError.Code) async throws {
        let fixture = try self.makeFixture()
        let activation = try await fixture.activate()
        let refusal = Self.refusal(serverCode)
        fixture.server.setFate { $0.url.hasSuffix("/user/info") ? .answered(refusal) : .delivered }
        await expectError(code) { try await activation.userInfo() }
        #expect(fixture.server.requestCount("/user/info") == 2)
    }

    @Test func aKeySignedBySomebodyElseIsRefused() async throws {
        let fixture = try self.makeFixture()
        let other = try VerifyingServer()
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/keystore/create") else { return .delivered }
            let asked = try JSONValue(parsing: request.body ?? [])["requestObject"]?["jwt"]?.string ?? ""
            let unverified = try TemporaryKeyRequest.Unverified(jwt: asked)
            let question = try unverified.verified(
                applicationSecret: fixture.server.configuration.applicationSecret,
                transportKey: nil
            )
            let answer = TemporaryKeyResponse(
                keyID: "k",
                key: other.masterKey.publicKey,
                issuedAt: fixture.server.milliseconds,
                expiresAt: fixture.server.milliseconds + 300_000
            )
            let jwt = try answer.jwt(signedBy: other.masterKey, answering: question)
            return .answered(
                HTTPResponse(status: 200, body: Array(#"{"status":"OK","responseObject":{"jwt":"\#(jwt)"}}"#.utf8))
            )
        }
        await expectError(.invalidResponse) { try await fixture.activate() }
        #expect(fixture.server.requestCount("/activation/create") == 0)
    }

    @Test func aClockThatIsHoursAheadDoesNotMakeAFreshKeyExpired() async throws {
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let fixture = try Fixture(server: try VerifyingServer(now: { start })) {
            $0.clock = self.clock
            $0.wallClock = { start + 36_000 }
        }
        let activation = try await fixture.activate()
        #expect(activation.serverDate == start)
    }
}
