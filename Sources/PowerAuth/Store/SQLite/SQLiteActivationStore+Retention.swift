public import Foundation

extension SQLiteActivationStore: PrunableJournal {
    /// Deletes some receipts that are kept elsewhere, in one short commit; see
    /// ``PrunableJournal/pruneReceipts(after:before:decidedBefore:)``.
    ///
    /// Gives their room back to the file system. A file that an earlier version made keeps it, and uses it again.
    public func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        let step = try await self.changingReceipts { open in
            guard let end = try open.database.end(ofPartAfter: number), number < last,
                try open.database.hasReceipts(after: number, through: end, decidedBefore: date)
            else { return PrunedReceipts(count: 0, end: nil) }
            let count = try open.database.deleteReceipts(
                after: number,
                through: end,
                before: last,
                decidedBefore: date
            )
            return PrunedReceipts(count: count, end: end)
        }
        try await self.readingReceipts { open in
            try open.database.releasePages()
            if step.end == nil { open.database.emptyLog() }
        }
        return step
    }

    /// Notes where an export ended; see ``PrunableJournal/noteExport(upTo:at:)``.
    public func noteExport(upTo number: UInt64, at date: Date) async throws {
        let note = ExportNote(number: number, date: date)
        try await self.changingReceipts { try $0.database.set(ExportNote.name, to: note.stored) }
    }

    /// Returns what an operator watches.
    public func receiptFigures() async throws -> ReceiptFigures {
        try await self.readingReceipts { open in
            let (last, note) = (try open.database.lastReceiptNumber(), try open.database.exportNote())
            let exported = min(note?.number ?? 0, last)
            return ReceiptFigures(
                unexportedCount: Int(clamping: last - exported),
                lastExport: note?.date,
                byteCount: try open.database.usedByteCount()
            )
        }
    }
}
