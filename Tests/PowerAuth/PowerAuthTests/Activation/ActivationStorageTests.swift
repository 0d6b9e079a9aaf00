import StoreTesting
import Foundation
import Glibc
import TestSupport
import Testing

import PowerAuth

/// The server uses up a code with the request: an unusable store is noticed before, and what happens after is waited for.
@Suite(.timeLimit(.minutes(5)))
struct ActivationStorageTests {
    /// A way in which a store cannot be used.
    enum Trouble: CaseIterable {
        case folderOpenToOthers, wrongKey, damage, closed, full, missingTable

        var code: MobileTokenError.Code {
            switch self {
            case .folderOpenToOthers: .storePermissions
            case .wrongKey: .storeWrongSealingKey
            case .damage, .missingTable: .storeCorrupted
            case .closed: .storeClosed
            case .full: .storeFull
            }
        }
    }

    private func makeStore(with trouble: Trouble, at path: String, in folder: String) async throws
        -> ActivationStore
    {
        var options = SQLiteOptions()
        if trouble == .full { options.maximumPageCount = 16 }
        let store = ActivationStore.sqlite(path: path, sealingKey: nil, options: options)
        try await store.insert(ActivationStoreConformance.record("a0"))
        switch trouble {
        case .full:
            let code = await #expect(throws: MobileTokenError.self) {
                for number in 1..<1_000 { try await store.insert(ActivationStoreConformance.record("a\(number)")) }
            }
            try #require(code?.code == .storeFull)
            return store
        case .closed:
            await store.close()
            return store
        case .folderOpenToOthers:
            try #require(chmod(folder, 0o755) == 0)
        case .wrongKey:
            await store.close()
            return ActivationStore.sqlite(path: path, sealingKey: .closure { SecureRandom.secret(32) })
        case .damage:
            await store.close()
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.write(contentsOf: Data("not a database at all".utf8))
            try handle.close()
        case .missingTable:
            await store.close()
            try spoil("DROP TABLE field", at: path)
        }
        return ActivationStore.sqlite(path: path)
    }

    @Test(arguments: Trouble.allCases) func anUnusableStoreDoesNotCostTheCode(trouble: Trouble) async throws {
        let folder = try TemporaryFolder()
        let store = try await self.makeStore(with: trouble, at: folder.file("store.sqlite"), in: folder.path)
        let fixture = try Fixture(store: store)
        let code = try fixture.server.makeCode()
        let error = await #expect(throws: MobileTokenError.self) {
            try await fixture.client.activate(code: code, password: Fixture.password)
        }
        #expect(error?.code == trouble.code)
        #expect(fixture.server.requestCount("/activation/create") == 0)
        // With another store the same code serves.
        let other = try Fixture(server: fixture.server)
        _ = try await other.client.activate(code: code, password: Fixture.password)
    }

    @Test func provingAStoreLeavesNothingBehind() async throws {
        let folder = try TemporaryFolder()
        let store = ActivationStore.sqlite(path: folder.file("store.sqlite"))
        for _ in 0..<3 { try await store.prove() }
        #expect(try await store.activationIDs() == [])
        try await store.insert(ActivationStoreConformance.record("a"))
        try await store.prove()
        #expect(try await store.record(of: "a") == ActivationStoreConformance.record("a"))
        await store.close()
        let bytes = contents(of: folder.file("store.sqlite"))
        #expect(bytes.firstRange(of: Array("rehearsal".utf8)) == nil)
    }

    @Test func whenStoringFailsAfterAllTheErrorNamesTheActivation() async throws {
        let fixture = try Fixture(store: .inMemory { DriverWithoutRoom(base: $0) })
        let error = await #expect(throws: MobileTokenError.self) { _ = try await fixture.activate() }
        #expect(error?.code == .activationNotSaved)
        let id = try #require(fixture.server.activationIDs.first)
        #expect(error?.message.contains(id) == true)
        #expect((error?.underlying as? MobileTokenError)?.code == .storeFull)
    }

    @Test func shutdownWaitsForAnActivationThatTheServerHasMade() async throws {
        let store = ActivationStore.inMemory()
        let fixture = try Fixture(store: store)
        let hold = fixture.server.hold("/activation/create")
        let activating = Task { try await fixture.activate() }
        await until { fixture.server.requestCount("/activation/create") == 1 }
        // Cancels the activation, as SIGTERM does.
        await #expect(throws: CancellationError.self) { try await activating.stop() }
        let stopping = Task {
            await fixture.client.shutdown()
            return try await store.activationIDs().count
        }
        stopping.cancel()
        for _ in 0..<1_000 { await Task.yield() }
        hold.value = false
        #expect(try await stopping.value == 1)

        await expectError(.noConnection) { _ = try await fixture.activate() }
        #expect(fixture.server.requestCount("/activation/create") == 1)
    }

    @Test func shutdownWithNothingUnderWayReturnsAtOnce() async throws {
        let fixture = try Fixture()
        _ = try await fixture.activate()
        await fixture.client.shutdown()
        await fixture.client.shutdown()
    }
}

/// A driver whose disk has become full just before the insertion.
private struct DriverWithoutRoom: ForwardingDriver {
    let base: any JournalDriver

    func insert(_ row: NewRow) async throws -> InsertAnswer { throw MobileTokenError(.storeFull, "no room") }
}
