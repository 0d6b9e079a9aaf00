import APIDescriptions
import EmulatorMessages
import ExactJSON
import MobileTokenTesting
import PowerAuthCrypto
import TestSupport
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The backend's demands on a device that an OpenID provider vouches for. Each refusal has a name, and changes nothing.
@Suite(.timeLimit(.minutes(5))) struct OIDCActivationTests {
    private static let verifier = Base64URL.encode([UInt8](repeating: 7, count: 32))
    private static let challenge = Base64URL.encode(SHA256.hash(Array(Self.verifier.utf8)))

    /// A code that the built-in provider gave out for a user.
    private func code(
        _ fixture: inout BackendFixture,
        provider: String = "emulator",
        challenge: String? = Self.challenge
    ) throws -> String {
        let reply = fixture.send(
            "GET",
            "/oidc/\(provider)/authorize",
            query: "response_type=code&client_id=mobile-token&redirect_uri=mtoken://oidc&scope=openid&nonce=n-1"
                + (challenge.map { "&code_challenge=\($0)&code_challenge_method=S256" } ?? "") + "&login_hint=alice"
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
        var device = fixture.newDevice()
        return try device.sendActivation(identity, kind: "DIRECT", in: &fixture).reply
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
            $0.protocolRules.acceptsCustomIdentities = true
        }
        let code = try self.code(&fixture)
        let before = try fixture.exportedStateBesidesKeys()
        let reply = try self.activate(self.identity(code, changes), &fixture)
        #expect(reply.outcome == "400 ERR_ACTIVATION")
        #expect(reply.reason?.contains(reason) == true, "\(reply.reason ?? "")")
        #expect(try fixture.exportedStateBesidesKeys() == before)
        // The refused attempts used nothing up.
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
        #expect(fixture.backend.activations.map(\.userID) == ["alice"])
    }

    @Test func aCodeIsGoodForOneActivation() throws {
        var fixture = try BackendFixture()
        let code = try self.code(&fixture)
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
        let again = try self.activate(self.identity(code), &fixture)
        #expect(again.outcome == "400 ERR_ACTIVATION" && again.reason == "the code was used")
        #expect(fixture.backend.activations.count == 1)
    }

    @Test func aCodeExpires() throws {
        var fixture = try BackendFixture { $0.oidcProviders = [EmulatorOIDCProvider()] }
        let code = try self.code(&fixture)
        fixture.advance(seconds: 59.999)
        var late = fixture
        late.advance(seconds: 0.001)
        #expect(try self.activate(self.identity(code), &late).reason == "the code has expired")
        #expect(try self.activate(self.identity(code), &fixture).status == 200)
    }

    /// A code that was asked for without PKCE is no better for a verifier: whoever sends one has another code in mind.
    @Test func aVerifierWithoutAChallengeIsWrong() throws {
        var fixture = try BackendFixture { $0.oidcProviders = [altered(.init()) { $0.requiresPKCE = false }] }
        let code = try self.code(&fixture, challenge: nil)
        #expect(try self.activate(self.identity(code), &fixture).reason == "the code verifier is wrong")
        #expect(try self.activate(self.identity(code, ["codeVerifier": nil]), &fixture).status == 200)
    }

    @Test func aCodeOfAProviderThatIsSwitchedOffIsRefused() throws {
        var fixture = try BackendFixture()
        let code = try self.code(&fixture)
        fixture.backend.state.oidcProviders.update("emulator") { $0.isEnabled = false }
        let reason = try self.activate(self.identity(code), &fixture).reason
        #expect(reason == "there is no such provider, or it is switched off")
        #expect(fixture.backend.activations.isEmpty)
    }

    @Test func codesOutliveARestart() throws {
        var fixture = try BackendFixture()
        let code = try self.code(&fixture)
        let records = try fixture.backend.state.keys.compactMap { try fixture.backend.state.record($0) }
        var configuration = BackendFixture.configuration
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
        #expect(try self.activate(self.identity(first), &fixture).reason == "the code is unknown")
        #expect(try self.activate(self.identity(newest[999]), &fixture).status == 200)
        fixture.advance(seconds: 661)
        _ = try self.code(&fixture)
        #expect(fixture.backend.state.oidcGrants.count == 1)
    }

    // MARK: - Setting it up

    @Test(
        arguments: [
            { $0.id = "a b" }, { $0.id = ".." }, { $0.redirectURL = "" }, { $0.redirectURL = "oidc" },
            { $0.redirectURL = "m://o#f" }, { $0.redirectURL = "m://o\r\nSet-Cookie: a" }, { $0.scopes = "profile" },
            { $0.clientID = "a b" }, { $0.codeLifetime = 0 },
        ] as [@Sendable (inout EmulatorOIDCProvider) -> Void]
    )
    func whatCannotWorkIsRefused(change: @Sendable (inout EmulatorOIDCProvider) -> Void) throws {
        var provider = EmulatorOIDCProvider()
        try provider.check()
        change(&provider)
        #expect(throws: Schema.Objection.self) { try provider.check() }
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

    // MARK: - Leading back

    /// An address that is right, but for one change.
    private func authorizeURL(replacing old: String = "", with new: String = "") -> String {
        let address =
            "http://127.0.0.1/oidc/emulator/authorize?response_type=code&client_id=mobile-token&redirect_uri=mtoken%3A%2F%2Foidc"
            + "&scope=openid&nonce=n&state=s&code_challenge=\(Self.challenge)&code_challenge_method=S256"
        return old.isEmpty ? address : address.replacing(old, with: new)
    }

    @Test(
        arguments: [
            ("=code&", "=token&", "unsupported_response_type"), ("scope=openid", "scope=email", "invalid_scope"),
            ("scope=openid", "scope=openid+email", "invalid_scope"), ("S256", "plain", "invalid_request"),
            ("&nonce=n", "", "invalid_request"), ("code_challenge=", "code_challenge=A", "invalid_request"),
        ]
    )
    func whatIsWrongWithARequestLeadsBackByItsName(old: String, new: String, error: String) throws {
        var fixture = try BackendFixture()
        let address = self.authorizeURL(replacing: old, with: new)
        #expect(try fixture.backend.signIn("alice", at: address, fixture.now) == "mtoken://oidc?error=\(error)&state=s")
        #expect(fixture.backend.state.oidcGrants.isEmpty)
    }

    /// Without a client that is known, leading anywhere would help whoever made the link.
    @Test(
        arguments: [
            ("mobile-token", "other"), ("%2Foidc", "%2Foidc.example.com"), ("nonce=n", "nonce=n&nonce=n"),
            ("state=s", "state=s&client_id=mobile-token"), ("/oidc/", "/"), ("/authorize", "/token"),
        ]
    )
    func whoIsNotKnownIsLedNowhere(old: String, new: String) throws {
        var fixture = try BackendFixture()
        let address = self.authorizeURL(replacing: old, with: new)
        let refusal = #expect(throws: Refusal.self) { try fixture.backend.signIn("alice", at: address, fixture.now) }
        #expect(refusal?.status == 400 && fixture.backend.state.oidcGrants.isEmpty)
    }

    /// An address may hold anything: none of it gets into a header unescaped.
    @Test func whatLeadsBackIsEscaped() throws {
        var fixture = try BackendFixture()
        func reply(_ rest: String) -> Reply {
            let address = self.authorizeURL(replacing: "state=s", with: "state=%3Cs%3E%0D%0Aa" + rest)
            return fixture.backend.reply(to: ReceivedRequest(method: "GET", target: address), at: fixture.now)
        }
        let location = try #require(reply("&login_hint=alice").headers.first { $0.name == "Location" }?.value)
        #expect(location.hasPrefix("mtoken://oidc?code=") && location.hasSuffix("&state=%3Cs%3E%0D%0Aa"))
        for hint in ["", "&login_hint=", "&login_hint=a%00b", "&login_hint=a&login_hint=b"] {
            #expect(reply(hint).outcome == "400 INVALID_REQUEST", "\(hint)")
        }
        #expect(fixture.backend.state.oidcGrants.count == 1)
    }

    // MARK: - The control call

    @Test func theControlCallTellsWhereTheBrowserWouldBeLed() async throws {
        try await withEmulator { emulator in
            let address = self.authorizeURL()
            func response(_ rest: String) async throws -> (status: Int, callback: String) {
                let body = #"{"authorizeUrl":"\#(address)"\#(rest)}"#
                let response = try await emulator.send("POST", "/_emulator/oidc/codes", body: body)
                return (response.status, try JSONValue(parsing: response.body)["callback"]?.string ?? "")
            }
            let signedIn = try await response(#","userId":"alice""#)
            #expect(signedIn.callback.hasPrefix("mtoken://oidc?code=") && signedIn.callback.hasSuffix("&state=s"))
            let refused = try await response(#","error":"access_denied""#)
            #expect(refused.callback == "mtoken://oidc?error=access_denied&state=s")
            for wrong in ["", #","userId":"alice","error":"access_denied""#, #","userId":"""#] {
                #expect(try await response(wrong).status == 400, "\(wrong)")
            }
        }
    }
}
