import Coordination
import Foundation
import PowerAuthClient

/// A folder of exported receipts: files of lines, each with the digest of the previous one.
///
/// ```swift
/// let archive = ReceiptArchive(folder: "/var/lib/approval-bot/receipts")
/// try await archive.export(from: client)       // continues where the last export ended
/// let verification = try await archive.verify()
/// print(verification.fault?.description ?? "\(verification.counts.intents) decisions, nothing was changed")
/// ```
///
/// The files are `receipts-000001.jsonl` and so on, accessible only to their owner; a new one begins when the last is large
/// enough. Lines are written in groups, each durable before the next. The page *Receipts* of `MobileToken` explains the lines and
/// what they prove.
public actor ReceiptArchive {
    /// The folder of the files.
    public nonisolated let folder: String
    /// The archive's own queue, because file access blocks; see `QueueExecutor`.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { self.executor.asUnownedSerialExecutor() }

    private let executor = QueueExecutor(label: "receipt-archive")
    let maximumFileByteCount: Int

    /// Creates an archive without opening anything.
    ///
    /// - Parameters:
    ///   - folder: Created, with mode 0700, by the first export.
    ///   - maximumFileByteCount: The size from which a file is not appended to.
    public init(folder: String, maximumFileByteCount: Int = 16 << 20) {
        self.folder = URL(fileURLWithPath: folder).path
        self.maximumFileByteCount = maximumFileByteCount
    }

    /// Returns the archive's files, oldest first.
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
