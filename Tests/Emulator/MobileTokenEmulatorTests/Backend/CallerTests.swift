import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Testing

/// A part of the process is trusted; whoever comes from the network shows credentials.
@Suite struct CallerTests {
    @Test func onlyThisProcessIsTrustedWithoutCredentials() throws {
        var backend = try BackendFixture().backend
        let now = try BackendFixture().now
        var request = ReceivedRequest(method: "POST", path: "/v2/registrations")
        request.headers = [("Content-Type", "application/json")]
        request.body = JSONValue.object(["userId": "alice"]).serialized()
        #expect(backend.reply(to: request, at: now).status == 401)
        #expect(backend.reply(to: request, from: .process, at: now).status == 200)
        // Trust spares the credentials, and no other rule.
        request.body = JSONValue.object([:]).serialized()
        #expect(backend.reply(to: request, from: .process, at: now).status == 400)
    }

    @Test func trustIsNoSignature() throws {
        var fixture = try BackendFixture()
        var request = ReceivedRequest(method: "POST", path: "/api/auth/token/app/operation/list")
        request.headers = [("Content-Type", "application/json")]
        request.body = JSONValue.object([:]).serialized()
        #expect(fixture.backend.reply(to: request, from: .process, at: fixture.now).status == 401)
    }
}
