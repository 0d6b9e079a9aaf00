import Basics
import ExactJSON
import Foundation
public import MobileTokenReceipts

extension ApprovalDesk {
    /// Writes a receipt for every question that ended since the last export, answered or not.
    ///
    /// ```swift
    /// let archive = ReceiptArchive(folder: "/var/lib/deployer/questions")
    /// try await desk.exportReceipts(to: archive)
    /// ```
    /// The lines form a chain like those of decisions, in their own folder; the same tools verify and erase them. A question with
    /// an interrupted action gets one receipt when that is noticed, and another when it is settled. The page *Receipts* of
    /// `MobileToken` explains what a receipt proves. ``run()`` exports automatically with ``Configuration/receipts``.
    ///
    /// - Parameter archive: The folder of the files.
    /// - Throws: `ReceiptFault` for the first changed line, `MobileTokenError` if the folder has other receipts or another
    ///   process writes to it; ``ApprovalError`` if the ledger is unreadable.
    @discardableResult
    public func exportReceipts(to archive: ReceiptArchive) async throws -> ReceiptArchive.Export {
        try await self.core.exportReceipts(to: archive)
    }
}

extension DeskCore {
    /// The time in milliseconds that a question's receipt waits for the server to confirm the end of its operations.
    private static let receiptPatience: Int64 = 3_600_000

    /// Writes receipts to the configured archive. A failure is no reason to reject approvals.
    func writeReceipts() async throws {
        guard let archive = self.configuration.receipts else { return }
        do { _ = try await self.exportReceipts(to: archive) } catch let error as ApprovalError {
            throw error
        } catch {
            try Task.checkCancellation()
            self.withState { $0.lastError = "The receipts cannot be written: \(error)" }
        }
    }

    func exportReceipts(to archive: ReceiptArchive) async throws -> ReceiptArchive.Export {
        var last: LedgerKey?
        var isOver = false
        return try await archive.exportQuestions(of: self.ledger.audience) { recorded in
            guard !isOver else { return nil }
            let page = try await self.ledger.page(.states(Set(ApprovalState.allCases)), after: last)
            (last, isOver) = (page.end, page.end == nil)
            self.note(unreadable: page.unreadable)
            var receipts: [QuestionReceipt] = []
            for stored in page.readable.sorted(by: { $0.record.asked < $1.record.asked }) {
                let state = recorded[stored.record.key.description]?.state
                guard state == nil || state == ReceiptArchive.unknownState else { continue }
                let record = try await self.followed(stored).record
                // A surplus approval may arrive until the server confirms the end.
                guard record.state.isFinal, record.state.rawValue != state,
                    !record.needsAttention || self.now.subtractingSaturated(record.ended ?? 0) > Self.receiptPatience
                else { continue }
                receipts.append(try record.receipt)
            }
            return receipts
        }
    }
}

extension QuestionRecord {
    /// The receipt of a completed question.
    fileprivate var receipt: QuestionReceipt {
        get throws {
            let questions = try self.parts.indices.map { index in
                String(decoding: try CanonicalJSON.bytes(of: self.question(index).json), as: UTF8.self)
            }
            return QuestionReceipt(
                QuestionReceipt.Facts(
                    audience: self.terms.audience,
                    key: self.key.description,
                    state: self.state.rawValue,
                    code: self.reason?.code,
                    asked: Date(milliseconds: self.asked),
                    ended: Date(milliseconds: self.settled?.at ?? self.ended ?? self.asked),
                    seconds: UInt64(clamping: self.terms.seconds),
                    actionDigest: self.terms.actionDigest,
                    bindings: try self.parts.indices.map { try self.binding($0).digest }
                ),
                questions: questions,
                answers: self.parts.indices.map { self.parts[$0].json(deviceKey: self.signingKey($0)) },
                settlement: self.settled.map {
                    ["outcome": .string($0.outcome.rawValue), "by": .string($0.person)]
                }
            )
        }
    }
}

extension QuestionRecord.Part {
    /// The server's data on a person's operation.
    ///
    /// - Parameter deviceKey: The key of the device that signed the data.
    fileprivate func json(deviceKey: String?) -> JSONObject {
        var json: JSONObject = ["person": .string(self.person.id), "user": .string(self.person.user)]
        json["operation"] = self.operationID.map { .string($0) }
        json["answer"] = .string(self.answer.rawValue)
        json["decidedAt"] = self.finalized.map { .string(ISO8601.preciseString(from: Date(milliseconds: $0))) }
        json["data"] = self.signedData.map { .string($0) }
        json["evidence"] = self.evidence.map { .string($0.rawValue) }
        json["registration"] = self.registrationID.map { .string($0) }
        json["factors"] = self.factors.map { .string($0) }
        json["reason"] = self.reason.map { .string($0) }
        json["deviceSignature"] = self.deviceSignature.map { .string($0) }
        json["deviceKey"] = deviceKey.map { .string($0) }
        if self.isSurplus { json["surplus"] = true }
        return json
    }
}
