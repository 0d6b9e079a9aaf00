import Coordination
import Foundation
import PowerAuth

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
/// the page *Receipts* of `MobileToken` tells.
public actor ReceiptArchive {
    /// The folder of the files.
    public nonisolated let folder: String
    /// Files block, so they are read and written on a queue of this archive's own; see `QueueExecutor`.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let executor = QueueExecutor(label: "receipt-archive")
    let maximumFileByteCount: Int

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

    static func name(ofFile number: Int) -> String {
        "receipts-" + String(1_000_000 + number).dropFirst() + ".jsonl"
    }

    static func number(ofFile name: String) -> Int? {
        guard name.utf8.count == "receipts-000001.jsonl".utf8.count,
            let number = Int(String(decoding: name.utf8.dropFirst(9).prefix(6), as: UTF8.self)), number > 0,
            name.utf8.elementsEqual(self.name(ofFile: number).utf8)
        else { return nil }
        return number
    }
}
