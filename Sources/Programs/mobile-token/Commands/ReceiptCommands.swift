import Basics
import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken
import MobileTokenReceipts
import MobileTokenReconciliation

enum ReceiptCommands {
    static let all = [show, reconcile, export, verify, erase]

    static let show = Command(
        "receipts",
        "show",
        summary: "Show the decisions of this profile and their outcomes.",
        discussion: """
            Decisions are counted from the oldest that is kept. With --json, 'number' is that of the decision's entry in the
            exported files, where the outcome has a number of its own.
            """
    ) { invocation in
        let session = try Session(invocation)
        var receipts: [DecisionReceipt] = []
        for try await receipt in session.client.receipts() { receipts.append(receipt) }
        session.output.result(.array(receipts.map(\.document)), text: receipts.table)
        return .done
    }

    static let export = Command(
        "receipts",
        "export",
        summary: "Write receipts to a folder, from where the last export ended.",
        discussion: """
            Each line holds the digest of the line before, so that no line can be changed or left out unseen. With --sign, a
            last line signs all of them with the device's key, which takes the password.
            """,
        operands: [.init("FOLDER", "where the files are; made when it is missing")],
        options: PasswordSource.options + [
            .init("sign", nil, "sign the lines with the device's key"),
            .init("file-size", "MEGABYTES", "begin a new file when the last one is so large (default: 16)"),
        ]
    ) { invocation in
        let session = try Session(invocation)
        let megabytes = try invocation.integer("file-size", in: 1...1_024) ?? 16
        let archive = ReceiptArchive(folder: try invocation.required(0), maximumFileByteCount: megabytes << 20)
        let export = try await archive.export(from: session.client)
        if invocation.has("sign") {
            let password = try PasswordSource(invocation).read(prompt: "Password: ")
            try await archive.sign(with: session.activation(), .possessionAndKnowledge(password: password))
        }
        session.output.outcome(
            [
                "exported": .number(JSONNumber(export.entryCount)),
                "lastNumber": .number(JSONNumber(export.lastNumber)),
                "removedBytes": .number(JSONNumber(export.removedByteCount)),
                "signed": .bool(invocation.has("sign")),
                "unreadable": .array(export.unreadableNumbers.map { .number(JSONNumber($0)) }),
            ],
            text: "Exported \(export.entryCount) entries, up to number \(export.lastNumber)."
                + (export.unreadableNumbers.isEmpty
                    ? "" : " The store could not open \(export.unreadableNumbers.count) of them.")
        )
        return .done
    }

    static let verify = Command(
        "receipts",
        "verify",
        summary: "Check exported receipts, line by line.",
        discussion: """
            Takes a folder, or files in their order. Erased personal data are no fault, and neither is a last line that a crash
            cut short. The exit code is 1 when a line was changed, moved, left out or added; the first such line is named.
            """,
        operands: [.init("PATH", "a folder, or files", takesRest: true)]
    ) { invocation in
        let paths = invocation.operands
        var isFolder: ObjCBool = false
        let verification: ReceiptVerification
        if paths.count == 1, FileManager.default.fileExists(atPath: paths[0], isDirectory: &isFolder),
            isFolder.boolValue
        {
            verification = try await ReceiptArchive(folder: paths[0]).verify()
        } else {
            verification = try ReceiptArchive.verify(files: paths)
        }
        Output(isJSON: invocation.has("json")).result(verification.document, text: verification.page)
        return verification.isIntact ? .done : .refused
    }

    static let erase = Command(
        "receipts",
        "erase",
        summary: "Erase the personal data of receipts, here and in exported files.",
        discussion: "All else stays, so that exported files can be verified as before.",
        operands: [.init("FOLDER", "where exported files are", isOptional: true)],
        options: [
            .init("activation", "ID", "of this activation's receipts"),
            .init("before", "DATE", "of what was decided before a day, such as 2026-01-31 (UTC)"),
        ]
    ) { invocation in
        let session = try Session(invocation)
        let selection = try Self.selection(invocation)
        let archive = try invocation.archive(0)
        let count = try await session.client.eraseReceipts(selection)
        let lines = try await archive?.erase(selection) ?? 0
        session.output.outcome(
            ["erased": .number(JSONNumber(count)), "erasedLines": .number(JSONNumber(lines))],
            text: "Erased the personal data of \(count) receipts here, and of \(lines) exported lines."
        )
        return .done
    }

    static let reconcile = Command(
        "receipts",
        "reconcile",
        summary: "Compare receipts with the bank's history, and name every difference.",
        discussion: """
            The exit code is 13 if there is a difference. A history tells how an operation ended, not by whom. It is limited, and older
            operations are not compared. Asking for it takes a signature, which covers what the bank's counter says of a decision whose
            response was lost. So while there is such a decision, the history is not asked for, unless --settle looks into it first.
            --settle also writes what the history proves into open and unknown receipts.
            """,
        operands: [
            .init("FOLDER", "exported receipts to take in", isOptional: true)
        ],
        options: PasswordSource.options + [
            .init("since", "DATE", "pass over decisions without a receipt before this day of the bank's (UTC)"),
            .init("settle", nil, "find out about open decisions first, and write what is proved into the receipts"),
        ]
    ) { invocation in
        let session = try Session(invocation)
        let since = try invocation.day("since")
        let archive = try invocation.archive(0)
        let service = try await session.operations()
        let password = try PasswordSource(invocation).read(prompt: "Password: ")
        let reconciliation = try await service.reconcileReceipts(
            with: .possessionAndKnowledge(password: password),
            since: since,
            exportedTo: archive,
            isSettling: invocation.has("settle")
        )
        session.output.result(reconciliation.document, text: reconciliation.page)
        return reconciliation.differences.isEmpty ? .done : .differing
    }

    private static func selection(_ invocation: Invocation) throws -> ReceiptSelection {
        switch (invocation["activation"], invocation["before"]) {
        case (let id?, nil): return .activation(id)
        case (nil, _?):
            return .decided(before: try invocation.day("before") ?? .distantPast)
        case (nil, nil), (_?, _?):
            throw invocation.misuse("give either --activation or --before")
        }
    }
}

extension Invocation {
    /// Returns the start, in UTC, of the day in an option.
    fileprivate func day(_ option: String) throws -> Date? {
        guard let day = self[option] else { return nil }
        guard let date = try? Date("\(day)T00:00:00Z", strategy: .iso8601) else {
            throw self.misuse("--\(option) takes a day, such as 2026-01-31")
        }
        return date
    }
}

extension DecisionReceipt {
    fileprivate var document: JSONValue {
        [
            "number": .number(JSONNumber(self.number)),
            "activationId": .string(self.intent.activationID),
            "move": .number(JSONNumber(self.intent.moves)),
            "attempt": .number(JSONNumber(self.intent.attempt)),
            "verdict": .string(self.intent.verdict.rawValue),
            "policy": .optional(self.intent.policy.map { "\($0.name) \($0.version)" }),
            "complete": self.intent.isComplete.map { .bool($0) } ?? .null,
            "factors": .string(self.intent.factors),
            "decided": .date(self.intent.localDate),
            "operation": .optional(self.intent.personalData?.operationID),
            "data": .optional(self.intent.personalData?.signed),
            "reason": .optional(self.intent.personalData?.reason),
            "result": .string(self.outcome?.result.description ?? "open"),
        ]
    }
}

extension [DecisionReceipt] {
    fileprivate var table: String {
        guard !self.isEmpty else { return "No receipts." }
        var table = TextTable(header: "", "DECIDED", "VERDICT", "RESULT", "POLICY", "OPERATION")
        for (index, receipt) in self.enumerated() {
            table.add(
                "\(index + 1)",
                receipt.intent.localDate.formatted(.iso8601),
                receipt.intent.verdict.rawValue,
                receipt.outcome?.result.description ?? "open",
                receipt.intent.policy.map { "\($0.name) \($0.version)" } ?? "by hand",
                receipt.intent.personalData?.operationID ?? "(erased)"
            )
        }
        return table.text
    }
}

extension ReceiptVerification {
    fileprivate var document: JSONValue {
        func number(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(value)) }
        return [
            "intact": .bool(self.isIntact),
            "fault": self.fault.map { fault in
                ["file": .string(fault.file), "line": number(fault.line), "reason": .string(fault.reason.description)]
            } ?? .null,
            "lines": number(self.counts.lines),
            "intents": number(self.counts.intents),
            "questions": number(self.counts.questions),
            "outcomes": number(self.counts.outcomes),
            "open": number(self.counts.open),
            "erased": number(self.counts.erased),
            "unreadable": number(self.counts.unreadable),
            "firstNumber": self.firstNumber.map(number) ?? .null,
            "lastNumber": self.lastNumber.map(number) ?? .null,
            "head": .optional(self.head.map { Hexadecimal.encode($0) }),
            "tornBytes": number(self.tornByteCount),
            "signatures": .array(
                self.signatures.map { signature in
                    [
                        "activationId": .string(signature.activationID),
                        "devicePublicKey": .string(Hexadecimal.encode(signature.devicePublicKey)),
                        "made": .date(signature.localDate),
                    ]
                }
            ),
        ]
    }

    fileprivate var page: String {
        var lines: [String] = []
        if let fault { lines.append("Changed: \(TextTable.printable(fault.description))") }
        lines.append(
            """
            \(self.counts.lines) lines follow from each other: \(self.counts.intents) decisions, \(self.counts.open) of them \
            open, \(self.counts.erased) with their personal data erased.
            """
        )
        if self.counts.questions > 0 { lines.append("\(self.counts.questions) questions were asked.") }
        if self.counts.unreadable > 0 {
            lines.append("The store could not open \(self.counts.unreadable) entries when they were exported.")
        }
        if let firstNumber, firstNumber > 1 {
            lines.append("They begin with number \(firstNumber): what came before is not here.")
        }
        if self.tornByteCount > 0 {
            lines.append("The last line was cut short by a crash; the next export writes it again.")
        }
        for signature in self.signatures {
            let (id, key) = (TextTable.printable(signature.activationID), Hexadecimal.encode(signature.devicePublicKey))
            lines.append("Signed \(signature.localDate.formatted(.iso8601)) by activation \(id), key \(key).")
        }
        if let head { lines.append("Digest of the last line: \(Hexadecimal.encode(head))") }
        return lines.joined(separator: "\n")
    }
}
