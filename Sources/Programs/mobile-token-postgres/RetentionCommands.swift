import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken
import MobileTokenReceipts

/// Commands for the receipts of a store, in the database or in an SQLite file.
extension StoreCommands {
    static let prune = Command(
        "store",
        "prune",
        summary: "Delete receipts that were exported, once the files have been verified.",
        discussion: """
            Receipts that the files do not hold stay, and so do open ones and the last exported one, after which the next export goes
            on. The role must be allowed to delete receipts, which the role of the nodes need not be.
            """,
        operands: [.init("FOLDER", "where the exported files are")],
        options: StoreSession.optionsWithLocalStore + [
            .init("older-than", "DAYS", "what was decided so many days ago, or before (default: 90)")
        ]
    ) { invocation in
        guard let archive = try invocation.archive(0) else {
            throw invocation.misuse("FOLDER is missing")
        }
        let days = try invocation.integer("older-than", in: 0...36_500) ?? 90
        let date = Date() - TimeInterval(days * 86_400)
        let count = try await StoreSession.runWithLocalStore(invocation) { store in
            try await store.deleteReceipts(exportedTo: archive, decidedBefore: date)
        }
        Output(isJSON: invocation.has("json")).outcome(
            ["deleted": .number(JSONNumber(count))],
            text: "Deleted \(count) entries of the receipts."
        )
        return .done
    }

    static let receipts = Command(
        "store",
        "receipts",
        summary: "Show how many receipts wait for an export, when the last one was, and how much room they take.",
        options: StoreSession.optionsWithLocalStore
    ) { invocation in
        let figures = try await StoreSession.runWithLocalStore(invocation) { try await $0.receiptFigures() }
        Output(isJSON: invocation.has("json")).result(figures.document, text: figures.text)
        return .done
    }
}

extension ReceiptFigures {
    fileprivate var document: JSONValue {
        [
            "unexported": .number(JSONNumber(self.unexportedCount)),
            "lastExport": self.lastExport.map { .date($0) } ?? .null,
            "bytes": .number(JSONNumber(self.byteCount)),
        ]
    }

    fileprivate var text: String {
        """
        Entries since the last export: \(self.unexportedCount)
        Last export: \(self.lastExport?.formatted(.iso8601) ?? "never")
        Bytes: \(self.byteCount)
        """
    }
}
