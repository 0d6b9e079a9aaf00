import Basics
import DecisionReceipts
import Foundation
import PowerAuth
public import PowerAuthClient

extension ReceiptArchive {
    private static let pageSize = 256

    /// The result of an export.
    public struct Export: Sendable, Hashable {
        /// The number of entries written.
        public let entryCount: Int
        /// The number of the last entry in the files; 0 if there is none.
        public let lastNumber: UInt64
        /// The digest of the last line; `nil` if there is none.
        public let head: [UInt8]?
        /// The number of bytes left by an interrupted export, which were cut off first.
        public let removedByteCount: Int
        /// The numbers of written entries that the store could not open. Their lines say only that.
        public let unreadableNumbers: [UInt64]
    }

    /// Writes the receipts added to a client's store since the last export.
    ///
    /// - Throws: The errors of ``export(from:)``.
    @discardableResult
    public func export(from client: MobileTokenClient) async throws -> Export {
        try await self.export(from: client.store)
    }

    /// Writes the receipts added to a store since the last export.
    ///
    /// - Throws:
    ///   ``MobileTokenError/Code/receiptsDiffer`` if the files do not end with the store's entry of that number: they are of another store, or the store was restored from a backup. `storePermissions` if others may change the folder or its last file. ``ReceiptFault`` if a line of the last file was changed. Nothing is written then. `storeBusy` while another process writes to the folder, `storeFull`,
    ///   and errors of the store.
    @discardableResult
    public func export(from store: ActivationStore) async throws -> Export {
        let lock = try FolderLock(self.folder)
        var end = try self.end()
        try await self.check(end, against: store)
        var (count, unreadable) = (0, [UInt64]())
        while true {
            let last = end.number
            let page = try await MobileTokenError.mapStoreErrors {
                try await store.receiptEntries(after: last, limit: Self.pageSize)
            }
            guard !page.isEmpty else { break }
            try self.append(page, to: &end)
            count += page.count
            unreadable += page.filter { $0.content == .unreadable }.map(\.number)
        }
        // Only the files matter: an outdated figure fails no export.
        try? await store.noteExport(upTo: end.number, at: Date())
        withExtendedLifetime(lock) {}
        return Export(
            entryCount: count,
            lastNumber: end.number,
            head: end.chain.head,
            removedByteCount: end.removedByteCount,
            unreadableNumbers: unreadable
        )
    }

    /// Verifies that the files hold unchanged entries of a store, up to one that the store still has.
    ///
    /// - Returns: The numbers of their entries; `nil` if they hold none.
    /// - Throws:
    ///   ``ReceiptFault`` for the first changed line, ``MobileTokenError/Code/receiptsDiffer`` if the files are of another store, `storeBusy`
    ///   while another process writes to the folder, and errors of the store.
    package func verifiedNumbers(in store: ActivationStore) async throws -> ClosedRange<UInt64>? {
        guard PrivateFile.exists(self.folder) else { return nil }
        let lock = try FolderLock(self.folder)
        defer { withExtendedLifetime(lock) {} }
        let verification = try self.verify()
        if let fault = verification.fault { throw fault }
        try await self.check(try self.end(), against: store)
        guard let first = verification.firstNumber, let last = verification.lastNumber else { return nil }
        return first...max(first, last)
    }

    /// Appends a line that signs all earlier lines with an activation's device key.
    ///
    /// The server unlocks the key, which requires two factors and consumes a counter value.
    ///
    /// - Throws: ``MobileTokenError``, also if there is nothing to sign.
    public func sign(with activation: Activation, _ authentication: Activation.Authentication) async throws {
        let lock = try FolderLock(self.folder)
        var end = try self.end()
        guard let head = end.chain.head else {
            throw MobileTokenError(.receiptsDiffer, "There are no exported receipts in \(self.folder) to sign")
        }
        let signature = ReceiptSignature(
            activationID: activation.activationID,
            devicePublicKey: try await activation.compressedDevicePublicKey(),
            localDate: activation.localDate,
            signature: try await activation.signWithDeviceKey(
                ReceiptSignature.message(head: head),
                with: authentication
            )
        )
        try self.append([ReceiptLine(.signature(signature), previous: head)], to: &end)
        withExtendedLifetime(lock) {}
    }

    struct End {
        var chain = ReceiptChain()
        /// The number of the last file; 0 if there is none.
        var file = 0
        var fileByteCount = 0
        var removedByteCount = 0
        /// The number of the last entry; 0 if there is none.
        var number: UInt64 { self.chain.latest?.number ?? 0 }
    }

    /// Reads the last files, cuts off the remains of an interrupted export, and returns the position to continue from.
    func end() throws -> End {
        var end = End()
        // After a crash a file may hold only signatures, or nothing: then the end is in an earlier one.
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
            if (try? ReceiptLine(parsing: bytes))?.number != nil { return true }
        }
        return false
    }

    /// Throws if the store's journal does not continue the chain.
    private func check(_ end: End, against store: ActivationStore) async throws {
        guard let place = end.chain.latest else { return }
        let entry = try await MobileTokenError.mapStoreErrors {
            try await store.receiptEntries(after: place.number - 1, limit: 1).first
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

    func number(after last: UInt64) throws -> UInt64 {
        guard last < .max else {
            throw MobileTokenError(
                .receiptsDiffer,
                "The files in \(self.folder) end with the last number that there is: export to another folder"
            )
        }
        return last + 1
    }

    private func append(_ entries: [DecisionReceipt.Entry], to end: inout End) throws {
        var (lines, head, number) = ([ReceiptLine](), end.chain.head ?? ReceiptChain.start, end.number)
        for entry in entries {
            number = try self.number(after: number)
            guard entry.number == number else {
                throw MobileTokenError(.storeCorrupted, "The store has no entry \(number) of the receipts")
            }
            let line = ReceiptLine(.entry(entry), previous: head)
            lines.append(line)
            head = line.digest
        }
        try self.append(lines, to: &end)
    }

    /// Appends lines as one group to the last file, or to a new one.
    func append(_ lines: [ReceiptLine], to end: inout End) throws {
        for line in lines { try end.chain.add(line.bytes) }
        if end.file == 0 || end.fileByteCount >= self.maximumFileByteCount {
            (end.file, end.fileByteCount) = (end.file.addingSaturated(1), 0)
        }
        var file = try ReceiptFile(path: self.folder + "/" + Self.name(ofFile: end.file), isWritable: true)
        let bytes = lines.flatMap { $0.bytes + [UInt8(ascii: "\n")] }
        try file.append(bytes)
        end.fileByteCount += bytes.count
    }
}
