import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(4))) struct ActivationTests {
    /// The custom object of a status is an application's own.
    private static let withNote: @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse = { request, response in
        guard request.url.hasSuffix("/activation/status") else { return response }
        let body = String(decoding: response.body, as: UTF8.self)
        let noted = body.replacing(#""customObject":{}"#, with: #""customObject":{"note":"x"}"#)
        return HTTPResponse(status: response.status, body: Array(noted.utf8))
    }

    @Test(arguments: ProtocolVersion.version3) func everyVersionActivatesSignsAndPolls(version: ProtocolVersion)
        async throws
    {
        let fixture = try Fixture { $0.version = version }
        fixture.server.setRewrite(Self.withNote)
        let activation = try await fixture.activate()
        try await activation.approve("a", with: .possessionAndKnowledge(password: Fixture.password))
        try await activation.approve("b")
        try await activation.poll()
        let status = try await activation.status()
        #expect(status.state == .active)
        #expect(status.counter.result == .inSync)
        #expect(status.counter.distance == 0)
        #expect(status.counter.window == 20)
        #expect(status.remainingAttempts == 5)
        #expect(status.customObject?["note"]?.string == "x")
        #expect(fixture.server.state.withLock { $0.accepted } == ["a", "b"])
        #expect(fixture.server.requestCount("/keystore/create") == (version == .v3_3 ? 2 : 0))
    }
}
