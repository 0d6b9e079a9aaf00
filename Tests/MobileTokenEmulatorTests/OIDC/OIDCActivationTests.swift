import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// What the backend asks of a device that an OpenID provider vouches for. Each refusal has a name, and changes nothing.
@Suite(.timeLimit(.minutes(1))) struct OIDCActivationTests {
    private static let verifier = Base64URL.encode([UInt8](repeating: 7, count: 32))
    private static let challenge = Base64URL.encode(SHA256.hash(Array(Self.verifier.utf8)))

    /// A code that the built-in provider gave out for a user.
    private func code(
        _ fixture: inout BackendFixture,
        provider: String = "emulator",
        challenge: String? = Self.challenge
    ) throws -> String {
        let reply = fixture.send(
            "POST",
            "/oidc/\(provider)/authorize",
            query: "response_type=code&client_id=mobile-token&redirect_uri=mtoken://oidc&scope=openid&nonce=n-1"
                + (challenge.map { "&code_challenge=\($0)&code_challenge_method=S256" } ?? ""),
            headers: [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: Array("user=alice&decision=allow".utf8)
        )
        let location = try #require(reply.headers.first { $0.name == "Location" }?.value, "\(reply.outcome)")
        return try #require(location.utf8.split(separator: UInt8(ascii: "=")).last.map { String(Substring($0)) })
    }

    private func identity(_ code: String, _ changes: [String: JSONValue?] = [:]) -> JSONValue {
        var identity: JSONObject = [
            "method": "oidc", "providerId": "emulator", "code": .string(code), "nonce": "n-1",
            "codeVerifier": .string(Self.verifier),
        ]
        for (name, value) in changes { identity[name] = value }
        return .object(identity)
    }

    /// Sends what a device sends that activates.
    private func activate(_ identity: JSONValue, _ fixture: inout BackendFixture) throws -> Reply {
        var device = TestDevice(application: fixture.backend.defaultApplication, version: .v3_3)
        let attempt = try device.activationAttempt(identity, kind: "DIRECT", in: &fixture)
        return fixture.send("/pa/v3/activation/create", headers: attempt.headers, json: attempt.body)
    }

    private func reason(_ reply: Reply) -> String? {
        if case .refused(let reason) = reply.verdict { reason } else { nil }
    }

    @Test(
        arguments: [
            (["method": nil], "'method' is missing"),
            (["method": "saml"], "the method of the direct activation is unknown"),
            (["method": "oidc\u{301}"], "the method of the direct activation is unknown"),
            (["providerId": nil], "'providerId' is missing"), (["providerId": "other"], "there is no such provider"),
            (["providerId": "second"], "the code is of another provider"),
            (["code": nil], "'code' is missing"), (["code": "other"], "the code is unknown"),
            (["nonce": nil], "'nonce' is missing"), (["nonce": "n-2"], "the nonce is wrong"),
            (["nonce": "n-1\u{301}"], "the nonce is wrong"),
            (["codeVerifier": nil], "the code verifier is missing"),
            (["codeVerifier": "short"], "the code verifier is wrong"),
            (
                ["codeVerifier": .string(String(OIDCActivationTests.verifier.reversed()))],
                "the code verifier is wrong"
            ),
        ] as [([String: JSONValue?], String)]
    )
    func whatIsWrongIsRefusedByNameAndChangesNothing(changes: [String: JSONValue?], reason: String) throws {
        var fixture = try BackendFixture {
            $0.oidcProviders.append(EmulatorOIDCProvider(id: "second"))
        }
        let code = try self.code(&fixture)
        var device = TestDevice(application: fixture.backend.defaultApplication, version: .v3_3)
        let attempt = try device.activationAttempt(self.identity(code, changes), kind: "DIRECT", in: &fixture)
        let before = try fixture.exportedState()
        let reply = fixture.send("/pa/v3/activation/create", headers: attempt.headers, json: attempt.body)
        #expect(reply.outcome == "400 ERR_ACTIVATION")
        #expect(self.reason(reply)?.contains(reason) == true, "\(self.reason(reply) ?? "")")
        #expect(try fixture.exportedState() == before)
        // What was refused used nothing up.
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
        #expect(fixture.backend.activations.map(\.userID) == ["alice"])
    }

    @Test func aCodeIsGoodForOneActivation() throws {
        var fixture = try BackendFixture()
        let code = try self.code(&fixture)
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
        let again = try self.activate(self.identity(code), &fixture)
        #expect(again.outcome == "400 ERR_ACTIVATION" && self.reason(again) == "the code was used")
        #expect(fixture.backend.activations.count == 1)
    }

    @Test func aCodeExpires() throws {
        var fixture = try BackendFixture { $0.oidcProviders = [EmulatorOIDCProvider()] }
        let code = try self.code(&fixture)
        fixture.advance(seconds: 59.999)
        var late = fixture
        late.advance(seconds: 0.001)
        #expect(try self.reason(self.activate(self.identity(code), &late)) == "the code has expired")
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
    }

    /// A code that was asked for without PKCE is no better for a verifier: whoever sends one has another code in mind.
    @Test func aVerifierWithoutAChallengeIsWrong() throws {
        var provider = EmulatorOIDCProvider()
        provider.requiresPKCE = false
        var fixture = try BackendFixture { $0.oidcProviders = [provider] }
        let code = try self.code(&fixture, challenge: nil)
        #expect(try self.reason(self.activate(self.identity(code), &fixture)) == "the code verifier is wrong")
        #expect(try self.activate(self.identity(code, ["codeVerifier": nil]), &fixture).status == 200)
    }

    @Test func codesOutliveARestart() throws {
        var fixture = try BackendFixture()
        let code = try self.code(&fixture)
        let records = try fixture.backend.state.keys.compactMap { try fixture.backend.state.record($0) }
        var configuration = Emulator.Configuration()
        (configuration.cloudUser, configuration.cloudPassword) = ("cloud", "secret")
        configuration.oidcProviders = []
        fixture.backend = try Backend(state: BackendState(records: records), configuration.backend)
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
    }

    @Test func oldCodesGiveWay() throws {
        var fixture = try BackendFixture()
        let first = try self.code(&fixture)
        fixture.advance(seconds: 1)
        let newest = try (0..<1000).map { _ in
            let code = try self.code(&fixture)
            #expect(fixture.backend.state.oidcGrants.count <= 1000)
            return code
        }
        #expect(fixture.backend.state.oidcGrants.count > 750)
        #expect(try self.reason(self.activate(self.identity(first), &fixture)) == "the code is unknown")
        #expect(try self.activate(self.identity(newest[999]), &fixture).status == 200)
        fixture.advance(seconds: 661)
        _ = try self.code(&fixture)
        #expect(fixture.backend.state.oidcGrants.count == 1)
    }

    // MARK: - Setting it up

    @Test func whatCannotWorkIsRefused() throws {
        var fixture = try BackendFixture()
        for (id, settings): (String, JSONValue) in [
            ("a%20b", [:]), ("..", [:]), ("a", ["redirectUri": "oidc"]), ("a", ["redirectUri": "m://o#f"]),
            ("a", ["redirectUri": "m://o\r\nSet-Cookie: a"]), ("a", ["scopes": "profile"]), ("a", ["clientId": "a b"]),
            ("a", ["codeLifetime": 0]), ("a", ["unknown": 1]), ("a", ["enabled": "yes"]),
        ] {
            let reply = fixture.cloud("PUT", "/v2/oidc/providers/\(id)", settings)
            #expect(reply.outcome == "400 INVALID_REQUEST", "\(settings)")
        }
        #expect(fixture.cloud("DELETE", "/v2/oidc/providers/a").status == 404)
        let changed = fixture.cloud("PUT", "/v2/oidc/providers/emulator", ["codeLifetime": 1.5, "enabled": false])
        #expect(changed.status == 200 && changed.json["clientId"]?.string == "mobile-token")
        #expect(fixture.backend.oidcProvider("emulator") == nil)
        #expect(fixture.send("GET", "/oidc/emulator/jwks").outcome == "404 PROVIDER_NOT_FOUND")
    }

    @Test func aConfigurationThatCannotWorkIsRefusedAtTheStart() async {
        var twice = Emulator.Configuration()
        twice.oidcProviders += twice.oidcProviders
        var wrong = Emulator.Configuration()
        wrong.oidcProviders[0].redirectURL = ""
        for configuration in [twice, wrong] {
            let error = await #expect(throws: EmulatorError.self) {
                try await Emulator.start(configuration: configuration).stop()
            }
            #expect(error?.code == .invalidConfiguration)
        }
    }

    /// An address of the page may hold anything: none of it gets into the page or a header unescaped.
    @Test func nothingFromOutsideIsShownUnescaped() throws {
        var provider = EmulatorOIDCProvider()
        provider.clientID = #"<b>"&'"#
        var fixture = try BackendFixture { $0.oidcProviders = [provider] }
        var request = ReceivedRequest(
            method: "GET",
            target: "/oidc/emulator/authorize?response_type=code&client_id=%3Cb%3E%22%26%27&redirect_uri=mtoken://oidc"
                + "&scope=openid&nonce=n&state=%3Cscript%3E&code_challenge=\(Self.challenge)&code_challenge_method=S256"
        )
        let page = String(decoding: fixture.backend.reply(to: request, at: fixture.now).body, as: UTF8.self)
        #expect(page.contains("<b>&lt;b&gt;&quot;&amp;&#39;</b>") && !page.contains("script"))
        request.method = "POST"
        request.headers = [("Content-Type", "application/x-www-form-urlencoded")]
        request.body = Array("decision=deny".utf8)
        let location = fixture.backend.reply(to: request, at: fixture.now).headers.first { $0.name == "Location" }
        #expect(location?.value == "mtoken://oidc?error=access_denied&state=%3Cscript%3E")
        request.headers = [("Content-Type", "application/json")]
        #expect(fixture.backend.reply(to: request, at: fixture.now).status == 415)
        request.headers = [("Content-Type", "application/x-www-form-urlencoded")]
        for form in [
            "decision=allow", "decision=allow&user=", "decision=allow&user=a%00b", "decision=allow&user=a&user=b",
        ] {
            request.body = Array(form.utf8)
            #expect(fixture.backend.reply(to: request, at: fixture.now).outcome == "400 INVALID_REQUEST", "\(form)")
        }
        #expect(fixture.backend.state.oidcGrants.isEmpty)
    }
}
