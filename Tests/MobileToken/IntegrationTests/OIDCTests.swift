import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing
import WireFacts

/// Activation with an OpenID provider, from the server's configuration to the first approval, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct OIDCTests {
    @Test(arguments: [ProtocolVersion.v3_1, .v3_2, .v3_3, .v4_0])
    func aUserSignsInAndApproves(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient {
                $0.version = version
                $0.suite = .p384
            }
            let authorization = try await client.oidc(providerID: "emulator")
            #expect(authorization.providerID == "emulator" && authorization.redirectURL == "mtoken://oidc")
            let callback = try await emulator.signIn("Zoë & <Bob>", at: authorization.authorizeURL)
            #expect(callback.hasPrefix("mtoken://oidc?code="))
            let activation = try await client.activate(
                oidc: authorization,
                callback: callback,
                name: "bot",
                password: password
            )
            let summary = try #require(await emulator.summary(of: activation))
            #expect(summary.userID == "Zoë & <Bob>" && summary.status == .active && summary.name == "bot")
            #expect(summary.fingerprint == activation.fingerprint)
            let service = client.makeOperationsService(for: activation)
            let operation = try await emulator.offer(to: "Zoë & <Bob>", on: service)
            try await service.authorize(operation, with: .twoFactors)
            #expect(try await emulator.status(of: operation) == .approved)
        }
    }

    @Test func aProviderCanBeAskedWithoutPKCE() async throws {
        var provider = Emulator.OIDCProvider(id: "old")
        provider.requiresPKCE = false
        provider.redirectURL = "https://app.example.com/back?from=bank"
        provider.scopes = "openid profile"
        try await withEmulator(altered(Emulator.Configuration()) { $0.oidcProviders.append(provider) }) { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "old")
            #expect(!authorization.authorizeURL.contains("code_challenge"))
            let callback = try await emulator.signIn("alice", at: authorization.authorizeURL)
            #expect(callback.hasPrefix("https://app.example.com/back?from=bank&code="))
            _ = try await client.activate(oidc: authorization, callback: callback, password: password)
        }
    }

    @Test func whoDeclinesIsNotActivated() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await emulator.refuseSignIn(at: authorization.authorizeURL)
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
            let callback = try await emulator.signIn("alice", at: authorization.authorizeURL)
            _ = try await client.activate(oidc: authorization, callback: callback, password: password)
            #expect(
                try await errorCode {
                    try await client.activate(oidc: authorization, callback: callback, password: password)
                } == .oidcAttemptUsed
            )
            #expect(await emulator.activations().count == 1)
        }
    }

    @Test func aStoreThatCannotBeWrittenLeavesTheAttemptAsItWas() async throws {
        try await withEmulator { emulator in
            let store = ActivationStore.inMemory()
            let (client, other) = (try emulator.makeClient { $0.store = store }, try emulator.makeClient())
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await emulator.signIn("alice", at: authorization.authorizeURL)
            await store.close()
            let code = try await errorCode {
                try await client.activate(oidc: authorization, callback: callback, password: password)
            }
            #expect(code == .storeClosed)
            _ = try await other.activate(oidc: authorization, callback: callback, password: password)
        }
    }

    /// A mistake in the call is found before anything is used up.
    @Test func aWrongCallLeavesTheAttemptAsItWas() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let (mine, other) = (
                try await client.oidc(providerID: "emulator"), try await client.oidc(providerID: "emulator")
            )
            let foreign = try await emulator.signIn("mallory", at: other.authorizeURL)
            let callback = try await emulator.signIn("alice", at: mine.authorizeURL)
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

    @Test(.wireFact("B27", "A6")) func aProviderThatIsSwitchedOffIsNotThere() async throws {
        try await withEmulator(altered(.init()) { $0.oidcProviders[0].isEnabled = false }) { emulator in
            let client = try emulator.makeClient()
            for id in ["emulator", "unknown"] {
                let error = try await #require(throws: MobileTokenError.self) { try await client.oidc(providerID: id) }
                #expect(error.code == .serverConfigurationFailed)
                #expect(error.serverCode == "APPLICATION_CONFIGURATION_ERROR")
                let unknown = await #expect(throws: EmulatorError.self) {
                    try await emulator.signIn("alice", at: "\(emulator.cloudURL)/oidc/\(id)/authorize?client_id=c")
                }
                #expect(unknown?.code == .notFound)
            }
        }
    }

    /// A browser needs no page: an address that names the user leads back at once.
    @Test func anAddressWithALoginHintLeadsBackAtOnce() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let transport = try CurlTransport()
            let authorization = try await client.oidc(providerID: "emulator")
            let address = authorization.authorizeURL
            let unnamed = try await transport.send(HTTPRequest(.get, url: address))
            let refusal = try JSONValue(parsing: unnamed.body)["responseObject"]?["message"]?.string ?? ""
            #expect(unnamed.status == 400 && unnamed.headers["Location"] == nil)
            #expect(refusal.contains("'login_hint'") && refusal.contains("/_emulator/oidc/codes"))
            let response = try await transport.send(HTTPRequest(.get, url: address + "&login_hint=Zo%C3%AB+B"))
            await transport.shutdown()
            #expect(response.status == 303 && response.headers["Cache-Control"] == "no-store")
            let callback = try #require(response.headers["Location"])
            let activation = try await client.activate(oidc: authorization, callback: callback, password: password)
            #expect(await emulator.summary(of: activation)?.userID == "Zoë B")
        }
    }

    /// The same call over HTTP, in a space of the server, whose address has more in front.
    @Test func theControlCallSignsInWithinASpaceToo() async throws {
        try await withSpace { space in
            let client = try space.makeClient()
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await space.signIn("alice", at: authorization.authorizeURL)
            _ = try await client.activate(oidc: authorization, callback: callback, password: password)
            #expect(await space.activations().map(\.userID) == ["alice"])
        }
    }

    @Test func noSecretIsShownByWhatCanBePrinted() async throws {
        try await withEmulator { emulator in
            let observer = RecordingObserver()
            let client = try emulator.makeClient { $0.observer = observer }
            let authorization = try await client.oidc(providerID: "emulator")
            let callback = try await emulator.signIn("alice", at: authorization.authorizeURL)
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
