import ExactJSON
import HTTPClientTransport
import PowerAuth
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct ActivationTests {
    /// The custom object of a status is an application's own.
    private static let withNote: @Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse = { request, response in
        guard request.url.hasSuffix("/activation/status") else { return response }
        let body = String(decoding: response.body, as: UTF8.self)
        let noted = body.replacing(#","nonce""#, with: #","customObject":{"note":"x"},"nonce""#)
        return HTTPResponse(status: response.status, body: Array(noted.utf8))
    }

    @Test(arguments: ProtocolVersion.version3) func everyVersionActivatesSignsAndPolls(version: ProtocolVersion)
        async throws
    {
        let fixture = try Fixture(version: version)
        fixture.server.setRewrite(Self.withNote)
        let activation = try await fixture.activate()
        try await activation.approve("a", with: Fixture.twoFactors)
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

    @Test(arguments: ProtocolVersion.version3) func everyCallWorksInEveryVersion(version: ProtocolVersion) async throws
    {
        let (fixture, activation) = try await Fixture(version: version).activated
        let (password, factors) = (Fixture.secret, Fixture.twoFactors)
        try await activation.validate(factors)
        try await activation.poll()
        let calls: [(name: String, RequestAuthentication)] = [
            ("list", .universalToken), ("history", .signature(uriID: "/operation/history", factors)),
        ]
        for (name, authentication) in calls {
            _ = try await activation.post(
                "/api/auth/token/app/operation/\(name)",
                body: Array("{}".utf8),
                authentication: authentication,
                acceptLanguage: "en",
                decision: nil
            )
        }
        let one = try await activation.deriveDataKey(index: 7, with: factors)
        #expect(one == (try await activation.deriveDataKey(index: 7, with: factors)))
        let key = SecretBytes(copying: Array(0..<16))
        try await activation.addBiometryFactor(key: key, password: password)
        try await activation.validate(.possessionAndBiometry(key: key))
        _ = try await activation.userInfo()
        try await activation.changePassword(from: password, to: SecretBytes(utf8: "another"))
        try await activation.validate(.possessionAndKnowledge(password: "another"))
        try await activation.removeToken("possession_universal")
        #expect(try await activation.status().counter.distance == 0)
        try await activation.remove(authenticatedBy: .possessionAndKnowledge(password: "another"))
        #expect(try await fixture.client.activationIDs() == [])
    }
}
