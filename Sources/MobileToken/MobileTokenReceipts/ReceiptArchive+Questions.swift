import Basics
import PowerAuthClient

extension ReceiptArchive {
    /// The questions with a receipt in the files, by key: the final state, and the number of the last receipt.
    package typealias RecordedQuestions = [String: (state: String, number: UInt64)]

    /// The state of a question whose receipt may be completed by another one.
    package static let unknownState = "unknown"

    /// Writes receipts of questions missing from the files.
    ///
    /// - Parameters:
    ///   - audience: The audience of all of them.
    ///   - page: Returns some ended questions that are not recorded; `nil` after the last.
    /// - Throws:
    ///   ``ReceiptFault`` for the first changed line, ``MobileTokenError/Code/receiptsDiffer`` if the files have other content, and nothing is written then; errors of `page`.
    package func exportQuestions(
        of audience: String,
        _ page: sending (RecordedQuestions) async throws -> [QuestionReceipt]?
    ) async throws -> Export {
        let lock = try FolderLock(self.folder)
        defer { withExtendedLifetime(lock) {} }
        var recorded: RecordedQuestions = [:]
        var isOfOthers = false
        // Every line is verified, because only the files show what they contain.
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
                // Only an unknown state can still change.
                guard earlier == nil || earlier?.state == Self.unknownState && receipt.facts.state != earlier?.state
                else {
                    continue
                }
                number = try self.number(after: number)
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

    /// Reads the receipts of questions, oldest first, and verifies every line.
    ///
    /// - Throws: ``ReceiptFault`` for the first changed line, or an error if a file is unreadable.
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
