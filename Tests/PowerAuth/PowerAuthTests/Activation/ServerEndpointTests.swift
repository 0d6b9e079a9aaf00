import PowerAuth
@testable import PowerAuthClient
import Testing
import WireFacts

@Suite(.wireFact("3.1", "3.2")) struct ServerEndpointTests {
    struct Note: Codable, Sendable, Equatable { var text: String }

    @Test func aVersionThatLacksACallIsNamed() throws {
        #expect(try ServerEndpoint.activationRename.path(in: .v3_1) == "/pa/v3/activation/rename")
        #expect(try ServerEndpoint.activationRename.path(in: .v4_0) == "/pa/v4/activation/rename")
        #expect(try ServerEndpoint.oidcConfiguration.path(in: .v4_0) == "/api/config/oidc")
        let errors = [
            #expect(throws: MobileTokenError.self) { try ServerEndpoint.biometryAdd.path(in: .v3_3) },
            #expect(throws: MobileTokenError.self) { try ServerEndpoint.recoveryConfirm.path(in: .v4_0) },
        ]
        #expect(errors.allSatisfy { $0?.code == .notSupported })
    }

    /// Everything that is signed and encrypted, and how.
    @Test(.wireFact("A1", "A2", "A10")) func onlyStandardCallsAreEncryptedFirst() {
        let encryptedFirst: [ServerEndpoint] = [
            .tokenCreate, .vaultUnlock, .passwordChange, .biometryAdd, .upgradeStart, .recoveryConfirm,
        ]
        #expect(encryptedFirst.allSatisfy { $0.order == .encryptThenSign && $0.encryption != nil })
        let signedFirst: [ServerEndpoint] = [.activationRename, .activationCode]
        #expect(signedFirst.allSatisfy { $0.order == .signThenEncrypt && $0.encryption == .activation(.generic) })
    }

    @Test(.wireFact("A11", "2.2")) func requestAndResponseAreWrappedEachByItself() throws {
        let response = ServerResponse(Array(#"{"status":"OK","responseObject":{"text":"a"}}"#.utf8))
        let bare = ServerResponse(Array(#"{"text":"a"}"#.utf8))
        for (wrapping, request) in [
            (ServerEndpoint.Wrapping.both, #"{"requestObject":{"text":"x"}}"#),
            (.response, #"{"text":"x"}"#), (.neither, #"{"text":"x"}"#),
        ] {
            let endpoint = ServerEndpoint(.path("/x"), .none, nil, .signThenEncrypt, wrapping)
            #expect(try endpoint.encode(Note(text: "x")) == Array(request.utf8))
            let read = try endpoint.decode(Note.self, from: wrapping.response ? response : bare, of: "/x")
            #expect(read == Note(text: "a"))
        }
        let byDefault = PowerAuthEndpoint<Note, Note>("/x", .none)
        #expect(byDefault.wrapsRequest && byDefault.wrapsResponse)
        let neither = PowerAuthEndpoint<Note, Note>("/x", .none, isWrapped: false)
        #expect(!neither.wrapsRequest && !neither.wrapsResponse)
    }
}
