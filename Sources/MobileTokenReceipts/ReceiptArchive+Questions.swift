import Basics
import PowerAuth

extension ReceiptArchive {
    /// The questions that the files have a receipt of, by key: in which state it ended, and the number of its last receipt.
    package typealias RecordedQuestions = [String: (state: String, number: UInt64)]

    /// The state of a question whose receipt another one may complete.
    package static let unknownState = "unknown"

    /// Writes receipts of questions that the files do not have yet.
    ///
    /// - Parameters:
    ///   - audience: The audience of all of them.
    ///   - page: Returns some questions that have ended, and are not among those that are recorded; `nil` after the last.
    /// - Throws: ``ReceiptFault`` for the first line that was changed, ``MobileTokenError/Code/receiptsDiffer`` when the files are of
    ///   something else, and nothing is written then; what `page` throws.
    package func exportQuestions(
        of audience: String,
        _ page: sending (RecordedQuestions) async throws -> [QuestionReceipt]?
    ) async throws -> Export {
        let lock = try FolderLock(self.folder)
        defer { withExtendedLifetime(lock) {} }
        var recorded: RecordedQuestions = [:]
        var isOfOthers = false
        // Every line is checked: it is by the files alone that is known what they have.
        try self.forEachLine { line in
            switch line.content {
            case .question(let number, let receipt):
                recorded[receipt.facts.key] = (receipt.facts.state, number)
                if !receipt.facts.audience.isExactly(audience) { isOfOthers = true }
            case .entry: isOfOthers = true
            case .signature: break
            }
        }
        guard !isOfOthers else {
            throw MobileTokenError(
                .receiptsDiffer,
                "\(self.folder) has receipts of something else than the questions of this audience: export to another folder"
            )
        }
        var end = try self.end()
        var count = 0
        while let receipts = try await page(recorded) {
            var (lines, head, number) = ([ReceiptLine](), end.chain.head ?? ReceiptChain.start, end.number)
            for receipt in receipts {
                let earlier = recorded[receipt.facts.key]
                // A final state stays: but for an unknown one there is nothing to be added.
                guard earlier == nil || earlier?.state == Self.unknownState && receipt.facts.state != earlier?.state
                else {
                    continue
                }
                number += 1
                recorded[receipt.facts.key] = (receipt.facts.state, number)
                let line = ReceiptLine(
                    .question(number: number, earlier.map { receipt.completing($0.number) } ?? receipt),
                    previous: head
                )
                lines.append(line)
                head = line.digest
            }
            guard !lines.isEmpty else { continue }
            try self.append(lines, to: &end)
            count += lines.count
        }
        return Export(
            entryCount: count,
            lastNumber: end.number,
            head: end.chain.head,
            removedByteCount: end.removedByteCount,
            unreadableNumbers: []
        )
    }

    /// Reads the receipts of questions, oldest first. Every line is checked.
    ///
    /// - Throws: ``ReceiptFault`` for the first line that was changed, and when a file cannot be read.
    package func questionReceipts() throws -> [QuestionReceipt] {
        var receipts: [QuestionReceipt] = []
        try self.forEachLine { if case .question(_, let receipt) = $0.content { receipts.append(receipt) } }
        return receipts
    }

    private func forEachLine(_ body: (ReceiptLine) -> Void) throws {
        let files = try self.files()
        var chain = ReceiptChain()
        for path in files {
            var file = try ReceiptFile(path: path, isWritable: false)
            _ = try chain.add(&file, isLast: path == files.last, each: body)
        }
    }
}
