import Basics
package import ExactJSON
package import MobileToken
import MobileTokenOffline
import OperationScreens
import SignedContent

// An operation for the deciding person: the shown form, the signed data, and the contradictions.

extension OperationReview {
    /// The operation with its doubts, in the form of `--json`.
    package var document: JSONValue {
        guard case .object(var document) = self.operation.document else { return self.operation.document }
        document["doubts"] = .array(self.doubts.map(\.document))
        return .object(document)
    }

    /// The whole operation, the signed data, and the doubts.
    package var page: String {
        let screens = (self.operation.ui?.preApprovalScreens ?? []).flatMap { screen in
            ["\(screen.heading): \(screen.message)"] + screen.elements.compactMap(\.content.text).map { "- \($0)" }
        }.map { DisplayText.escaped($0, limit: .max) }
        return
            ([self.operation.page] + (screens.isEmpty ? [] : ["", "Before the approval:"] + screens)
            + ["", SignedText.page(self.operation.data, self.signedData)] + self.doubts.lines).joined(separator: "\n")
    }
}

extension OperationReview {
    /// Returns the remaining doubts, depending on whether the user has scanned a required code.
    package func doubts(afterScanning isScanned: Bool) -> [Doubt] {
        let screens = self.operation.ui?.preApprovalScreens ?? []
        guard isScanned, screens.allSatisfy({ $0.kind == .qrScan }) else { return self.doubts }
        return self.doubts.filter { $0.kind != .screenToPass }
    }
}

extension OfflineOperation {
    /// A QR code's operation, the signed data, and the doubts.
    package var page: String {
        ([DisplayText.escaped(self.title, limit: .max), DisplayText.escaped(self.message, limit: .max), ""]
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
    static func page(_ text: String, _ data: UserOperation.SignedData?) -> String {
        var table = TextTable(header: "signed", DisplayText.escaped(text, limit: .max))
        for field in data?.fields ?? [] {
            switch field {
            case .amount(let amount, let currency, let digits):
                // Unchanged, unless it takes a calculation to understand.
                let isPlain = digits.utf8.allSatisfy { $0 < UInt8(ascii: ":") && $0 != UInt8(ascii: "+") }
                table.addWhole("  amount", "\(isPlain ? digits : amount.plainText ?? digits) \(currency)")
            case .account(let iban, let bic): table.addWhole("  account", bic.map { "\(iban), \($0)" } ?? iban)
            case .anyAccount(let account): table.addWhole("  account", account)
            case .date(let year, let month, let day): table.addWhole("  date", ISO8601.day(year, month, day))
            case .reference(let reference): table.addWhole("  reference", reference)
            case .note(let note): table.addWhole("  note", note)
            case .text(let text): table.addWhole("  text", text)
            case .unknown(let letter, let text): table.addWhole("  \(letter)", text)
            case .empty: break
            }
        }
        return table.text
    }
}

/// Doubts that the caller did not accept. Nothing was signed.
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
