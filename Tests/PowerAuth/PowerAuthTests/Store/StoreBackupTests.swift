import Foundation
import Glibc
import StoreTesting
import TestSupport
import Testing

import PowerAuth

@Suite(.timeLimit(.minutes(5)))
struct StoreBackupTests {
    private let folder: TemporaryFolder
    private let path: String
    private let copy: String
    private let store: ActivationStore

    init() async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("store/activations.sqlite")
        self.copy = self.folder.file("copy.sqlite")
        self.store = ActivationStore.sqlite(path: self.path)
        for id in ["a", "b"] { try await self.store.insert(ActivationStoreConformance.record(id)) }
    }

    private func failure() async -> MobileTokenError.Code? {
        let error = await #expect(throws: MobileTokenError.self) { try await self.store.backUp(to: self.copy) }
        return error?.code
    }

    /// Records that are in the log only, and were not moved into the database yet, are copied.
    @Test func theLogIsInTheCopyToo() async throws {
        let before = umask(0)
        let ids = try await self.store.backUp(to: self.copy)
        umask(before)
        #expect(ids == ["a", "b"])
        #expect(mode(of: self.copy) == 0o600)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted() == ["copy.sqlite", "store"]
        )

        try FileManager.default.copyItem(atPath: self.path + ".key", toPath: self.copy + ".key")
        let restored = ActivationStore.sqlite(path: self.copy)
        for id in ids { #expect(try await restored.record(of: id) == ActivationStoreConformance.record(id)) }
        // It is a store as any other.
        try await restored.insert(ActivationStoreConformance.record("c"))
        try await self.store.insert(ActivationStoreConformance.record("c"))
        #expect(try await restored.activationIDs() == ["a", "b", "c"])
    }

    @Test func nothingIsReplaced() async throws {
        try Data("kept".utf8).write(to: URL(filePath: self.copy))
        #expect(await self.failure() == .storeUnreadable)
        #expect(contents(of: self.copy) == Array("kept".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).count == 2)
    }

    @Test func aStoreThatIsNotThereIsNotMade() async throws {
        let none = ActivationStore.sqlite(path: self.folder.file("none/activations.sqlite"))
        await expectError(.storeUnreadable) { try await none.backUp(to: self.copy) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["store"])
    }

    @Test(arguments: [
        "UPDATE activation SET counter = x'00' WHERE slot = 2", "DELETE FROM field WHERE slot = 2",
    ])
    func anActivationThatDoesNotOpenIsNotCopied(sql: String) async throws {
        try spoil(sql, at: self.path)
        #expect(await self.failure() == .storeCorrupted)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["store"])
    }

    @Test func aDamagedStoreIsNotCopied() async throws {
        await self.store.close()
        // The log's pages would be read in place of the damaged ones.
        try spoil("PRAGMA wal_checkpoint(TRUNCATE)", at: self.path)
        let pageCount = contents(of: self.path).count / 4096
        try #require(pageCount > 2)
        let file = try #require(FileHandle(forWritingAtPath: self.path))
        for page in 1..<pageCount {
            try file.seek(toOffset: UInt64(page * 4096))
            try file.write(contentsOf: Data(repeating: 0xA5, count: 64))
        }
        try file.close()
        let damaged = ActivationStore.sqlite(path: self.path)
        await expectError(.storeCorrupted) { try await damaged.backUp(to: self.copy) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["store"])
    }
}
