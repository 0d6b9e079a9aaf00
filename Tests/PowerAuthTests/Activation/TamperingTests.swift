import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization
import Testing
import TestSupport

@testable import PowerAuth

/// One bit flipped anywhere on the way: the receiver refuses by name, and nothing changes.
@Suite(.timeLimit(.minutes(5))) struct TamperingTests {
    private static func flipped(_ bytes: [UInt8], _ index: Int) -> [UInt8] {
        var bytes = bytes
        bytes[index] ^= 1 << UInt8(index % 8)
        return bytes
    }

    /// The answers that carry proof of where they come from. Whitespace, names of members nobody reads and the envelope
    /// around the proof may change without harm; then the result must be the same as without the change.
    @Test(arguments: [
        ("/pa/v3/user/info", ProtocolVersion.v3_3), ("/pa/v3/user/info", .v3_2), ("/pa/v3/user/info", .v3_1),
        ("/pa/v3/token/create", .v3_3), ("/pa/v3/vault/unlock", .v3_3), ("/pa/v3/keystore/create", .v3_3),
    ])
    func aFlippedBitInAnAnswerIsRefusedOrChangesNothing(path: String, version: ProtocolVersion) async throws {
        let store = ActivationStore.inMemory()
        // A clock that stands still, for what the server says of a user holds the time.
        let now = Date()
        let fixture = try Fixture(server: VerifyingServer(now: { now }), store: store) { $0.version = version }
        let activation = try await fixture.activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        let server = fixture.server

        func call() async throws -> String {
            switch path {
            case "/pa/v3/user/info":
                return String(decoding: try await activation.userInfo().serialized(), as: UTF8.self)
            case "/pa/v3/token/create":
                try await activation.removeTokenLocally("t")
                try await activation.requestToken("t")
                // A token that came through unchanged works; a changed one would be refused.
                _ = try await activation.call(
                    PowerAuthEndpoint<EmptyBody, EmptyBody>("/api/token", .token("t")),
                    EmptyBody()
                )
                return "token"
            case "/pa/v3/vault/unlock":
                let key = try await activation.deriveDataKey(index: 1, with: .possessionAndKnowledge(unlocked: factor))
                return key.withUnsafeBytes { Array($0) }.description
            default:
                // A new client has no key yet.
                let client = try Fixture(server: server, store: store) { $0.version = version }.client
                let fresh = try await client.activation(id: activation.activationID)
                return String(decoding: try await fresh.userInfo().serialized(), as: UTF8.self)
            }
        }

        let expected = try await call()
        let position = Shared(0)
        let length = Shared(1)
        server.setRewrite { request, response in
            guard request.url.hasSuffix(path), response.status == 200 else { return response }
            length.value = response.body.count
            var response = response
            response.body = Self.flipped(response.body, position.value % response.body.count)
            return response
        }
        var refusals = 0
        while position.value < length.value {
            do {
                let result = try await call()
                #expect(result == expected, "byte \(position.value)")
            } catch let error as MobileTokenError {
                #expect(error.code == .invalidResponse, "byte \(position.value): \(error)")
                refusals += 1
            }
            position.update { $0 += 7 }
        }
        #expect(refusals > 10)
        server.setRewrite { _, response in response }
        #expect(try await call() == expected)
        #expect(try await activation.status().counter.result == .inSync)
    }

    @Test(arguments: ProtocolVersion.version3) func aFlippedBitInARequestIsRefused(version: ProtocolVersion)
        async throws
    {
        let fixture = try Fixture { $0.version = version }
        let activation = try await fixture.activate()
        try await fixture.server.refuseEveryFlippedBit(ofAnApprovalBy: activation)
    }
}
