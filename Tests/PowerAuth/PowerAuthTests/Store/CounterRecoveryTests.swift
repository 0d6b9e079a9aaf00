import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

import EmulatorBackend
import PowerAuth

/// A store that was put back to a state from long ago, without anything beside it that tells how far it had come.
@Suite(.timeLimit(.minutes(5))) struct CounterRecoveryTests {
    private let folder: TemporaryFolder
    private let server: VerifyingServer

    init() throws {
        self.folder = try TemporaryFolder()
        self.server = try VerifyingServer()
    }

    /// A client of what is, to the store, a process of its own.
    private func withClient<Result>(
        _ version: ProtocolVersion,
        at path: String,
        _ body: (Fixture) async throws -> Result
    ) async throws -> Result {
        let store = ActivationStore.sqlite(path: path, sealingKey: .file(self.folder.file("key")))
        let result = try await body(Fixture(version: version, server: self.server, store: store))
        await store.close()
        return result
    }

    /// Makes so many signatures, of which the store that is left knows nothing.
    ///
    /// - Returns: The identifier of the activation, and where the store is.
    private func putBack(
        _ version: ProtocolVersion,
        after signatures: Int
    ) async throws -> (id: String, path: String) {
        let (path, restored) = (self.folder.file("store.sqlite"), self.folder.file("restored.sqlite"))
        let id = try await self.withClient(version, at: path) { try await $0.activate().activationID }
        try Data(contents(of: path)).write(to: URL(filePath: restored))
        try #require(chmod(restored, 0o600) == 0)
        try await self.withClient(version, at: path) { fixture in
            let activation = try await fixture.client.activation(id: id)
            for number in 0..<signatures { try await activation.approve("\(number)") }
        }
        return (id, restored)
    }

    /// Around the window, and around the byte that the server tells of its counter.
    @Test(arguments: [ProtocolVersion.v3_3, .v4_0], [25, 128, 256, 300])
    func theNextSignatureIsAccepted(version: ProtocolVersion, signatures: Int) async throws {
        let (id, path) = try await self.putBack(version, after: signatures)
        try await self.withClient(version, at: path) { fixture in
            let activation = try await fixture.client.activation(id: id)
            let refused = await errorCode { try await activation.approve("vain", with: Fixture.twoFactors) }
            // Only the lowest byte of the server's counter is told: 256 steps look like none.
            #expect(refused == .stateRolledBack || signatures == 256)
            let before = try await activation.storedRecord()
            let moves = try await activation.recoverCounter() + before.counterMoves
            #expect(try await activation.storedRecord().counterMoves == moves)
            #expect(moves >= UInt64(signatures) + 10)
            // Approvals were charged to limits that the store knows nothing of.
            let store = try #require(activation.store)
            #expect(try await store.openLimits())
            let steps = try #require(self.server.activation(id)).steps
            try await activation.approve("first", with: Fixture.twoFactors)
            // Ten values that may have been used offline.
            #expect(self.server.activation(id)?.steps == steps + 11)
            #expect(self.server.state.withLock { $0.accepted }.last == "first")
            #expect(try await activation.status().failedAttempts == 0)
            #expect(try await activation.recoverCounter() == 0)
            #expect(try await store.limitUse([]).closure == nil)
        }
    }

    /// So few that the status alone brings the counter back.
    @Test func aStatusThatMovesTheCounterClosesTheLimits() async throws {
        let (id, path) = try await self.putBack(.v3_3, after: 5)
        try await self.withClient(.v3_3, at: path) { fixture in
            let activation = try await fixture.client.activation(id: id)
            let store = try #require(activation.store)
            #expect(try await store.limitUse([]).closure == nil)
            #expect(try await activation.status().counter.result == .movedForward(5))
            #expect(try await store.limitUse([]).closure != nil)
        }
    }

    @Test func aCounterThatIsNotFoundChangesNothing() async throws {
        let (id, path) = try await self.putBack(.v3_3, after: 40)
        try await self.withClient(.v3_3, at: path) { fixture in
            let activation = try await fixture.client.activation(id: id)
            _ = await errorCode { try await activation.approve("vain") }
            let sent = self.server.requestCount("/api/signed")
            let before = try await activation.storedRecord()
            await expectError(.stateRolledBack) { try await activation.recoverCounter(searching: 30) }
            #expect(try await activation.storedRecord() == before)
            #expect(await errorCode { try await activation.approve("vain") } == .stateRolledBack)
            for limit in [Int.min, 0] {
                #expect(await errorCode { try await activation.recoverCounter(searching: limit) } == .stateRolledBack)
            }
            #expect(self.server.requestCount("/api/signed") == sent)
        }
    }

    @Test func aCounterThatIsAheadIsNoneThatWasPutBack() async throws {
        let (fixture, activation) = try await Fixture(server: self.server).activatedInVersion3
        #expect(try await activation.recoverCounter() == 0)
        try await fixture.store.update(activation.activationID) { record in
            for _ in 0..<40 { record.counter = record.counter.next() }
            record.ledger.confirm()
        }
        let error = await errorCode { try await activation.recoverCounter(searching: 10_000) }
        #expect(error == .deadlock || error == .stateRolledBack)
        #expect(self.server.requestCount("/api/signed") == 0)
    }
}
