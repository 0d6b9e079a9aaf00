import StoreTesting
import TestSupport
import Foundation
import Glibc
import SQLiteDatabase
import Testing

import PowerAuth
@testable import PowerAuthClient

/// The faults around a store: each has a name, and leaves what was stored as it was.
@Suite(.timeLimit(.minutes(5)))
struct StoreFaultTests {
    private let folder: TemporaryFolder
    private var path: String { self.folder.file("store.sqlite") }

    init() throws { self.folder = try TemporaryFolder() }

    /// Stores activations, and closes the store, so that the files hold all there is.
    private func fill(_ count: Int = 1) async throws {
        let store = ActivationStore.sqlite(path: self.path)
        for number in 0..<count { try await store.insert(ActivationStoreConformance.record("a\(number)")) }
        await store.close()
    }

    /// Makes a signature, and knows that the server has it.
    private func settle() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        try await store.update("a0") { record in
            record.takeMove()
            record.isUnsettled = false
        }
        await store.close()
    }

    private func expectIntact() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        #expect(try await store.record(of: "a0") == ActivationStoreConformance.record("a0"))
        await store.close()
    }

    private func codeOfOpening() async -> MobileTokenError.Code? {
        await errorCode { try await ActivationStore.sqlite(path: self.path).open() }
    }

    // MARK: Who may read

    @Test func filesAreTheirOwnersAlone() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        try await store.insert(ActivationStoreConformance.record("a0"))
        for suffix in ["", "-wal", "-shm", "-lease", ".key"] { #expect(mode(of: self.path + suffix) == 0o600) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).count == 5)
    }

    @Test(arguments: ["", "-lease", ".key", "-wal", "-shm"], [0o640, 0o604, 0o660] as [mode_t])
    func filesThatOthersMayUseAreRefused(suffix: String, mode: mode_t) async throws {
        try await self.fill()
        if !FileManager.default.fileExists(atPath: self.path + suffix) {
            #expect(FileManager.default.createFile(atPath: self.path + suffix, contents: nil))
        }
        #expect(chmod(self.path + suffix, mode) == 0)
        #expect(await self.codeOfOpening() == .storePermissions)
        #expect(chmod(self.path + suffix, 0o600) == 0)
        try await self.expectIntact()
    }

    @Test func aFolderThatOthersMayEnterIsRefused() async throws {
        try await self.fill()
        #expect(chmod(self.folder.path, 0o750) == 0)
        #expect(await self.codeOfOpening() == .storePermissions)
        #expect(chmod(self.folder.path, 0o700) == 0)
        try await self.expectIntact()
    }

    @Test func aLinkInPlaceOfTheDatabaseIsRefused() async throws {
        try await self.fill()
        #expect(rename(self.path, self.path + ".moved") == 0)
        #expect(symlink(self.path + ".moved", self.path) == 0)
        #expect(await self.codeOfOpening() == .storePermissions)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), arguments: ["", ".key", "-lease"])
    func filesOfAnotherUserAreRefused(suffix: String) async throws {
        try await self.fill()
        #expect(chown(self.path + suffix, 65_534, 65_534) == 0)
        #expect(await self.codeOfOpening() == .storePermissions)
        #expect(chown(self.path + suffix, 0, 0) == 0)
        try await self.expectIntact()
    }

    // MARK: Writing that fails

    @Test func aStoreThatMayNotBeWrittenIsNamedSo() async throws {
        try await self.fill()
        // Modes do not stop root, so the child becomes another user, to whom everything belongs.
        let user: uid_t = geteuid() == 0 ? 65_534 : geteuid()
        let files = ["", ".key", "-lease"].map { self.path + $0 }
        for file in files + [self.folder.path] {
            if geteuid() == 0 { #expect(chown(file, user, user) == 0) }
            #expect(chmod(file, file == self.folder.path ? 0o500 : 0o400) == 0)
        }
        let outcome = try await Exerciser.run("action=insert", "store=\(self.path)", "user=\(user)")
        #expect(outcome.lines.last == "storeReadOnly")
        for file in files + [self.folder.path] {
            if geteuid() == 0 { #expect(chown(file, 0, 0) == 0) }
            #expect(chmod(file, file == self.folder.path ? 0o700 : 0o600) == 0)
        }
        try await self.expectIntact()
    }

    @Test func aFullDatabaseKeepsWhatItHas() async throws {
        var options = SQLiteOptions()
        options.maximumPageCount = 16
        let store = ActivationStore.sqlite(path: self.path, sealingKey: nil, options: options)
        var stored: [String] = []
        let failure = await errorCode {
            for number in 0..<1_000 {
                try await store.insert(ActivationStoreConformance.record("a\(number)"))
                stored.append("a\(number)")
            }
        }
        #expect(failure == .storeFull)
        #expect(try await store.activationIDs() == stored)
        try await store.update("a0") { $0.takeMove() }
        await store.close()
        let again = ActivationStore.sqlite(path: self.path)
        #expect(try await again.activationIDs() == stored)
        #expect(try await again.record(of: "a0")?.history.moves == 507)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "mounting a file system takes root"))
    func aFullDiskKeepsWhatWasStoredAndServesAgainOnceThereIsRoom() async throws {
        let disk = try SmallDisk(at: self.folder.file("disk"), size: "400k")
        let store = ActivationStore.sqlite(path: disk.path + "/store.sqlite")
        try await store.insert(ActivationStoreConformance.sparseRecord("a0"))
        try disk.fill()
        var taken: UInt64 = 0
        await expectError(.storeFull) { while true { taken = try await store.update("a0") { $0.takeMove() } + 1 } }
        #expect(try await store.record(of: "a0")?.history.moves == taken)
        try disk.makeRoom()
        #expect(try await store.update("a0") { $0.takeMove() } == taken)
        await store.close()
    }

    /// The log cannot grow any more, as under a quota.
    @Test func aFileThatMayNotGrowKeepsWhatWasStored() async throws {
        try await self.fill()
        let journal = self.folder.file("journal")
        let outcome = try await Exerciser.run(
            "action=take",
            "store=\(self.path)",
            "activation=a0",
            "journal=\(journal)",
            "file-size-limit=60000"
        )
        #expect(outcome.lines.last == "storeFull")
        let used = String(decoding: contents(of: journal), as: UTF8.self).split(separator: "\n").compactMap {
            UInt64($0)
        }
        #expect(used.count > 3)
        let store = ActivationStore.sqlite(path: self.path)
        #expect(try await store.update("a0") { $0.takeMove() } == (used.last ?? 0) + 1)
    }

    // MARK: Damage

    @Test func whatIsNoDatabaseIsCalledDamaged() async throws {
        try await self.fill()
        let handle = try #require(FileHandle(forWritingAtPath: self.path))
        try handle.write(contentsOf: Data("not a database at all".utf8))
        try handle.close()
        #expect(await self.codeOfOpening() == .storeCorrupted)
    }

    /// Whatever byte is changed: the record comes back as it was, or an error says what is wrong.
    @Test func damageIsNeverMistakenForState() async throws {
        try await self.fill(3)
        let intact = contents(of: self.path)
        let sealingKey = SealingKey.file(self.path + ".key")
        var refused = 0
        var offset = 0
        while offset < intact.count {
            let folder = try TemporaryFolder()
            let path = folder.file("store.sqlite")
            var damaged = intact
            damaged[offset] ^= 0x55
            #expect(
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(damaged),
                    attributes: [.posixPermissions: 0o600]
                )
            )
            let store = ActivationStore.sqlite(path: path, sealingKey: sealingKey)
            do {
                for id in try await store.activationIDs() {
                    guard let record = try await store.record(of: id) else { continue }
                    #expect(record == ActivationStoreConformance.record(id), "byte \(offset) changed a record")
                }
            } catch let error as MobileTokenError {
                refused += 1
                let names: [MobileTokenError.Code] = [
                    .storeCorrupted, .storeWrongSealingKey, .storeFromFuture, .storeUnreadable, .storeFull,
                ]
                #expect(names.contains(error.code), "byte \(offset): \(error)")
            }
            offset += 149
        }
        #expect(refused > 10)
    }

    @Test(arguments: [
        "UPDATE activation SET counter = NULL",
        "DELETE FROM field WHERE name = 'open-fields-tag'",
        "UPDATE activation SET counter = x'00'",
        "UPDATE field SET value = CAST('3.1' AS BLOB) WHERE name = 'version'",
        "DELETE FROM field WHERE name = 'name'",
        "UPDATE field SET is_sealed = 0 WHERE name = 'possession-key'",
        "UPDATE activation AS a SET counter = (SELECT counter FROM activation WHERE slot = 2) WHERE slot = 1",
        "UPDATE activation SET slot = 9223372036854775807 WHERE slot = 1",
        "UPDATE activation SET slot = -1 WHERE slot = 1",
        "UPDATE field AS f SET value = (SELECT value FROM field WHERE slot = 2 AND name = f.name) WHERE slot = 1",
        """
        UPDATE field AS f SET value = (SELECT value FROM field WHERE slot = 1 AND name =
            CASE f.name WHEN 'possession-key' THEN 'transport-key' ELSE 'possession-key' END)
        WHERE slot = 1 AND name IN ('possession-key', 'transport-key')
        """,
    ])
    func valuesThatWereChangedOrExchangedAreNoticed(sql: String) async throws {
        try await self.fill(2)
        try spoil(sql, at: self.path)
        let store = ActivationStore.sqlite(path: self.path)
        #expect(await errorCode { _ = try await store.record(of: "a0") } == .storeCorrupted)
        #expect(await errorCode { try await store.update("a0") { _ = $0.takeMove() } } == .storeCorrupted)
    }

    @Test func aLogThatWasCutShortIsMadeUpForAndMakesTheServerTheJudge() async throws {
        let journal = self.folder.file("journal")
        try await self.fill()
        try await self.settle()
        // Killed, so that nobody tidies up: the log holds the latest changes.
        _ = try await Exerciser.run(
            "action=take",
            "store=\(self.path)",
            "activation=a0",
            "journal=\(journal)",
            "count=20",
            "die"
        )
        let log = contents(of: self.path + "-wal")
        try #require(log.count > 20 * 4_096)
        #expect(truncate(self.path + "-wal", log.count / 2) == 0)

        // Without the lease file the loss shows.
        let copy = try TemporaryFolder()
        for suffix in ["", "-wal", ".key"] {
            try FileManager.default.copyItem(atPath: self.path + suffix, toPath: copy.file("store.sqlite") + suffix)
        }
        let lost = ActivationStore.sqlite(path: copy.file("store.sqlite"))
        #expect(try #require(try await lost.record(of: "a0")).history.moves < 507 + 20, "nothing was cut off")

        let store = ActivationStore.sqlite(path: self.path)
        let record = try #require(try await store.record(of: "a0"))
        #expect(record.history.moves == 507 + 20)
        #expect(record.isUnsettled)
        // Changes the record as synchronisation does.
        try await store.update("a0") { record in
            #expect(record.isUnsettled)
            #expect(record.history.moves == 507 + 20)
            record.isUnsettled = false
        }
        #expect(try await store.record(of: "a0")?.isUnsettled == false)
    }

    @Test func aDatabaseFromABackupMakesTheServerTheJudge() async throws {
        try await self.fill()
        try await self.settle()
        let backup = contents(of: self.path)
        try await self.settle()
        try Data(backup).write(to: URL(fileURLWithPath: self.path))
        #expect(chmod(self.path, 0o600) == 0)
        let store = ActivationStore.sqlite(path: self.path)
        try await store.update("a0") { #expect($0.isUnsettled) }
        #expect(try await store.record(of: "a0")?.isUnsettled == true)
    }

    // MARK: Other versions, other databases

    @Test func aStoreFromTheFutureIsLeftAlone() async throws {
        try await self.fill()
        try spoil("PRAGMA user_version = 99", at: self.path)
        let before = contents(of: self.path)
        #expect(await self.codeOfOpening() == .storeFromFuture)
        #expect(contents(of: self.path) == before)
        try spoil("PRAGMA user_version = \(SQLiteSchema.activationStore.currentVersion)", at: self.path)
        try await self.expectIntact()
    }

    @Test(arguments: [-1, Int32.min]) func aVersionBelowZeroIsRefused(version: Int32) async throws {
        try await self.fill()
        try spoil("PRAGMA user_version = \(version)", at: self.path)
        #expect(await self.codeOfOpening() == .storeUnreadable)
        try spoil("PRAGMA user_version = \(SQLiteSchema.activationStore.currentVersion)", at: self.path)
        try await self.expectIntact()
    }

    @Test func anotherProgramsDatabaseIsLeftAlone() async throws {
        try spoil("CREATE TABLE theirs (value); INSERT INTO theirs VALUES (1)", at: self.path)
        #expect(chmod(self.path, 0o600) == 0)
        let before = contents(of: self.path)
        #expect(await self.codeOfOpening() == .storeUnreadable)
        #expect(contents(of: self.path) == before)
    }

    @Test func aClosedStoreSaysSo() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        try await store.open()
        await store.close()
        #expect(await errorCode { _ = try await store.activationIDs() } == .storeClosed)
    }

    // MARK: What the files tell

    @Test func removedActivationsLeaveNoBytesBehind() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        for number in 0..<5 { try await store.insert(ActivationStoreConformance.record("activation-\(number)")) }
        try await store.remove("activation-3")
        let files = ["", "-wal"].map { contents(of: self.path + $0) }.reduce([], +)
        #expect(files.firstRange(of: Array("activation-2".utf8)) != nil)
        #expect(files.firstRange(of: Array("activation-3".utf8)) == nil)
    }

    @Test func noSecretIsFoundInTheFiles() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        let record = ActivationStoreConformance.record("a0", secrets: 0x61)
        try await store.insert(record)
        for _ in 0..<20 { try await store.update("a0") { $0.takeMove() } }
        let keys = try #require(record.version3)
        let secrets =
            [
                keys.possessionKey, keys.transportKey, keys.encryptedKnowledgeKey,
                keys.encryptedDevicePrivateKey, record.counter.data,
            ] + [keys.encryptedBiometryKey].compactMap(\.self) + record.tokens.values.map(\.secret)
        #expect(secrets.count == 7)
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
        let files = names.map { contents(of: self.folder.file($0)) }.reduce([], +)
        for secret in secrets {
            let bytes = secret.withUnsafeBytes { Array($0) }
            // Eight bytes of it, or their text, would be enough to look for.
            for text in [
                bytes, Array(Data(bytes).base64EncodedData()), bytes.flatMap { Array(String($0, radix: 16).utf8) },
            ] {
                #expect(files.firstRange(of: text.prefix(8)) == nil)
            }
        }
        // A public key is there to be found, so the search works.
        #expect(files.firstRange(of: keys.devicePublicKey) != nil)
    }
}
