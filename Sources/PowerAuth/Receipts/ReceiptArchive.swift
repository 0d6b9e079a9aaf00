import Coordination
import Foundation
import Glibc

/// A folder of exported receipts: files of lines, each of which holds the digest of the one before.
///
/// ```swift
/// let archive = ReceiptArchive(folder: "/var/lib/approval-bot/receipts")
/// try await archive.export(from: client)       // continues where the last export ended
/// let verification = try await archive.verify()
/// print(verification.fault?.description ?? "\(verification.counts.intents) decisions, nothing was changed")
/// ```
///
/// The files are `receipts-000001.jsonl` and so on; a new one begins when the last is long enough. They are their owner's
/// alone. Lines are written in groups, each of which is on the disk before the next. What the lines hold, and what they prove,
/// is in <doc:Receipts>.
public actor ReceiptArchive {
    /// Where the files are.
    public nonisolated let folder: String
    /// Files block, so they are read and written on a queue of this archive's own; see ``QueueExecutor``.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let executor = QueueExecutor(label: "receipt-archive")
    private let maximumFileByteCount: Int

    /// Names an archive; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - folder: Made, with mode 0700, by the first export.
    ///   - maximumFileByteCount: A file that has as many bytes is not added to.
    public init(folder: String, maximumFileByteCount: Int = 16 << 20) {
        self.folder = URL(fileURLWithPath: folder).path
        self.maximumFileByteCount = maximumFileByteCount
    }

    /// Returns the files of the archive, oldest first.
    public nonisolated func files() throws -> [String] {
        guard PrivateFile.exists(self.folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: self.folder)
            .filter { Self.number(ofFile: $0) != nil }
            .sorted { (Self.number(ofFile: $0) ?? 0) < (Self.number(ofFile: $1) ?? 0) }
            .map { self.folder + "/" + $0 }
    }

    private static func name(ofFile number: Int) -> String {
        "receipts-" + String(1_000_000 + number).dropFirst() + ".jsonl"
    }

    private static func number(ofFile name: String) -> Int? {
        guard name.utf8.count == "receipts-000001.jsonl".utf8.count,
            let number = Int(String(decoding: name.utf8.dropFirst(9).prefix(6), as: UTF8.self)), number > 0,
            name.utf8.elementsEqual(self.name(ofFile: number).utf8)
        else { return nil }
        return number
    }
}

// MARK: - Exporting

extension ReceiptArchive {
    private static let pageSize = 256

    /// What an export did.
    public struct Export: Sendable, Hashable {
        /// How many entries were written.
        public let entryCount: Int
        /// The number of the last entry in the files; 0 when there is none.
        public let lastNumber: UInt64
        /// The digest of the last line; `nil` when there is none.
        public let head: [UInt8]?
        /// How many bytes of an export that was interrupted were cut off first.
        public let removedByteCount: Int
        /// The numbers of those entries, among the ones that were written, which the store could not open. Their lines say no
        /// more than that.
        public let unreadableNumbers: [UInt64]
    }

    /// Writes the receipts of a client's store that were added since the last export.
    ///
    /// - Throws: ``MobileTokenError/Code/receiptsNotKept`` when the store is no ``DecisionJournal``, and what the export of a
    ///   journal throws.
    @discardableResult
    public func export(from client: MobileTokenClient) async throws -> Export {
        try await self.export(from: try client.journal)
    }

    /// Writes the receipts of a store that were added since the last export.
    ///
    /// - Throws: ``MobileTokenError/Code/receiptsDiffer`` when the files do not end with what the store has at that place: they
    ///   are of another store, or the store was put back. ``ReceiptFault`` when a line of the last file was changed. Nothing is
    ///   written then. `storeBusy` while another process writes to the folder, `storeFull`, and what the store throws.
    @discardableResult
    public func export(from journal: any DecisionJournal) async throws -> Export {
        let lock = try FolderLock(self.folder)
        var end = try self.end()
        try await self.check(end, against: journal)
        var (count, unreadable) = (0, [UInt64]())
        while true {
            let last = end.number
            let page = try await MobileTokenError.mapStoreErrors {
                try await journal.receiptEntries(after: last, limit: Self.pageSize)
            }
            guard !page.isEmpty else { break }
            try self.append(page, to: &end)
            count += page.count
            unreadable += page.filter { $0.content == .unreadable }.map(\.number)
        }
        // The files are what counts: a figure that is old makes no export fail.
        try? await (journal as? any PrunableJournal)?.noteExport(upTo: end.number, at: Date())
        withExtendedLifetime(lock) {}
        return Export(
            entryCount: count,
            lastNumber: end.number,
            head: end.chain.head,
            removedByteCount: end.removedByteCount,
            unreadableNumbers: unreadable
        )
    }

    /// Shows that the files hold entries of a store, unchanged and up to one that the store has as well.
    ///
    /// - Returns: The numbers of the entries that they hold; `nil` when they hold none.
    /// - Throws: ``ReceiptFault`` for the first line that was changed, ``MobileTokenError/Code/receiptsDiffer`` when the files
    ///   are of another store, `storeBusy` while another process writes to the folder, and what the store throws.
    package func verifiedNumbers(in journal: any DecisionJournal) async throws -> ClosedRange<UInt64>? {
        guard PrivateFile.exists(self.folder) else { return nil }
        let lock = try FolderLock(self.folder)
        defer { withExtendedLifetime(lock) {} }
        let verification = try self.verify()
        if let fault = verification.fault { throw fault }
        try await self.check(try self.end(), against: journal)
        guard let first = verification.firstNumber, let last = verification.lastNumber else { return nil }
        return first...max(first, last)
    }

    /// Adds a line that signs all lines before, with the device's key of an activation.
    ///
    /// The server unlocks the key, so two factors are needed, and a value of the counter is used up.
    ///
    /// - Throws: ``MobileTokenError``, also when there is nothing to sign.
    public func sign(with activation: Activation, _ authentication: Authentication) async throws {
        let lock = try FolderLock(self.folder)
        var end = try self.end()
        guard let head = end.chain.head else {
            throw MobileTokenError(.receiptsDiffer, "There are no exported receipts in \(self.folder) to sign")
        }
        let signature = ReceiptSignature(
            activationID: activation.activationID,
            devicePublicKey: try await activation.withStoredDialect {
                try $0.devicePublicKey(of: try await activation.storedRecord())
            },
            localDate: activation.server.clocks.reading.wall.inWholeMilliseconds,
            signature: try await activation.signWithDeviceKey(
                ReceiptSignature.message(head: head),
                with: authentication
            )
        )
        try self.append([ReceiptLine(.signature(signature), previous: head)], to: &end)
        withExtendedLifetime(lock) {}
    }

    /// Where the files end.
    private struct End {
        var chain = ReceiptChain()
        /// The number of the last file; 0 when there is none.
        var file = 0
        var fileByteCount = 0
        var removedByteCount = 0
        /// The number of the last entry; 0 when there is none.
        var number: UInt64 { self.chain.latest?.number ?? 0 }
    }

    /// Reads the last files, cuts off what an interrupted export left, and finds where to go on.
    private func end() throws -> End {
        var end = End()
        // A file may hold signatures alone, or nothing, after a crash: then the end is in an earlier one.
        let files = try self.files()
        let first = try files.lastIndex { try Self.hasEntry($0) } ?? files.startIndex
        for path in files[first...] {
            var file = try ReceiptFile(path: path, isWritable: true)
            end.removedByteCount += try end.chain.add(&file, isLast: path == files.last)
            if end.removedByteCount > 0 { try file.cutRest() }
            end.file = Self.number(ofFile: (path as NSString).lastPathComponent) ?? 0
            end.fileByteCount = file.byteCount
        }
        return end
    }

    private static func hasEntry(_ path: String) throws -> Bool {
        var file = try ReceiptFile(path: path, isWritable: false)
        while case .line(let bytes) = try file.next() {
            if case .entry = try? ReceiptLine(parsing: bytes).content { return true }
        }
        return false
    }

    /// Refuses to continue a chain with the entries of another journal.
    private func check(_ end: End, against journal: any DecisionJournal) async throws {
        guard let place = end.chain.latest else { return }
        let entry = try await MobileTokenError.mapStoreErrors {
            try await journal.receiptEntries(after: place.number - 1, limit: 1).first
        }
        let digest = entry.map { ReceiptLine(.entry($0), previous: place.previous).digest }
        guard digest == place.digest else {
            throw MobileTokenError(
                .receiptsDiffer,
                """
                Entry \(place.number) of \(self.folder) is not that of the store: one of them was changed or put back, or they \
                do not belong together. Export to another folder
                """
            )
        }
    }

    private func append(_ entries: [ReceiptEntry], to end: inout End) throws {
        var (lines, head, number) = ([ReceiptLine](), end.chain.head ?? ReceiptChain.start, end.number)
        for entry in entries {
            number += 1
            guard entry.number == number else {
                throw MobileTokenError(.storeCorrupted, "The store has no entry \(number) of the receipts")
            }
            let line = ReceiptLine(.entry(entry), previous: head)
            lines.append(line)
            head = line.digest
        }
        try self.append(lines, to: &end)
    }

    /// Writes lines as one group, on to the last file or into a new one.
    private func append(_ lines: [ReceiptLine], to end: inout End) throws {
        for line in lines { try end.chain.add(line.bytes) }
        if end.file == 0 || end.fileByteCount >= self.maximumFileByteCount {
            (end.file, end.fileByteCount) = (end.file + 1, 0)
        }
        var file = try ReceiptFile(path: self.folder + "/" + Self.name(ofFile: end.file), isWritable: true)
        let bytes = lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] }
        try file.append(bytes)
        end.fileByteCount += bytes.count
    }
}

// MARK: - Verifying

extension ReceiptArchive {
    /// Checks every line of the archive against those before it.
    ///
    /// - Parameter devicePublicKeys: Keys of activations that are known from elsewhere, compressed, by activation: signatures
    ///   of these must be by them.
    /// - Throws: ``MobileTokenError`` when a file cannot be read. What is wrong with a line is in the result.
    public func verify(devicePublicKeys: [String: [UInt8]] = [:]) throws -> ReceiptVerification {
        try Self.verify(files: self.files(), devicePublicKeys: devicePublicKeys)
    }

    /// Checks every line of files, which follow each other in the order given; see ``verify(devicePublicKeys:)``.
    public nonisolated static func verify(
        files: [String],
        devicePublicKeys: [String: [UInt8]] = [:]
    ) throws -> ReceiptVerification {
        var chain = ReceiptChain(devicePublicKeys: devicePublicKeys)
        var verification = ReceiptVerification()
        do {
            for (index, path) in files.enumerated() {
                var file = try ReceiptFile(path: path, isWritable: false)
                verification.tornByteCount = try chain.add(&file, isLast: index == files.count - 1)
            }
        } catch let fault as ReceiptFault {
            verification.fault = fault
        }
        verification.counts = chain.counts
        verification.firstNumber = chain.firstNumber
        verification.lastNumber = chain.latest?.number
        verification.head = chain.head
        verification.signatures = chain.signatures
        return verification
    }
}

// MARK: - Reading

extension ReceiptArchive {
    /// Reads the receipts that the files hold, oldest first, each with its latest outcome. Every line is checked.
    ///
    /// - Throws: ``ReceiptFault`` for the first line that was changed, and when a file cannot be read.
    package func receipts() throws -> [DecisionReceipt] {
        let files = try self.files()
        var chain = ReceiptChain()
        var (intents, outcomes) = ([(number: UInt64, intent: RecordedIntent)](), [UInt64: DecisionOutcome]())
        for path in files {
            var file = try ReceiptFile(path: path, isWritable: false)
            _ = try chain.add(&file, isLast: path == files.last) { line in
                guard case .entry(let entry) = line.content else { return }
                switch entry.content {
                case .intent(let intent): intents.append((entry.number, intent))
                case .outcome(let outcome, let intent): outcomes[intent] = outcome
                case .unreadable: break
                }
            }
        }
        return intents.map { DecisionReceipt(number: $0.number, intent: $0.intent, outcome: outcomes[$0.number]) }
    }
}

extension ReceiptChain {
    /// Adds all lines of a file, and hands each on.
    ///
    /// - Returns: How many bytes follow the last whole line, in the last file.
    /// - Throws: ``ReceiptFault``, or when the file cannot be read.
    fileprivate mutating func add(
        _ file: inout ReceiptFile,
        isLast: Bool,
        each: (ReceiptLine) -> Void = { _ in }
    ) throws -> Int {
        var number = 0
        while true {
            number += 1
            do {
                switch try file.next() {
                case .line(let bytes): each(try self.add(bytes))
                case .rest(let rest):
                    guard rest.isEmpty || (isLast && rest.count <= ReceiptFile.maximumLineByteCount) else {
                        throw ReceiptFault.Reason.incomplete
                    }
                    return rest.count
                }
            } catch let reason as ReceiptFault.Reason {
                throw ReceiptFault(file: file.path, line: number, reason: reason)
            }
        }
    }
}

// MARK: - Erasing

extension ReceiptArchive {
    /// Erases personal data from the files. The chain holds as before.
    ///
    /// Each file that has such data is written anew and takes the place of the old one, whose bytes the file system may keep for
    /// some time. What follows the last whole line stays as it is: the next export removes it.
    ///
    /// - Returns: How many lines had personal data.
    /// - Throws: ``ReceiptFault`` for a line that cannot be read; files before it are done, and its own is left as it was.
    @discardableResult
    public func erase(_ selection: ReceiptSelection) throws -> Int {
        guard PrivateFile.exists(self.folder) else { return 0 }
        let lock = try FolderLock(self.folder)
        defer { withExtendedLifetime(lock) {} }
        return try self.files().reduce(0) { try $0 + self.erase(selection, in: $1) }
    }

    private func erase(_ selection: ReceiptSelection, in path: String) throws -> Int {
        var file = try ReceiptFile(path: path, isWritable: false)
        var (bytes, count, number) = ([UInt8](), 0, 0)
        while true {
            number += 1
            do {
                switch try file.next() {
                case .line(let line):
                    let parsed = try ReceiptLine(parsing: line)
                    let isSelected = parsed.intent.map { selection.selects($0) } ?? false
                    bytes += (isSelected ? parsed.erasedBytes : line) + [UInt8(ascii: "\n")]
                    if isSelected { count += 1 }
                case .rest(let rest):
                    guard rest.count <= ReceiptFile.maximumLineByteCount else { throw ReceiptFault.Reason.incomplete }
                    if count > 0 { try (bytes + rest).withUnsafeBytes { try PrivateFile.replace(path, with: $0) } }
                    return count
                }
            } catch let reason as ReceiptFault.Reason {
                throw ReceiptFault(file: path, line: number, reason: reason)
            }
        }
    }
}

extension ReceiptLine {
    fileprivate var intent: RecordedIntent? {
        guard case .entry(let entry) = self.content, case .intent(let intent) = entry.content else { return nil }
        return intent
    }
}

/// Keeps other processes from writing to a folder as long as it lives.
private final class FolderLock: Sendable {
    private let descriptor: Int32

    /// Makes the folder when it is missing.
    init(_ folder: String) throws {
        try PrivateFile.createFolder(folder)
        try PrivateFile.check(folder, isFolder: true, against: .change)
        self.descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard self.descriptor >= 0 else { throw MobileTokenError.system("open the folder", folder) }
        guard flock(self.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(self.descriptor)
            throw MobileTokenError(.storeBusy, "Another export to \(folder) is under way")
        }
    }

    deinit { close(self.descriptor) }
}
