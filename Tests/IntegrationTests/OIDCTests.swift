import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

/// Activation with an OpenID provider, from the server's configuration to the first approval, over real sockets.
@Suite(.timeLimit(.minutes(4))) struct OIDCTests {
    @Test(arguments: [ProtocolVersion.v3_1, .v3_2, .v3_3, .v4_0])
    func aUserSignsInAndApproves(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient {
                $0.version = version
                $0.suite = .p384
            }
            let authorization = try await client.oidc(providerID: "emulator")
            #expect(authorization.providerID == "emulator" && authorization.redirectURL == "mtoken://oidc")
            let callback = try await SignInPage(authorization.authorizeURL).press("allow", user: "Zoë & <Bob>")
            #expect(callback.hasPrefix("mtoken://oidc?code="))
            let activation = try await client.activate(
                oidc: authorization,
                callback: callback,
                name: "bot",
                password: password
            )
            let summary = try #require(await emulator.summary(of: activation))
            #expect(summary.userID == "Zoë & <Bob>" && summary.status == "ACTIVE" && summary.name == "bot")
            #expect(summary.fingerprint == activation.fingerprint)
            let service = client.operations(of: activation)
            let operation = try await emulator.offer(to: "Zoë & <Bob>", on: service)
            try await service.authorize(operation, with: .twoFactors)
            #expect(try await emulator.status(of: operation) == "APPROVED")
        }
    }

    @Test func aProviderCanBeAskedWithoutPKCE() async throws {
        try await withEmulator { emulator in
            var provider = Emulator.OIDCProvider(id: "old")
            provider.requiresPKCE = false
            provider.redirectURL = "https://app.example.com/back?from=bank"
            provider.scopes = "openid profile"
            try await emulator.cloud.setOIDCProvider(provider)
            #expect(try await emulator.cloud.oidcProviders() == [Emulator.OIDCProvider(), provider])
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "old")
            #expect(!authorization.authorizeURL.contains("code_challenge"))
            let callback = try await SignInPage(authorization.authorizeURL).press("allow", user: "alice")
            #expect(callback.hasPrefix("https://app.example.com/back?from=bank&code="))
            _ = try await client.activate(oidc: authorization, callback: callback, password: password)
        }
    }

    @Test func whoDeclinesIsNotActivated() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await SignInPage(authorization.authorizeURL).press("deny")
            let error = try await #require(throws: MobileTokenError.self) {
                try await client.activate(oidc: authorization, callback: callback, password: password)
            }
            #expect(error.code == .oidcRefused && error.serverCode == "access_denied")
            #expect(await emulator.activations().isEmpty)
        }
    }

    @Test func anAttemptIsGoodForOneAnswer() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await SignInPage(authorization.authorizeURL).press("allow", user: "alice")
            _ = try await client.activate(oidc: authorization, callback: callback, password: password)
            #expect(
                try await errorCode {
                    try await client.activate(oidc: authorization, callback: callback, password: password)
                } == .oidcAttemptUsed
            )
            #expect(await emulator.activations().count == 1)
        }
    }

    /// What is wrong with the call is found before anything is used up.
    @Test func aWrongCallLeavesTheAttemptAsItWas() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let (mine, other) = (
                try await client.oidc(providerID: "emulator"), try await client.oidc(providerID: "emulator")
            )
            let foreign = try await SignInPage(other.authorizeURL).press("allow", user: "mallory")
            let callback = try await SignInPage(mine.authorizeURL).press("allow", user: "alice")
            func code(_ callback: String, name: String? = nil, word: String? = nil) async throws
                -> MobileTokenError.Code?
            {
                try await errorCode {
                    try await client.activate(oidc: mine, callback: callback, name: name, password: word ?? password)
                }
            }
            #expect(try await code(callback, word: "123") == .invalidAuthentication)
            #expect(try await code(callback, name: "") == .invalidName)
            #expect(try await code(foreign) == .oidcStateMismatch)
            #expect(try await code("other" + callback) == .oidcRedirectMismatch)
            #expect(try await code(callback) == nil)
            #expect(await emulator.activations().map(\.userID) == ["alice"])
        }
    }

    @Test func aCodeExpiresByTheServersClock() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await SignInPage(authorization.authorizeURL).press("allow", user: "alice")
            await emulator.clock.advance(by: .seconds(61))
            #expect(
                try await errorCode {
                    try await client.activate(oidc: authorization, callback: callback, password: password)
                } == .activationFailed
            )
            let refusal = try #require(await emulator.journal().last { $0.path.hasSuffix("/activation/create") })
            #expect(refusal.refusal == "the code has expired")
            #expect(await emulator.activations().isEmpty)
        }
    }

    @Test(.wireFact("B27", "A6")) func aProviderThatIsSwitchedOffIsNotThere() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await SignInPage(authorization.authorizeURL).press("allow", user: "alice")
            var provider = try #require(try await emulator.cloud.oidcProviders().first)
            provider.isEnabled = false
            try await emulator.cloud.setOIDCProvider(provider)
            for id in ["emulator", "unknown"] {
                let error = try await #require(throws: MobileTokenError.self) { try await client.oidc(providerID: id) }
                #expect(error.code == .serverConfigurationFailed)
                #expect(error.serverCode == "APPLICATION_CONFIGURATION_ERROR")
            }
            #expect(try await SignInPage(authorization.authorizeURL).response.status == 404)
            #expect(
                try await errorCode {
                    try await client.activate(oidc: authorization, callback: callback, password: password)
                } == .activationFailed
            )
            try await emulator.cloud.removeOIDCProvider("emulator")
            #expect(try await emulator.cloud.oidcProviders().isEmpty)
        }
    }

    @Test func noSecretIsShownByWhatCanBePrinted() async throws {
        try await withEmulator { emulator in
            let observer = RecordingObserver()
            let client = try emulator.makeClient { $0.observer = observer }
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await SignInPage(authorization.authorizeURL).press("allow", user: "alice")
            let query = try #require(URLComponents(string: callback)?.queryItems)
            let asked = try #require(URLComponents(string: authorization.authorizeURL)?.queryItems)
            let secrets = (query + asked.filter { ["state", "nonce"].contains($0.name) }).compactMap(\.value)
            #expect(secrets.count == 4)
            var shown = "\(authorization)\(String(reflecting: authorization))"
            dump(authorization, to: &shown)
            let request = try ActivationRequest(oidc: authorization, callback: callback)
            dump(request, to: &shown)
            shown += "\(request)"
            await emulator.faults.set([
                FaultRule(match: .init(path: "**/activation/create"), effect: .init(status: 500))
            ])
            let error = try await #require(throws: MobileTokenError.self) {
                try await client.activate(request, password: SecretBytes(utf8: password))
            }
            shown += "\(error)\(String(reflecting: error))"
            for secret in secrets { #expect(!shown.contains(secret)) }
        }
    }
}

// MARK: - The provider, as other clients see it

extension OIDCTests {
    private func json(_ response: HTTPResponse) throws -> JSONValue { try JSONValue(parsing: response.body) }

    private func post(_ url: String, _ form: [(String, String)]) async throws -> HTTPResponse {
        var fields = URLComponents()
        fields.queryItems = form.map { URLQueryItem(name: $0.0, value: $0.1) }
        return try await CurlTransport.shared.send(
            HTTPRequest(
                .post,
                url: url,
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array((fields.percentEncodedQuery ?? "").utf8)
            )
        )
    }

    @Test func aClientOfOpenIDFindsWhatItNeedsAndVerifiesTheToken() async throws {
        try await withEmulator { emulator in
            let issuer = "\(emulator.cloudURL)/oidc/emulator"
            func get(_ url: String) async throws -> JSONValue {
                try self.json(try await CurlTransport.shared.send(HTTPRequest(.get, url: url)))
            }
            let discovery = try await get(issuer + "/.well-known/openid-configuration")
            #expect(discovery["issuer"]?.string == issuer)
            let verifier = Base64URL.encode(SecureRandom.bytes(32))
            let challenge = Base64URL.encode(SHA256.hash(Array(verifier.utf8)))
            let page =
                try #require(discovery["authorization_endpoint"]?.string) + """
                    ?response_type=code&client_id=mobile-token&redirect_uri=mtoken%3A%2F%2Foidc&scope=openid&state=s+1\
                    &nonce=n-1&code_challenge=\(challenge)&code_challenge_method=S256
                    """
            let callback = try await SignInPage(page).press("allow", user: "alice")
            #expect(callback.hasSuffix("&state=s%201"))
            let code = try #require(URLComponents(string: callback)?.queryItems?.first { $0.name == "code" }?.value)
            let form = [
                ("grant_type", "authorization_code"), ("client_id", "mobile-token"), ("code", code),
                ("redirect_uri", "mtoken://oidc"), ("code_verifier", verifier),
            ]
            let endpoint = try #require(discovery["token_endpoint"]?.string)
            for (change, error) in [
                (("code_verifier", String(verifier.reversed())), "invalid_grant"),
                (("code_verifier", ""), "invalid_grant"),
                (("client_id", "other"), "invalid_client"), (("redirect_uri", "mtoken://other"), "invalid_grant"),
                (("code", "other"), "invalid_grant"), (("grant_type", "password"), "unsupported_grant_type"),
            ] {
                let response = try await self.post(endpoint, form.map { $0.0 == change.0 ? change : $0 })
                #expect(response.status == 400)
                #expect(try self.json(response)["error"]?.string == error)
            }
            let doubled = try await self.post(endpoint, form + [("code", code)])
            #expect(try self.json(doubled)["error"]?.string == "invalid_request")

            let tokens = try self.json(try await self.post(endpoint, form))
            let token = try #require(tokens["id_token"]?.string.flatMap { JSONWebToken($0) })
            let keys = try await get(try #require(discovery["jwks_uri"]?.string))
            let key = try #require(keys["keys"]?.array?.first)
            let x = try #require(key["x"]?.string.flatMap { Base64URL.decode($0) })
            let y = try #require(key["y"]?.string.flatMap { Base64URL.decode($0) })
            #expect(
                try P256PublicKey(x963: [4] + x + y).isValid(rawSignature: token.signature, for: token.signingInput)
            )
            struct Claims: Decodable {
                let iss, sub, aud, nonce, at_hash: String
                let iat, exp: Int
            }
            let claims = try #require(token.claims(Claims.self))
            #expect(claims.iss == issuer && claims.sub == "alice" && claims.aud == "mobile-token")
            #expect(claims.nonce == "n-1" && claims.exp > claims.iat)
            let access = try #require(tokens["access_token"]?.string)
            #expect(claims.at_hash == Base64URL.encode(Array(SHA256.hash(Array(access.utf8)).prefix(16))))
            #expect(try self.json(try await self.post(endpoint, form))["error"]?.string == "invalid_grant")
        }
    }

    @Test func aPageWithWhatIsWrongLeadsBackWithItsName() async throws {
        try await withEmulator { emulator in
            let good =
                "response_type=code&client_id=mobile-token&redirect_uri=mtoken%3A%2F%2Foidc&scope=openid&nonce=n&state=s"
                + "&code_challenge=\(Base64URL.encode(SHA256.hash([])))&code_challenge_method=S256"
            func page(_ old: String, _ new: String) async throws -> SignInPage {
                try await SignInPage("\(emulator.cloudURL)/oidc/emulator/authorize?" + good.replacing(old, with: new))
            }
            for (old, new, error) in [
                ("=code&", "=token&", "unsupported_response_type"), ("scope=openid", "scope=email", "invalid_scope"),
                ("scope=openid", "scope=openid+email", "invalid_scope"), ("S256", "plain", "invalid_request"),
                ("&nonce=n", "", "invalid_request"), ("code_challenge=", "code_challenge=A", "invalid_request"),
            ] {
                #expect(try await page(old, new).press("deny") == "mtoken://oidc?error=\(error)&state=s")
            }
            // Without a client that is known, leading anywhere would help whoever made the link.
            for (old, new) in [
                ("mobile-token", "other"), ("%2Foidc", "%2Foidc.example.com"), ("nonce=n", "nonce=n&nonce=n"),
                ("state=s", "state=s&client_id=mobile-token"),
            ] {
                #expect(try await page(old, new).response.status == 400)
            }
            let policy = try #require(try await page("state=s", "state=s").response.headers["Content-Security-Policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("form-action 'self' mtoken:;"))
        }
    }
}
