import Foundation
import Testing

@testable import PowerAuth
@testable import PowerAuthClient

/// The choice of the OpenID provider's answer that counts, and of the configuration.
@Suite struct OIDCAttemptTests {
    private func configuration(
        redirect: String = "mtoken://oidc",
        authorize: String = "https://login.example.com/authorize",
        scopes: String = "openid profile",
        provider: String = "bank",
        pkce: Bool? = true,
        allowsInsecureHTTP: Bool = false
    ) throws(MobileTokenError) -> OIDCConfiguration {
        try OIDCConfiguration(
            OIDCConfiguration.Response(
                providerId: provider,
                clientId: "bot & co",
                scopes: scopes,
                authorizeUri: authorize,
                redirectUri: redirect,
                pkceEnabled: pkce
            ),
            providerID: "bank",
            allowsInsecureHTTP: allowsInsecureHTTP
        )
    }

    private func attempt(redirect: String = "mtoken://oidc") throws -> (attempt: OIDCAttempt, state: String) {
        let attempt = OIDCAttempt(try self.configuration(redirect: redirect), randomness: .system)
        return (attempt, try #require(try self.query(attempt)["state"]))
    }

    private func query(_ attempt: OIDCAttempt) throws -> [String: String] {
        let items = try #require(URLComponents(string: attempt.authorizeURL)?.queryItems)
        return Dictionary(uniqueKeysWithValues: items.map { ($0.name, $0.value ?? "") })
    }

    private func code(_ body: () throws -> some Any) -> MobileTokenError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? MobileTokenError)?.code
        }
    }

    // MARK: - What is asked

    @Test func theProviderIsAskedWithAllThatTheAnswerIsCheckedBy() throws {
        var attempt = OIDCAttempt(try self.configuration(), randomness: .system)
        #expect(attempt.authorizeURL.hasPrefix("https://login.example.com/authorize?response_type=code&"))
        let query = try self.query(attempt)
        #expect(query["client_id"] == "bot & co" && query["redirect_uri"] == "mtoken://oidc")
        #expect(query["scope"] == "openid profile" && query["code_challenge_method"] == "S256")
        let credentials = try attempt.accept("mtoken://oidc?state=\(query["state"] ?? "")&code=c")
        #expect(credentials.providerID == "bank" && credentials.code == SecretBytes(utf8: "c"))
        #expect(credentials.nonce == SecretBytes(utf8: query["nonce"] ?? ""))
        let verifier = try #require(credentials.codeVerifier)
        #expect(verifier.count == 43)
        let hash = verifier.withUnsafeBytes { SHA256.hash(Array($0)) }
        #expect(query["code_challenge"] == Base64URL.encode(hash))
    }

    @Test func eachAttemptHasSecretsOfItsOwn() throws {
        let queries = try (0..<2).map { _ in
            try self.query(OIDCAttempt(try self.configuration(), randomness: .system))
        }
        for name in ["state", "nonce", "code_challenge"] {
            #expect(queries[0][name]?.utf8.count == 43)
            #expect(queries[0][name] != queries[1][name])
        }
        #expect(queries[0]["state"] != queries[0]["nonce"])
    }

    @Test func withoutPKCEThereIsNoChallenge() throws {
        var attempt = OIDCAttempt(try self.configuration(pkce: false), randomness: .system)
        let query = try self.query(attempt)
        #expect(query["code_challenge"] == nil && query["code_challenge_method"] == nil)
        #expect(try attempt.accept("mtoken://oidc?state=\(query["state"] ?? "")&code=c").codeVerifier == nil)
        #expect(try self.configuration(pkce: nil).usesPKCE)
    }

    @Test func aQueryOfThePageStays() throws {
        let configuration = try self.configuration(authorize: "https://login.example.com/authorize?tenant=1")
        let attempt = OIDCAttempt(configuration, randomness: .system)
        #expect(attempt.authorizeURL.hasPrefix("https://login.example.com/authorize?tenant=1&response_type=code&"))
    }

    @Test func aConfigurationThatIsNotSafeIsRefused() {
        #expect(self.code { try self.configuration(provider: "other") } == .invalidResponse)
        for address in [
            "http://login.example.com/", "ftp://login.example.com", "login.example.com", "", "https://",
            "https://user:word@login.example.com", "https://login.example.com/#f", "javascript:alert(1)",
            "https://login.example.com/ x", "https://login.example.com/\u{301}",
        ] {
            #expect(self.code { try self.configuration(authorize: address) } == .invalidResponse, "\(address)")
        }
        for redirect in ["", "oidc", "mtoken://oidc#", "mtoken://oi dc", "//host/path"] {
            #expect(self.code { try self.configuration(redirect: redirect) } == .invalidResponse, "\(redirect)")
        }
        #expect(self.code { try self.configuration(scopes: "") } == .invalidResponse)
        #expect(self.code { try self.configuration(scopes: "openid\n") } == .invalidResponse)
        #expect(self.code { try self.configuration(authorize: "http://127.0.0.1:1/") } == nil)
        let insecure = { try self.configuration(authorize: "http://login.example.com/", allowsInsecureHTTP: true) }
        #expect(self.code(insecure) == nil)
    }

    // MARK: - Which answer counts

    @Test func anAddressThatDoesNotBelongToTheAttemptChangesNothing() throws {
        var (attempt, state) = try self.attempt()
        let good = "mtoken://oidc?code=c&state=\(state)"
        for (callback, expected): (String, MobileTokenError.Code) in [
            ("mtoken://oidc", .oidcStateMismatch), ("mtoken://oidc?code=c", .oidcStateMismatch),
            ("mtoken://oidc?code=c&state=", .oidcStateMismatch),
            ("mtoken://oidc?code=c&state=\(state)A", .oidcStateMismatch),
            ("mtoken://oidc?code=c&state=\(state.dropLast())", .oidcStateMismatch),
            ("mtoken://oidc?code=c&state=\(state)\u{301}", .oidcStateMismatch),
            ("mtoken://oidc?code=c&state=\(state)%", .oidcStateMismatch),
            ("mtoken://oidc?code=c#&state=\(state)", .oidcStateMismatch),
            ("mtoken://oidc?error=access_denied", .oidcStateMismatch),
            ("mtoken://oidc?code=c&state=\(state)&state=\(state)", .oidcParameterRepeated),
            ("mtoken://oidc?code=c&state=x&state=\(state)", .oidcParameterRepeated),
            ("mtoken://oidc?code=c&state=\(state)&st%61te=x", .oidcParameterRepeated),
            ("", .oidcRedirectMismatch), ("?code=c&state=\(state)", .oidcRedirectMismatch),
            ("mtoken://oidc/?code=c&state=\(state)", .oidcRedirectMismatch),
            ("mtoken://oidcx?code=c&state=\(state)", .oidcRedirectMismatch),
            ("MTOKEN://oidc?code=c&state=\(state)", .oidcRedirectMismatch),
            (" \(good)", .oidcRedirectMismatch), ("mtoken://oidc&code=c&state=\(state)", .oidcRedirectMismatch),
        ] {
            #expect(self.code { try attempt.accept(callback) } == expected, "\(callback)")
        }
        #expect(self.code { try attempt.accept(good) } == nil)
    }

    @Test(
        arguments: [
            ("", .oidcCodeMissing), ("&code=", .oidcCodeMissing), ("&code", .oidcCodeMissing),
            ("&code=%", .oidcCodeMissing), ("&code=%C3%A9", .oidcCodeMissing), ("&code=a%0Ab", .oidcCodeMissing),
            ("&code=a&code=a", .oidcParameterRepeated), ("&code=a&co%64e=b", .oidcParameterRepeated),
            ("&error=access_denied", .oidcRefused), ("&error=access_denied&code=a", .oidcRefused),
            ("&error=a&error=b", .oidcParameterRepeated), ("&code=a", nil), ("&code=a&other=1&other=2#fragment", nil),
            ("&code=a%2Bb+c", nil),
        ] as [(String, MobileTokenError.Code?)]
    )
    func theFirstAnswerUsesTheAttemptUp(rest: String, expected: MobileTokenError.Code?) throws {
        var (attempt, state) = try self.attempt()
        #expect(self.code { try attempt.accept("mtoken://oidc?state=\(state)\(rest)") } == expected)
        #expect(self.code { try attempt.accept("mtoken://oidc?state=\(state)&code=a") } == .oidcAttemptUsed)
    }

    @Test func aCodeIsDecodedOnce() throws {
        var (attempt, state) = try self.attempt()
        let credentials = try attempt.accept("mtoken://oidc?code=a%252Bb%2B%20c&state=\(state)")
        #expect(credentials.code == SecretBytes(utf8: "a%2Bb+ c"))
    }

    @Test func aVeryLongCodeIsNone() throws {
        var (attempt, state) = try self.attempt()
        let code = String(repeating: "a", count: 4097)
        #expect(self.code { try attempt.accept("mtoken://oidc?state=\(state)&code=\(code)") } == .oidcCodeMissing)
    }

    @Test func aRedirectWithAQueryIsContinued() throws {
        var (attempt, state) = try self.attempt(redirect: "https://app.example.com/back?from=bank")
        let address = "https://app.example.com/back?from=bank"
        #expect(self.code { try attempt.accept("\(address)?code=c&state=\(state)") } == .oidcRedirectMismatch)
        #expect(self.code { try attempt.accept("\(address)&code=c&state=\(state)") } == nil)
    }

    @Test func whatTheProviderSaysIsEscapedAndCut() throws {
        var (attempt, state) = try self.attempt()
        let error = #expect(throws: MobileTokenError.self) {
            try attempt.accept("mtoken://oidc?error=%1B%5B2J\(String(repeating: "x", count: 500))&state=\(state)")
        }
        let text = "\(try #require(error))"
        #expect(text.utf8.count < 300 && !text.unicodeScalars.contains("\u{1B}"))
    }
}
