import EmulatorBackend
import ExactJSON
import HTTPClientTransport
import PowerAuth
@testable import PowerAuthClient
import Synchronization
import TestSupport
import Testing
import WireFacts

/// The members of encrypted bodies and of envelopes. Servers up to 2.1 refuse any other as if the envelope were broken.
@Suite(.wireFact("A7", "2.2"), .timeLimit(.minutes(5))) struct SentMembersTests {
    private static let envelope3: Set = [
        "temporaryKeyId", "ephemeralPublicKey", "encryptedData", "mac", "nonce", "timestamp",
    ]
    private static let envelope4: Set = ["temporaryKeyId", "encryptedData", "nonce", "timestamp"]

    private func members(_ json: JSONValue?) -> Set<String> { Set(json?.object?.keys.map { $0 } ?? []) }

    /// Keeps the requests to `path`, and lets them through.
    private func record(_ path: String, at server: VerifyingServer) -> Shared<[UInt8]?> {
        let sent = Shared<[UInt8]?>(nil)
        server.setFate { request in
            if request.url.hasSuffix(path) { sent.value = request.body }
            return .delivered
        }
        return sent
    }

    /// Opens an envelope of version 4 with the key that client and server share.
    private func open(
        _ body: [UInt8],
        _ purpose: Version4.EncryptionPurpose,
        with keys: EncryptionKeys<Version4Scheme>,
        of client: MobileTokenClient
    ) async throws -> JSONValue {
        let key = try await keys.current()
        let parameters = try Version4.EncryptionParameters(
            applicationKey: client.server.application.applicationKey,
            applicationSecret: client.server.application.applicationSecret,
            scope: keys.scheme.encryptionScope,
            purpose: purpose,
            temporaryKeyID: try #require(key.id),
            temporaryKey: key.material
        )
        var exchange = Version4.ServerExchange(parameters: parameters)
        #expect(self.members(try JSONValue(parsing: body)) == Self.envelope4)
        let request = try JSONValue(parsing: body).decode(Version4.EncryptedRequest.self)
        return try JSONValue(parsing: try exchange.decryptRequest(request))
    }

    @Test(.wireFact("3.1")) func creatingAnActivationOfVersion4() async throws {
        let fixture = try Fixture(version: .v4_0)
        let sent = self.record("/activation/create", at: fixture.server)
        _ = try await fixture.activate()
        let keys = fixture.client.encryptionKeys.version4(.p384)
        let outer = try await self.open(try #require(sent.value), .genericApplication, with: keys, of: fixture.client)
        #expect(self.members(outer) == ["type", "identityAttributes", "activationData"])
        #expect(self.members(outer["identityAttributes"]) == ["code"])
        let layer = try #require(outer["activationData"]).serialized()
        let inner = try await self.open(layer, .activation, with: keys, of: fixture.client)
        #expect(
            self.members(inner) == [
                "sharedSecretRequest", "devicePublicKeys", "activationName", "platform", "deviceInfo",
            ]
        )
    }

    @Test(.wireFact("3.1")) func creatingAnActivationOfVersion3() async throws {
        let fixture = try Fixture()
        let sent = self.record("/activation/create", at: fixture.server)
        _ = try await fixture.activate()
        #expect(self.members(try JSONValue(parsing: try #require(sent.value))) == Self.envelope3)
        let outer = fixture.server.state.withLock { $0.lastActivationRequest }
        #expect(self.members(outer) == ["type", "identityAttributes", "activationData"])
        let inner = self.members(outer?["activationData"])
        #expect(inner.contains("encryptedData") && inner.isSubset(of: Self.envelope3))
    }

    @Test(.wireFact("3.1", "3.2")) func callsOfAnActivationOfVersion4() async throws {
        let (fixture, activation) = try await Fixture(version: .v4_0).activated
        let keys = try #require(activation.dialect as? Version4Dialect).keys
        let calls: [(String, Set<String>, @Sendable () async throws -> Void)] = [
            ("/activation/status", [], { _ = try await activation.status() }),
            ("/user/info", [], { _ = try await activation.userInfo() }),
            (
                "/activation/rename", ["activationName"],
                {
                    try await activation.rename(to: "n", with: Fixture.twoFactors)
                }
            ),
            (
                "/activation/detail", [],
                {
                    _ = try await activation.nameAtServer(authenticatedBy: Fixture.twoFactors)
                }
            ),
            ("/config/activation", [], { _ = try await activation.serverConfiguration() }),
        ]
        for (path, members, call) in calls {
            let sent = self.record(path, at: fixture.server)
            _ = try? await call()  // whatever the server thinks of it
            let body = try #require(sent.value, "\(path)")
            let opened = try await self.open(body, .genericActivation, with: keys, of: fixture.client)
            #expect(self.members(opened) == members, "\(path)")
        }
    }

    @Test(.wireFact("A11")) func theQuestionForAProvider() async throws {
        let fixture = try Fixture(version: .v4_0)
        let sent = self.record("/api/config/oidc", at: fixture.server)
        _ = try? await fixture.client.oidc(providerID: "p")
        let keys = fixture.client.encryptionKeys.version4(.p384)
        let body = try #require(sent.value)
        let opened = try await self.open(body, .genericApplication, with: keys, of: fixture.client)
        #expect(opened == ["providerId": "p"])
    }
}
