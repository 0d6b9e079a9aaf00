public import DecisionReceipts
import PowerAuthClient

extension ReceiptArchive {
    /// Erases personal data from the files. The chain stays valid.
    ///
    /// Each file with such data is rewritten and replaced; the file system may keep the old bytes for some time. An incomplete
    /// last line stays; the next export removes it.
    ///
    /// - Returns: The number of lines that had personal data.
    /// - Throws: ``ReceiptFault`` for an unreadable line; earlier files are done, and its own is unchanged.
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
                    let isSelected = parsed.isSelected(by: selection)
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
    fileprivate func isSelected(by selection: ReceiptSelection) -> Bool {
        switch self.content {
        case .entry(let entry):
            guard case .intent(let intent) = entry.content else { return false }
            return selection.selects(intent)
        case .question(_, let receipt):
            // A question belongs to no activation of the store.
            return receipt.personal != nil && selection.activationID == nil
                && selection.decidedBefore.map { receipt.facts.ended < $0 } ?? true
        case .signature: return false
        }
    }
}
