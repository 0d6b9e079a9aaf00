import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// The SDK against a space: what is signed and encrypted does not depend on the address below which a server is found.
@Suite(.timeLimit(.minutes(5))) struct SpaceClientTests {
    @Test(arguments: ProtocolVersion.allCases) func aWholeLifeInASpace(version: ProtocolVersion) async throws {
        try await withEmulator { emulator async throws in
            let (space, other) = (try await emulator.makeSpace(), try await emulator.makeSpace())
            let client = try space.makeClient {
                $0.version = version
                $0.suite = .p384
            }
            let activation = try await space.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            let (approved, rejected) = (
                try await space.cloud.createOperation("payment", userID: "alice").id,
                try await space.cloud.createOperation("login", userID: "alice").id
            )
            // Listed with a token, decided with signatures.
            let shown = try await service.operations()
            #expect(Set(shown.map(\.id)) == [approved, rejected])
            try await service.authorize(try #require(shown.first { $0.id == approved }), with: .twoFactors)
            try await service.reject(try #require(shown.first { $0.id == rejected }), reason: .unknown)
            #expect(try await space.cloud.operation(approved).status == .approved)
            #expect(try await space.cloud.operation(rejected).status == .rejected)
            // Signed and encrypted.
            let key = try await activation.deriveDataKey(index: 1, with: .twoFactors)
            #expect(try await activation.deriveDataKey(index: 1, with: .twoFactors) == key)
            #expect(try await activation.status().state == .active)
            #expect(await space.refusals() == [])
            #expect(await space.signedRequests(of: activation).areConsecutive)
            try await activation.remove(authenticatedBy: .twoFactors)
            for server in [emulator, other] { #expect(await server.journal() == []) }
        }
    }

    /// The same activation, asked for in another space, is none.
    @Test func anActivationIsUnknownInAnotherSpace() async throws {
        try await withEmulator { emulator async throws in
            let (one, other) = (try await emulator.makeSpace(seed: 1), try await emulator.makeSpace(seed: 1))
            let activation = try await one.makeActivation(user: "alice", password: password)
            let state = try await one.exported()
            #expect(await other.activations() == [])
            // With the state of the other, the same device is known there, too, at another address.
            try await other.importState(state)
            #expect(await other.activations().map(\.id) == [activation.activationID])
        }
    }

    @Test func spacesSpeakTLSWithTheirServer() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.tls = .selfSigned }) { emulator async throws in
            let space = try await emulator.makeSpace()
            #expect(space.baseURL.hasPrefix("https://") && space.certificate == emulator.certificate)
            let activation = try await space.makeActivation(user: "alice", password: password)
            #expect(try await activation.status().state == .active)
        }
    }
}
