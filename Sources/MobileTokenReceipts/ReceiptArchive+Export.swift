import Foundation
public import PowerAuth

extension ReceiptArchive {
    private static let pageSize = 256

    /// The result of an export.
    public struct Export: Sendable, Hashable {
        /// The number of entries that were written.
        public let entryCount: Int
        /// The number of the last entry in the files; 0 when there is none.
        public let lastNumber: UInt64
        /// The digest of the last line; `nil` when there is none.
        public let head: [UInt8]?
        /// The number of bytes that an interrupted export had left, and that were cut off first.
        public let removedByteCount: Int
        /// The numbers of those entries, among the ones that were written, which the store could not open. Their lines say no
        /// more than that.
        public let unreadableNumbers: [UInt64]
    }

    /// Writes the receipts of a client's store that were added since the last export.
    ///
    /// - Throws: The errors of ``export(from:)``.
    @discardableResult
    public func export(from client: MobileTokenClient) async throws -> Export {
        try await self.export(from: client.store)
    }

    /// Writes the receipts of a store that were added since the last export.
    ///
    /// - Throws: ``MobileTokenError/Code/receiptsDiffer`` when the files do not end with what the store has at that place: they
    ///   are of another store, or the store was put back. `storePermissions` when others may change the
    ///   folder or its last file. ``ReceiptFault`` when a line of the last file was changed. Nothing is written then. `storeBusy`
    ///   while another process writes to the folder, `storeFull`, and what the store throws.
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
        // The files are what counts: a figure that is old makes no export fail.
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

    /// Shows that the files hold entries of a store, unchanged and up to one that the store has as well.
    ///
    /// - Returns: The numbers of the entries that they hold; `nil` when they hold none.
    /// - Throws: ``ReceiptFault`` for the first line that was changed, ``MobileTokenError/Code/receiptsDiffer`` when the files
    ///   are of another store, `storeBusy` while another process writes to the folder, and what the store throws.
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

    /// The end of the files.
    struct End {
        var chain = ReceiptChain()
        /// The number of the last file; 0 when there is none.
        var file = 0
        var fileByteCount = 0
        var removedByteCount = 0
        /// The number of the last entry; 0 when there is none.
        var number: UInt64 { self.chain.latest?.number ?? 0 }
    }

    /// Reads the last files, cuts off what an interrupted export left, and finds where to go on.
    func end() throws -> End {
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
            if (try? ReceiptLine(parsing: bytes))?.number != nil { return true }
        }
        return false
    }

    /// Refuses to continue a chain with the entries of another journal.
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

    private func append(_ entries: [DecisionReceipt.Entry], to end: inout End) throws {
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
    func append(_ lines: [ReceiptLine], to end: inout End) throws {
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
