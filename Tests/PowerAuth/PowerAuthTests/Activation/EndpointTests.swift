import ExactJSON
import HTTPClientTransport
import Testing
import TestSupport

import EmulatorBackend
import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct EndpointTests {
    struct Note: Codable, Sendable, Equatable { var text: String }
    struct Echo: Codable, Sendable, Equatable { var echo: Note }
    struct Done: Decodable, Sendable { var done: Bool }
    struct Named: Encodable, Sendable { var id: String }

    private let note = Note(text: "příliš žluťoučký")

    @Test(arguments: ProtocolVersion.version3) func everyKindOfEndpointCanBeCalled(version: ProtocolVersion)
        async throws
    {
        let (fixture, activation) = try await Fixture(version: version).activated

        let signed = PowerAuthEndpoint<Named, Done>("/api/signed", .signed(uriID: "/signed"))
        #expect(try await activation.call(signed, Named(id: "a"), with: Fixture.twoFactors).done)

        let token = PowerAuthEndpoint<PowerAuthEmptyBody, Done>("/api/token", .token("mine"))
        #expect(try await activation.call(token, PowerAuthEmptyBody()).done)
        #expect(try await activation.tokenNames() == ["mine"])

        let sealed = PowerAuthEndpoint<Note, Echo>("/api/sealed", .signed(uriID: "/sealed"), encryption: .activation)
        #expect(try await activation.call(sealed, self.note).echo == self.note)

        let application = PowerAuthEndpoint<Note, Echo>("/api/encrypted/application", .none, encryption: .application)
        #expect(try await activation.call(application, self.note).echo == self.note)
        #expect(try await fixture.client.call(application, self.note).echo == self.note)

        let own = PowerAuthEndpoint<Note, Echo>("/api/encrypted/activation", .none, encryption: .activation)
        #expect(try await activation.call(own, self.note).echo == self.note)

        let both = PowerAuthEndpoint<Note, Echo>("/api/encrypted/token", .token("mine"), encryption: .activation)
        #expect(try await activation.call(both, self.note).echo == self.note)
    }

    @Test func anEndpointOfAnActivationCannotBeCalledWithoutOne() async throws {
        let fixture = try Fixture()
        let endpoint = PowerAuthEndpoint<PowerAuthEmptyBody, PowerAuthEmptyBody>("/x", .none, encryption: .activation)
        await expectError(.invalidRequest) { try await fixture.client.call(endpoint, PowerAuthEmptyBody()) }
    }

    @Test(arguments: [EncryptionScope.application, .activation])
    func aRequestEncryptedByHandIsAnsweredOnce(scope: EncryptionScope) async throws {
        let (fixture, activation) = try await Fixture().activated
        let request = try await activation.encrypt(Array(#"{"requestObject":{"text":"x"}}"#.utf8), scope: scope)
        let path = scope == .application ? "/api/encrypted/application" : "/api/encrypted/activation"
        let response = try await fixture.server.send(
            HTTPRequest(
                url: VerifyingServer.baseURL + path,
                headers: ["Content-Type": "application/json", request.headerName: request.headerValue],
                body: request.body
            )
        )
        let answer = try JSONValue(parsing: request.decrypt(response.body))
        #expect(answer["responseObject"]?["echo"]?["text"]?.string == "x")
    }

    @Test func userInfoAndRecoveryCodes() async throws {
        let (fixture, activation) = try await Fixture(server: VerifyingServer(release: .v1_10)).activated
        #expect(try await activation.userInfo()["sub"]?.string == "alice")
        let authentication = Fixture.twoFactors
        let code = try #require(fixture.server.recoveryCodes.first?.code)
        fixture.server.unconfirm(recoveryCode: code)
        let before = fixture.server.requestCount("/recovery/confirm")
        let error = await #expect(throws: MobileTokenError.self) {
            try await activation.confirmRecoveryCode(code, with: .possession)
        }
        #expect(error?.code == .invalidAuthentication && fixture.server.requestCount("/recovery/confirm") == before)
        #expect(try await !activation.confirmRecoveryCode(code, with: authentication))
        #expect(try await activation.confirmRecoveryCode(code, with: authentication))
    }

    @Test func anAnswerToAnotherRequestIsRefused() async throws {
        let (fixture, activation) = try await Fixture().activated
        let first = Shared<HTTPResponse?>(nil)
        let server = fixture.server
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/user/info") else { return .delivered }
            if let first = first.value { return .answered(first) }
            server.setFate { _ in .delivered }
            first.value = try await server.send(request)
            return .answered(HTTPResponse(status: 500))
        }
        _ = try? await activation.userInfo()
        let earlier = try #require(first.value)
        fixture.server.setFate { $0.url.hasSuffix("/user/info") ? .answered(earlier) : .delivered }
        await expectError(.invalidResponse) { try await activation.userInfo() }
    }
}
