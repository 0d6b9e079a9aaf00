import HTTPClientTransport
import PowerAuth
@testable import PowerAuthClient
import Synchronization
import Testing
import WireFacts

/// The bytes covered by the code of a request that is also encrypted.
@Suite(.wireFact("A1"), .timeLimit(.minutes(5))) struct SigningOrderTests {
    struct Note: Codable, Sendable { var text: String }

    private static let versions = ProtocolVersion.allCases
    private static let endpoint = PowerAuthEndpoint<Note, PowerAuthEmptyBody>(
        "/api/note",
        .signed(uriID: "/note"),
        encryption: .activation
    )

    @Test(arguments: Self.versions)
    func anEndpointOfOnesOwnIsSignedBeforeItIsEncrypted(version: ProtocolVersion) async throws {
        let server = try VerifyingServer()
        let activation = try await Fixture(version: version, server: server).activate()
        let sent = try await server.capturing("/api/note", of: activation) {
            _ = try await activation.call(Self.endpoint, Note(text: "x"), with: Fixture.twoFactors)
        }
        #expect(try sent.covers(Array(#"{"requestObject":{"text":"x"}}"#.utf8), uriID: "/note"))
        #expect(try !sent.covers(sent.body, uriID: "/note"))
        #expect(!String(decoding: sent.body, as: UTF8.self).contains("requestObject"))
        // The header of the code says how to open the envelope as well.
        #expect(sent.request.headers[EncodedBody.encryptionHeaderName] == nil)
    }

    @Test(arguments: Self.versions) func aStandardCallIsEncryptedBeforeItIsSigned(version: ProtocolVersion) async throws
    {
        let server = try VerifyingServer()
        let activation = try await Fixture(version: version, server: server).activate()
        let sent = try await server.capturing("/token/create", of: activation) {
            try await activation.requestToken("t")
        }
        #expect(try sent.covers(sent.body, uriID: "/pa/token/create"))
        #expect(try !sent.covers(Array("{}".utf8), uriID: "/pa/token/create"))
        #expect(sent.request.headers[EncodedBody.encryptionHeaderName] == nil)
    }

    @Test(.wireFact("A2"), arguments: Self.versions)
    func aRenamingIsSignedBeforeItIsEncrypted(version: ProtocolVersion) async throws {
        let server = try VerifyingServer()
        let activation = try await Fixture(version: version, server: server).activate()
        let sent = try await server.capturing("/activation/rename", of: activation) {
            try await activation.rename(to: "n", with: Fixture.twoFactors)
        }
        #expect(
            sent.request.url.hasSuffix(version.isVersion3 ? "/pa/v3/activation/rename" : "/pa/v4/activation/rename")
        )
        #expect(try sent.covers(Array(#"{"activationName":"n"}"#.utf8), uriID: "/pa/activation/rename"))
    }

    @Test(.wireFact("A10"), arguments: Self.versions)
    func aRequestForATransferCodeIsWrappedAndSignedBeforeItIsEncrypted(version: ProtocolVersion) async throws {
        let server = try VerifyingServer()
        let activation = try await Fixture(version: version, server: server).activate()
        let sent = try await server.capturing("/api/activation/code", of: activation) {
            _ = try await activation.transferCode(applicationID: "a", otp: "1234567890123456", with: Fixture.twoFactors)
        }
        let plaintext = Array(#"{"requestObject":{"applicationId":"a","otp":"1234567890123456"}}"#.utf8)
        #expect(try sent.covers(plaintext, uriID: "/api/activation/code"))
    }

    @Test(.wireFact("2.1")) func aTokenGoesBesideTheHeaderOfTheEncryption() async throws {
        let server = try VerifyingServer()
        let activation = try await Fixture(server: server).activateInVersion3()
        let endpoint = PowerAuthEndpoint<Note, PowerAuthEmptyBody>("/api/note", .token("t"), encryption: .activation)
        let sent = try await server.capturing("/api/note", of: activation) {
            _ = try await activation.call(endpoint, Note(text: "x"))
        }
        #expect(sent.request.headers[EncodedBody.encryptionHeaderName] != nil)
        #expect(sent.request.headers["X-PowerAuth-Token"] != nil)
    }

    @Test(.wireFact("A2"), arguments: ProtocolVersion.version3)
    func aServerThatCannotRenameInVersion3IsSaidToBeTooOld(version: ProtocolVersion) async throws {
        let server = try VerifyingServer()
        let activation = try await Fixture(version: version, server: server).activate()
        server.setFate { request in
            request.url.hasSuffix("/rename") ? .answered(.refusal(400, "ERR_ACTIVATION")) : .delivered
        }
        let error = await #expect(throws: MobileTokenError.self) {
            try await activation.rename(to: "n", with: Fixture.twoFactors)
        }
        #expect(error?.code == .notSupported)
        #expect(error?.serverCode == "ERR_ACTIVATION")
    }

    @Test(.wireFact("3.2")) func factorsThatNoServerTakesAreRefusedHere() async throws {
        let server = try VerifyingServer()
        let activation = try await Fixture(version: .v4_0, server: server).activate()
        let before = server.state.withLock { $0.requests.count }
        for call in [
            { try await activation.rename(to: "n", with: .possession) },
            { _ = try await activation.nameAtServer(authenticatedBy: .possession) },
            { _ = try await activation.transferCode(applicationID: "a", otp: "1234567890123456", with: .possession) },
        ] as [@Sendable () async throws -> Void] {
            await expectError(.invalidAuthentication) { try await call() }
        }
        #expect(server.state.withLock { $0.requests.count } == before)
    }
}
