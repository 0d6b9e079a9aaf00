import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization
import Testing
import TestSupport

@testable import PowerAuth

@Suite(.timeLimit(.minutes(4))) struct TemporaryKeyTests {
    private let clock = ManualClock()
    private let elapsed = Shared(0.0)

    private func makeFixture() throws -> Fixture {
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let elapsed = self.elapsed
        return try Fixture(server: try VerifyingServer(now: { start + elapsed.value })) {
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
        try await activation.requestToken("t")
        let sealed = PowerAuthEndpoint<EndpointTests.Note, EndpointTests.Echo>(
            "/api/encrypted/token",
            .token("t"),
            encryption: .activation
        )
        fixture.server.forgetTemporaryKeys()
        _ = try await activation.call(sealed, EndpointTests.Note(text: "x"))
        fixture.server.forgetTemporaryKeys()
        _ = try await fixture.activate()
        #expect(fixture.server.requestCount("/activation/create") == 3)
    }

    private static func refusal(_ code: String) -> HTTPResponse {
        HTTPResponse(
            status: 400,
            body: Array(#"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"m"}}"#.utf8)
        )
    }

    @Test(arguments: ["ERR_TEMPORARY_KEY", "ERR_ENCRYPTION"])
    func aSignedRequestGetsAnotherKeyEvenAfterTheStatusHadToBeAskedFor(code: String) async throws {
        let store = InMemoryActivationStore()
        let past = try Fixture(store: store)
        let earlier = try await past.activate()
        try await earlier.approve("a")
        // A new process does not know what became of the last signature.
        let fixture = try Fixture(server: past.server, store: store)
        let activation = try await fixture.client.activation(id: earlier.activationID)
        let isForgetful = Shared(true)
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/token/create"), isForgetful.value else { return .delivered }
            isForgetful.update { $0 = false }
            return .answered(Self.refusal(code))
        }
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
        do {
            _ = try await activation.userInfo()
            Issue.record("answered")
        } catch let error as MobileTokenError {
            #expect(error.code == code)
        }
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
                publicKey: other.masterKey.publicKey,
                issuedAt: fixture.server.milliseconds,
                expiresAt: fixture.server.milliseconds + 300_000
            )
            let jwt = try answer.jwt(signedBy: other.masterKey, answering: question)
            return .answered(
                HTTPResponse(status: 200, body: Array(#"{"status":"OK","responseObject":{"jwt":"\#(jwt)"}}"#.utf8))
            )
        }
        do {
            _ = try await fixture.activate()
            Issue.record("activated")
        } catch let error as MobileTokenError {
            #expect(error.code == .invalidResponse)
        }
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
