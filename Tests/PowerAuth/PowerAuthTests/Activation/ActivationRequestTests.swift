import ExactJSON
import Foundation
import HTTPClientTransport
import Testing
import TestSupport

@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient

/// The content of a request for an activation, and its results.
@Suite(.timeLimit(.minutes(5))) struct ActivationRequestTests {

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func onlyACodeThatTheServerSignedReachesIt(version: ProtocolVersion) async throws {
        let fixture = try Fixture(version: version)
        let code = try fixture.server.makeCode(signed: true, version: version)
        let foreign = try VerifyingServer().makeCode(signed: true, version: version)
        await expectError(.invalidActivationCode) {
            _ = try await fixture.client.activate(code: foreign, password: Fixture.secret)
        }
        #expect(fixture.server.state.value.requests.isEmpty)
        #expect(code.contains("#"))
        _ = try await fixture.client.activate(code: code, password: Fixture.secret)
    }

    @Test(arguments: [
        "", "W65WE-3T7VI-7FBS2-A4OYB", "w65we-3t7vi-7fbs2-a4oya", "W65WE-3T7VI-7FBS2-A4OYA#",
        "W65WE-3T7VI-7FBS2-A4OYA#?",
    ])
    func aMalformedCodeIsRefusedBeforeAnythingIsSent(text: String) async throws {
        let fixture = try Fixture()
        await expectError(.invalidActivationCode) {
            _ = try await fixture.client.activate(code: text, password: Fixture.secret)
        }
        #expect(fixture.server.state.value.requests.isEmpty)
    }

    @Test func everythingAskedForReachesTheServer() async throws {
        let fixture = try Fixture(server: VerifyingServer(requiredOTP: "4711", release: .v1_10))
        var request = try ActivationRequest(code: try fixture.server.makeCode())
        request.name = "bot"
        request.otp = "4711"
        request.extras = "extra"
        request.customAttributes = ["branch": "Brno", "floor": 3]
        let result = try await fixture.client.activate(request, password: Fixture.secret)
        #expect(result.activation.name == "bot")
        #expect(result.customAttributes?["floor"]?.int64 == 3)
        #expect(result.userInfo?["sub"]?.string == "alice")
        let recovery = try #require(fixture.server.recoveryCodes.first)
        #expect(result.recovery?.code == recovery.code)
        #expect(result.recovery?.puk == recovery.puk)
        let seen = fixture.server.state.value.lastActivationRequest
        #expect(seen?["customAttributes"]?["branch"]?.string == "Brno")

        let server = try #require(fixture.server.device(result.activation.activationID))
        let expected = ActivationFingerprint(
            devicePublicKey: server.deviceKey,
            activationID: result.activation.activationID,
            serverPublicKey: server.serverKey.publicKey
        )
        #expect(result.fingerprint == expected.digits)
        #expect(result.activation.fingerprint == result.fingerprint)
    }

    @Test func aWrongOneTimePasswordIsRefusedAndNothingIsStored() async throws {
        let fixture = try Fixture(server: VerifyingServer(requiredOTP: "4711"))
        let code = try fixture.server.makeCode()
        await expectError(.activationFailed) {
            _ = try await fixture.client.activate(code: code, password: Fixture.secret, otp: "1")
        }
        #expect(try await fixture.client.activationIDs() == [])
    }

    @Test func customCredentialsAndRecoveryCodesAreSentAsTheirKind() async throws {
        let fixture = try Fixture(server: VerifyingServer(release: .v1_10))
        fixture.server.changeRules { $0.acceptsCustomIdentities = true }
        let custom = try ActivationRequest(identityAttributes: ["login": "ada", "proof": "card"])
        let result = try await fixture.client.activate(custom, password: Fixture.secret)
        var seen = fixture.server.state.value.lastActivationRequest
        #expect(seen?["type"]?.string == "CUSTOM")
        #expect(seen?["identityAttributes"]?["proof"]?.string == "card")

        // Servers answer with an empty object where no attributes of the application were sent.
        #expect(result.customAttributes == [:])

        let recovery = try #require(result.recovery)
        let request = ActivationRequest(recoveryCode: recovery.code, puk: recovery.puk)
        _ = try await fixture.client.activate(request, password: Fixture.secret)
        seen = fixture.server.state.value.lastActivationRequest
        #expect(seen?["type"]?.string == "RECOVERY")
        #expect(seen?["identityAttributes"]?["puk"]?.string == recovery.puk)
    }

    /// ENDPOINTS 3.1: `identityAttributes` is a map of texts, and not empty.
    @Test func nobodyActivatesWithoutAnAttribute() async throws {
        #expect(await errorCode { _ = try ActivationRequest(identityAttributes: [:]) } == .invalidRequest)
    }

    @Test func anActivationIsFoundAgainAndIsOneInstance() async throws {
        let fixture = try Fixture()
        let one = try await fixture.activate()
        let other = try await fixture.activate()
        #expect(try await fixture.client.activation(id: one.activationID) === one)
        #expect(try await fixture.client.activations().map(\.activationID) == [one.activationID, other.activationID])
    }

    @Test func anActivationOfAnotherApplicationIsNamed() async throws {
        let store = ActivationStore.inMemory()
        let id = try await Fixture(store: store).activate().activationID
        let stranger = try Fixture(store: store)
        #expect(await errorCode { _ = try await stranger.client.activation(id: id) } == .invalidConfiguration)
    }

    @Test func anActivationWhoseCallerLeftIsStoredAllTheSame() async throws {
        let fixture = try Fixture()
        let arrived = Shared(false)
        let hold = Shared(true)
        fixture.server.setFate { request in
            if request.url.hasSuffix("/activation/create") {
                arrived.value = true
                await until { !hold.value }
            }
            return .delivered
        }
        let task = Task { try await fixture.activate() }
        await until { arrived.value }
        await #expect(throws: CancellationError.self) { _ = try await task.stop() }
        hold.value = false
        try await until { try await !fixture.client.activationIDs().isEmpty }
        let activation = try #require(try await fixture.client.activations().first)
        try await activation.approve("a", with: Fixture.twoFactors)
    }
}

@Suite struct ClientConfigurationTests {
    private let server: VerifyingServer

    init() throws { self.server = try VerifyingServer() }

    private func makeClient(
        _ baseURL: String,
        _ configure: (inout MobileTokenClient.Configuration) -> Void = { _ in }
    ) throws(MobileTokenError) -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.transport = self.server
        configuration.store = ActivationStore.inMemory()
        configure(&configuration)
        return try MobileTokenClient(
            baseURL: baseURL,
            sdkConfiguration: self.server.configuration,
            configuration: configuration
        )
    }

    private func mistake(baseURL: String, userAgent: String? = nil) -> String? {
        do {
            _ = try self.makeClient(baseURL) { $0.userAgent = userAgent }
            return nil
        } catch {
            #expect(error.code == .invalidConfiguration)
            return error.message
        }
    }

    @Test(arguments: [
        "", "host", "host/path", "ftp://host", "https://", "https:///path", "https://user:pw@host", "https://user@host",
        "https://host/?q=1", "https://host/#f", "https://ho st/", "https://host:99999", "https://host\r\nX: y",
    ])
    func aURLThatCannotServeIsNamed(url: String) throws {
        let message = try #require(self.mistake(baseURL: url))
        #expect(message.hasPrefix("baseURL: "))
        let other = #expect(throws: MobileTokenError.self) {
            try self.makeClient("https://host") { $0.powerAuthURL = url }
        }
        #expect(other?.message.hasPrefix("powerAuthURL: ") == true)
    }

    @Test(arguments: [
        "https://host", "http://127.0.0.1:8080/enrollment-server/", "https://[::1]:443/x", "HTTPS://host.example",
        "http://localhost", "HTTP://LOCALHOST:8080/x", "http://127.8.9.255", "http://[::1]:80/",
    ])
    func aURLThatServesIsAccepted(url: String) throws {
        #expect(self.mistake(baseURL: url) == nil)
    }

    @Test(arguments: [
        "http://host", "HTTP://host", "http://10.0.0.1/x", "http://0.0.0.0", "http://127.0.0.1.example.com",
        "http://localhost.example.com", "http://example.com/localhost", "http://0177.0.0.1", "http://127.1",
        "http://127.0.0.256", "http://128.0.0.1", "http://[::2]", "http://[::ffff:127.0.0.1]",
        "http://localhost%2e.com",
        "http://127.0.0.1.",
    ])
    func plainHTTPToAnotherMachineNeedsPermission(url: String) throws {
        #expect(self.mistake(baseURL: url)?.contains("http to another machine") == true)
        let allowed = try self.makeClient(url) { $0.allowsInsecureHTTP = true }
        #expect(allowed.server.baseURL.utf8.elementsEqual(url.utf8))
        let other = #expect(throws: MobileTokenError.self) {
            try self.makeClient("https://host") { $0.powerAuthURL = url }
        }
        #expect(other?.message.contains("powerAuthURL: ") == true)
    }

    /// They would be ignored in silence.
    @Test(
        arguments: [
            { $0.pinnedPublicKeys = ["sha256//" + String(repeating: "A", count: 43) + "="] },
            { $0.validation = .certificateAuthority(file: "/dev/null") },
            { $0.clientCertificate = .init(certificateFile: "/dev/null", privateKeyFile: "/dev/null") },
        ] as [@Sendable (inout CurlTransport.TLS) -> Void]
    )
    func whatOnlyTLSCanDoIsRefusedOverPlainHTTP(change: @Sendable (inout CurlTransport.TLS) -> Void) throws {
        var options = CurlTransport.Configuration()
        change(&options.tls)
        let transport = try CurlTransport(configuration: options)
        func client(_ url: String) throws -> MobileTokenClient {
            try self.makeClient(url) {
                $0.transport = transport
                $0.allowsInsecureHTTP = true
            }
        }
        for url in ["http://127.0.0.1:8080", "http://host"] {
            let error = #expect(throws: MobileTokenError.self) { try client(url) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.message.contains("means nothing over http") == true)
        }
        _ = try client("https://host")
    }

    @Test(arguments: ["", "a\r\nX-Evil: 1", "Jméno"]) func aUserAgentThatIsNoHeaderIsNamed(text: String) throws {
        #expect(self.mistake(baseURL: "https://host", userAgent: text)?.hasPrefix("userAgent: ") == true)
    }

    @Test(arguments: [Int.min, 0, 3, 9, .max]) func aLengthOfOfflineCodesThatNoServerTakesIsNamed(digits: Int) throws {
        let error = #expect(throws: MobileTokenError.self) {
            try self.makeClient("https://host") { $0.offlineCodeDigits = digits }
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.hasPrefix("offlineCodeDigits: ") == true)
    }

    @Test(arguments: ["", "rubbish!", "AQ==", "AgA="]) func aConfigurationTextThatIsNoneIsNamed(text: String) throws {
        do {
            _ = try MobileTokenClient(baseURL: "https://host", sdkConfiguration: text)
            Issue.record("accepted")
        } catch {
            #expect(error.code == .invalidConfiguration)
            #expect(error.message.hasPrefix("sdkConfiguration: "))
        }
    }

    @Test func requestsCarryTheUserAgentAndJSON() async throws {
        let fixture = try Fixture()
        _ = try await fixture.activate()
        let request = try #require(fixture.server.state.value.requests.first)
        #expect(request.headers["User-Agent"]?.hasPrefix("swift-mobile-token/") == true)
        #expect(request.headers["Content-Type"] == "application/json")
    }
}
