import Basics
import ExactJSON
package import MobileToken

// An operation as a person who decides must see it: what is shown, what gets signed, and what does not fit together.

extension OperationReview {
    /// The operation with its doubts, as `--json` shows it.
    package var document: JSONValue {
        guard case .object(var document) = self.operation.document else { return self.operation.document }
        document["doubts"] = .array(self.doubts.map(\.document))
        return .object(document)
    }

    /// The whole operation, what gets signed, and what is in doubt.
    package var page: String {
        let screens = (self.operation.ui?.preApprovalScreens ?? []).map { screen in
            "\(TextTable.printable(screen.heading)): \(TextTable.printable(screen.message))"
        }
        return
            ([self.operation.page] + (screens.isEmpty ? [] : ["", "Before the approval:"] + screens)
            + ["", SignedText.page(self.operation.data, self.signedData)] + self.doubts.lines).joined(separator: "\n")
    }
}

extension OfflineOperation {
    /// The operation of a QR code, what gets signed, and what is in doubt.
    package var page: String {
        ([TextTable.printable(self.title), TextTable.printable(self.message), ""]
            + [SignedText.page(self.operationData.text, self.operationData)] + self.doubts.lines).joined(
                separator: "\n"
            )
    }
}

extension OperationReview.Doubt {
    package var document: JSONValue { ["kind": .string("\(self.kind)"), "subject": .optional(self.subject)] }
}

extension [OperationReview.Doubt] {
    fileprivate var lines: [String] {
        self.isEmpty ? [] : ["", "Not everything fits together:"] + self.map { "  \($0)" }
    }
}

/// The data that a signature covers, for people.
private enum SignedText {
    static func page(_ text: String, _ data: OfflineOperation.SignedData?) -> String {
        var table = TextTable(header: "signed", TextTable.printable(text))
        for field in data?.fields ?? [] {
            switch field {
            case .amount(_, let currency, let digits): table.add("  amount", "\(digits) \(currency)")
            case .account(let iban, let bic): table.add("  account", bic.map { "\(iban), \($0)" } ?? iban)
            case .anyAccount(let account): table.add("  account", account)
            case .date(let day): table.add("  date", day.description)
            case .reference(let reference): table.add("  reference", reference)
            case .note(let note): table.add("  note", note)
            case .text(let text): table.add("  text", text)
            case .unknown(let letter, let text): table.add("  \(letter)", text)
            case .empty: break
            }
        }
        return table.text
    }
}

/// Doubts about an operation that the caller did not accept. Nothing was signed.
package struct UnacceptedDoubts: Error {
    package let doubts: [OperationReview.Doubt]

    var message: String {
        let names = self.doubts.names.joined(separator: ",")
        return "nothing was signed: \(self.doubts.map(\.description).joined(separator: "; ")). "
            + "Whoever has understood it all the same: --accept \(names)"
    }
}

extension [OperationReview.Doubt] {
    fileprivate var names: [String] { Set(self.map(\.kind.description)).sorted() }

    /// The option of commands that approve.
    package static let option = Command.Option(
        "accept",
        "DOUBTS",
        "approve in spite of these kinds of doubt, apart by commas, as they are named when found"
    )

    /// - Throws: ``UnacceptedDoubts`` with those that the call does not accept by name.
    package func requireAcceptance(by invocation: Invocation) throws {
        let accepted = (invocation["accept"] ?? "").split(separator: ",", omittingEmptySubsequences: false).map(
            String.init
        )
        let left = self.filter { doubt in !accepted.contains { $0.isExactly(doubt.kind.description) } }
        guard left.isEmpty else { throw UnacceptedDoubts(doubts: left) }
    }
}
