import Foundation
import StoreTesting
import TestSupport
import Testing

@testable import MobileTokenReceipts
@testable import PowerAuthClient

/// Files of exported receipts: continued, rotated, cut short, changed, signed and erased.
@Suite(.timeLimit(.minutes(5)))
struct ReceiptArchiveTests {
    private let folder: TemporaryFolder
    private let path: String
    private let store = ActivationStore.inMemory()

    init() async throws {
        self.folder = try TemporaryFolder()
        self.path = self.folder.file("receipts")
        try await self.store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await self.store.insert(ActivationStoreConformance.sparseRecord("b"))
    }

    private var archive: ReceiptArchive { ReceiptArchive(folder: self.path) }

    private func decide(_ count: Int, with id: String = "a", second: Int = 0) async throws {
        for _ in 0..<count {
            let intent = ActivationStoreConformance.intent(id, "operation", second: second)
            let move = try await self.store.update(id, recording: intent) { $0.takeMove() + 1 }
            try await self.store.record(ActivationStoreConformance.outcome(.accepted), ofMove: move, of: id)
        }
    }

    private func lines(of file: String) -> [String] {
        String(decoding: contents(of: file), as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @Test func anExportGoesOnWhereTheLastOneEnded() async throws {
        #expect(try await self.archive.verify().counts.lines == 0)
        try await self.decide(3)
        #expect(try await self.archive.export(from: self.store).entryCount == 6)
        #expect(try await self.archive.export(from: self.store).entryCount == 0)
        try await self.decide(200)
        let export = try await self.archive.export(from: self.store)
        #expect(export.entryCount == 400)
        #expect(export.lastNumber == 406)

        let verification = try await self.archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.lines == 406)
        #expect(verification.counts.intents == 203)
        #expect(verification.counts.open == 0)
        #expect(verification.firstNumber == 1 && verification.lastNumber == 406)
        #expect(verification.head == export.head)
        #expect(mode(of: self.path) == 0o700)
        #expect(try self.archive.files().map { mode(of: $0) } == [0o600])
    }

    /// They could add lines, or put other files in place.
    @Test(arguments: [true, false]) func whatOthersMayChangeIsNotContinued(isFolder: Bool) async throws {
        try await self.decide(1)
        try await self.archive.export(from: self.store)
        let file = try #require(try self.archive.files().first)
        let (path, modes) = isFolder ? (self.path, [0o777, 0o770] as [mode_t]) : (file, [0o666, 0o620])
        try await self.decide(1)
        for mode in modes {
            #expect(chmod(path, mode) == 0)
            let before = contents(of: file)
            await expectError(.storePermissions) { try await self.archive.export(from: self.store) }
            #expect(contents(of: file) == before)
        }
        // An auditor may read them.
        #expect(chmod(self.path, 0o750) == 0 && chmod(file, 0o640) == 0)
        #expect(try await self.archive.export(from: self.store).entryCount == 2)
    }

    @Test func anOutcomeThatComesLaterIsExportedLater() async throws {
        let intent = ActivationStoreConformance.intent("a", "1")
        try await self.store.update("a", recording: intent) { _ = $0.takeMove() }
        try await self.archive.export(from: self.store)
        #expect(try await self.archive.verify().counts.open == 1)
        try await self.store.record(ActivationStoreConformance.outcome(.inferred), ofMove: 1, of: "a")
        try await self.archive.export(from: self.store)
        #expect(try await self.archive.verify().counts.open == 0)
    }

    @Test func aLongFileIsFollowedByAnother() async throws {
        let archive = ReceiptArchive(folder: self.path, maximumFileByteCount: 4_096)
        for _ in 0..<4 {
            try await self.decide(5)
            try await archive.export(from: self.store)
        }
        let files = try archive.files()
        #expect(files.map { ($0 as NSString).lastPathComponent }.first == "receipts-000001.jsonl")
        #expect(files.count == 4)
        #expect(try await archive.verify().counts.lines == 40)
        // The files follow each other as the lines do.
        let shuffled = try ReceiptArchive.verify(files: [files[0], files[2], files[1], files[3]])
        #expect(shuffled.fault == ReceiptFault(file: files[2], line: 1, reason: .brokenChain))
        #expect(try ReceiptArchive.verify(files: Array(files.dropFirst())).firstNumber == 11)
    }

    // MARK: Torn, and changed

    @Test(arguments: [1, 40]) func aLineCutShortIsToldFromTamperingAndWrittenAgain(kept: Int) async throws {
        try await self.decide(3)
        try await self.archive.export(from: self.store)
        let file = try #require(try self.archive.files().first)
        let whole = contents(of: file)
        let lastLine = try #require(self.lines(of: file).last)
        #expect(truncate(file, whole.count - lastLine.utf8.count - 1 + kept) == 0)

        let torn = try await self.archive.verify()
        #expect(torn.isIntact)
        #expect(torn.tornByteCount == kept)
        #expect(torn.counts.lines == 5)
        let export = try await self.archive.export(from: self.store)
        #expect(export.removedByteCount == kept)
        #expect(export.entryCount == 1)
        #expect(contents(of: file) == whole)
    }

    @Test func aFileCutShortInTheMiddleIsTampering() async throws {
        let archive = ReceiptArchive(folder: self.path, maximumFileByteCount: 1)
        for _ in 0..<2 {
            try await self.decide(1)
            try await archive.export(from: self.store)
        }
        let files = try archive.files()
        #expect(truncate(files[0], contents(of: files[0]).count - 5) == 0)
        #expect(try await archive.verify().fault == ReceiptFault(file: files[0], line: 2, reason: .incomplete))
    }

    @Test func aChangedLineIsNamedAndNotContinued() async throws {
        try await self.decide(3)
        try await self.archive.export(from: self.store)
        let file = try #require(try self.archive.files().first)
        let text = String(decoding: contents(of: file), as: UTF8.self)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        lines[2] = lines[2].replacing(#""attempt":2"#, with: #""attempt":1"#)
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: file))

        let expected = ReceiptFault(file: file, line: 4, reason: .brokenChain)
        let verification = try await self.archive.verify()
        #expect(verification.fault == expected)
        #expect(verification.counts.lines == 3)
        try await self.decide(1)
        await #expect(throws: expected) { try await self.archive.export(from: self.store) }
        #expect(try await self.archive.verify().counts.lines == 3)
    }

    @Test func theEntriesOfAnotherStoreAreNotAppended() async throws {
        try await self.decide(2)
        try await self.archive.export(from: self.store)
        let other = ActivationStore.inMemory()
        for count in 0..<3 {
            if count > 0 {
                let intent = ActivationStoreConformance.intent("a", "1")
                if count == 1 { try await other.insert(ActivationStoreConformance.sparseRecord("a")) }
                for _ in 0..<3 { try await other.update("a", recording: intent) { _ = $0.takeMove() } }
            }
            await expectError(.receiptsDiffer) { try await self.archive.export(from: other) }
        }
        #expect(try await self.archive.verify().counts.lines == 4)
    }

    @Test func aFullDiskLeavesWhatWasThere() async throws {
        guard SmallDisk.isPossible else { return }
        let disk = try SmallDisk(at: self.folder.file("disk"), size: "64k")
        let archive = ReceiptArchive(folder: disk.path + "/receipts")
        try await self.decide(3)
        try await archive.export(from: self.store)
        try disk.fill()
        try await self.decide(200)
        await expectError(.storeFull) { try await archive.export(from: self.store) }
        #expect(try await archive.verify().isIntact)
    }

    // MARK: Personal data

    @Test func whatFollowsTheLastWholeLineIsKept() async throws {
        try await self.decide(2)
        try await self.archive.export(from: self.store)
        let file = try #require(try self.archive.files().first)
        let torn = Data(#"{"entry":5,"intent"#.utf8)
        try (Data(contents(of: file)) + torn).write(to: URL(filePath: file))
        #expect(try await self.archive.erase(.activation("a")) == 2)
        #expect(Data(contents(of: file)).suffix(torn.count) == torn)
        #expect(try await self.archive.verify().tornByteCount == torn.count)
        // A line that nobody can read is nobody's to throw away, nor what comes after it.
        let long = Data(repeating: UInt8(ascii: "a"), count: ReceiptFile.maximumLineByteCount + (1 << 20))
        try await self.decide(1)
        try await self.archive.export(from: self.store)
        let before = Data(contents(of: file)) + long + Data("\nlast\n".utf8)
        try before.write(to: URL(filePath: file))
        let fault = await #expect(throws: ReceiptFault.self) { try await self.archive.erase(.activation("a")) }
        #expect(fault?.reason == .incomplete)
        #expect(Data(contents(of: file)) == before)
    }

    @Test func erasedFilesVerifyAsBeforeAndAreContinued() async throws {
        let archive = ReceiptArchive(folder: self.path, maximumFileByteCount: 2_048)
        for second in 0..<4 {
            try await self.decide(2, second: second)
            try await self.decide(2, with: "b", second: second)
            try await archive.export(from: self.store)
        }
        let before = try await archive.verify()
        let date = ActivationStoreConformance.intent("a", "", second: 2).localDate
        for selection in [ReceiptSelection.activation("a"), .decided(before: date)] {
            let erased = try await self.store.eraseReceipts(selection)
            #expect(try await archive.erase(selection) == erased)
            #expect(try await archive.erase(selection) == 0)
        }
        let after = try await archive.verify()
        #expect(after.isIntact)
        #expect(after.head == before.head)
        #expect(after.counts.erased == 12)
        #expect(after.counts.lines == before.counts.lines)
        let texts = try archive.files().flatMap { self.lines(of: $0) }
        #expect(texts.count { $0.contains("A100CZK") } == 4)
        #expect(texts.allSatisfy { !$0.contains(#""activation":"a""#) || !$0.contains("A100CZK") })

        try await self.decide(1)
        #expect(try await archive.export(from: self.store).entryCount == 2)
        #expect(try await archive.verify().isIntact)
    }

    // MARK: The head

    @Test func theHeadCanBeSignedWithTheDevicesKey() async throws {
        let activation = try await Fixture(store: self.store).activate()
        let authentication = Fixture.twoFactors
        await expectError(.receiptsDiffer) { try await self.archive.sign(with: activation, authentication) }

        try await self.decide(2)
        let head = try await self.archive.export(from: self.store).head
        try await self.archive.sign(with: activation, authentication)
        try await self.decide(1)
        try await self.archive.export(from: self.store)
        let verification = try await self.archive.verify()
        #expect(verification.isIntact)
        #expect(verification.counts.lines == 7)
        let signature = try #require(verification.signatures.first)
        let record = try #require(try await self.store.record(of: activation.activationID))
        #expect(signature.devicePublicKey == record.version3?.devicePublicKey)
        #expect(signature.isValid(head: try #require(head)))
        #expect(
            try await self.archive.verify(devicePublicKeys: [activation.activationID: head ?? []]).isIntact == false
        )
    }
}
