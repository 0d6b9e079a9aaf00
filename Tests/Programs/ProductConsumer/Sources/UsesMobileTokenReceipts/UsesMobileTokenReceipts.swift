import MobileTokenReceipts
import OtherTypes

let otherTypes: [Any.Type] = [
    HTTPRequest.self, HTTPResponse.self, HTTPHeaders.self, Endpoint.self, FormData.self, Empty.self,
]

let types: [Any.Type] = [
    ReceiptArchive.self, ReceiptArchive.Export.self, ReceiptVerification.self, ReceiptVerification.Counts.self,
    ReceiptFault.self, ReceiptFault.Reason.self, ReceiptSignature.self,
    DecisionIntent.self, DecisionIntent.Verdict.self, DecisionIntent.Policy.self, DecisionIntent.Charge.self,
    DecisionIntent.Facts.self, DecisionIntent.PersonalData.self,
    DecisionOutcome.self, DecisionOutcome.Result.self, OpenDecision.self, ReceiptSelection.self,
    StoredReceipts.self, StoredReceipts.Iterator.self, ReceiptFigures.self,
    DecisionReceipt.self, DecisionReceipt.Intent.self, DecisionReceipt.Entry.self, DecisionReceipt.Entry.Content.self,
]

/// An auditor has the files alone.
func audit(_ folder: String) async throws -> Bool {
    let archive = ReceiptArchive(folder: folder)
    return try await archive.verify().isIntact && ReceiptArchive.verify(files: archive.files()).fault == nil
}
