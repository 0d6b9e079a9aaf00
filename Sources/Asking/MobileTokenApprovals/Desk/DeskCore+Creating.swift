import Basics
import Coordination
import Foundation
import MobileTokenCloud
import PowerAuthProtocol
import SignedContent

/// Asks people by operations of the server, and accepts operations that match the question.
extension DeskCore {
    func send(_ noted: [Int], _ look: inout Look) async throws {
        var sent = Set(noted)
        for index in noted { try await self.create(index, &look) }
        while let index = look.stored.record.toSend(at: self.now, patience: self.patience).first(where: {
            !sent.contains($0)
        }) {
            sent.insert(index)
            var record = look.stored.record
            record.send(index, at: self.now)
            guard let stored = try await self.ledger.swap(look.stored, to: record) else {
                // Another process was faster, and may be sending.
                look.stored = try await self.loaded(record.key)
                return
            }
            look.stored = stored
            try await self.create(index, &look)
        }
    }

    private func create(_ index: Int, _ look: inout Look) async throws {
        do {
            let hasAsked = try await self.server.learnTime()
            if try await self.server.waitForTurns() || hasAsked || !look.isCurrent {
                guard try await self.mayCreate(index, &look) else { return }
            }
            look.isCurrent = false
            let record = look.stored.record
            let operation = try self.operation(index, record)
            self.configuration.willAsk?(record.terms.template)
            let sent = self.clock.now
            let answer = try await self.server.call(isAdmitted: true) { try await $0.createOperation(operation) }
            guard try record.mayBeOurs(answer.value, index) else {
                // A foreign operation must not be canceled in place of ours, which may exist as well.
                throw CloudError(
                    .invalidResponse,
                    "The answer is of another question's operation",
                    isOutcomeUnknown: true
                )
            }
            if answer.date == nil { self.server.note(answer.value.created, sent: sent) }
            try await self.created(answer, index, &look)
        } catch let failure as CloudError {
            look.note(failure)
            self.note(failure, look.stored.record)
            switch failure.kind {
            case .refused, .notFound, .notPending:
                look.stored = try await self.ledger.change(look.stored) {
                    $0.unsend(index)
                    $0.end(
                        .failed,
                        .failed,
                        "The server refused to ask (\(DisplayText.escaped(failure.name)))",
                        at: self.now
                    )
                }
            case .unanswered(isOutcomeUnknown: false):
                look.stored = try await self.ledger.change(look.stored) { $0.unsend(index) }
            case .unanswered(isOutcomeUnknown: true):
                // Created again after the time in which it may still arrive.
                break
            }
        }
    }

    private func operation(_ index: Int, _ record: QuestionRecord) throws -> CloudClient.NewOperation {
        var operation = CloudClient.NewOperation(
            template: record.terms.template.name,
            userID: record.parts[index].person.user,
            parameters: try record.parameters(index)
        )
        operation.language = record.terms.language
        operation.externalID = try record.binding(index).string
        operation.expires = Date(milliseconds: self.serverNow.addingSaturated(record.terms.milliseconds))
        return operation
    }

    /// Checks the question again before a delayed creation: it may have ended, or another process may have declared the creation
    /// lost.
    private func mayCreate(_ index: Int, _ look: inout Look) async throws -> Bool {
        let noted = look.stored.record.parts[index]
        look.stored = try await self.loaded(look.stored.record.key)
        var record = look.stored.record
        let part = record.parts[index]
        guard record.state.isPending, part.operationID == nil, part.attempts == noted.attempts, part.sent == noted.sent
        else { return false }
        guard record.mayAsk(at: self.now) else {
            look.stored = try await self.ledger.change(look.stored) { $0.unsend(index) }
            return false
        }
        // Other processes compute the arrival deadline from the recorded time.
        guard let sent = part.sent, self.now.subtractingSaturated(sent).magnitude > 1_000 else { return true }
        record.postpone(index, to: self.now)
        guard let stored = try await self.ledger.swap(look.stored, to: record) else { return false }
        look.stored = stored
        return true
    }

    /// Accepts a created operation that matches the question.
    func created(_ answer: CloudResponse<CloudClient.Operation>, _ index: Int, _ look: inout Look) async throws {
        let record = look.stored.record
        let operation = answer.value
        var reading = try record.read(operation, index)
        var evidence = PersonalApproval.Evidence.answer
        var data: String?
        if reading == .unreadable, let code = try await self.offlineCode(of: operation, record, index) {
            reading = try record.read(operation, index, offlineCode: code)
            (evidence, data) = (.offlineCode, code.data)
        }
        let ending: (ApprovalState, ApprovalError.Code, String)?
        switch reading {
        case .verified where operation.data == nil && record.terms.demandsDevice:
            ending = (.failed, .cannotVerify, "The server does not tell factors or devices, which the request demands")
        case .verified: ending = nil
        case .mismatch(let objection):
            ending = (.mismatched, .bindingMismatch, "The server asks something else: \(objection)")
        case .unreadable where record.terms.demandsDevice:
            ending = (.failed, .cannotVerify, "The server does not tell factors or devices, which the request demands")
        case .unreadable where record.terms.acceptsUnverifiedData || record.terms.deviceKeys != nil:
            // The device's signature will show the data.
            (ending, evidence) = (nil, .unverifiedData)
        case .unreadable:
            ending = (
                .failed, .cannotVerify,
                "The server does not show the data that are signed, and no offline QR code tells them"
            )
        }
        look.stored = try await self.ledger.change(look.stored) { record in
            _ = record.adopt(
                operation,
                for: index,
                date: answer.date?.milliseconds,
                data: data,
                evidence: evidence,
                at: self.now
            )
            if let (state, code, message) = ending { record.end(state, code, message, at: self.now) }
        }
    }

    /// Returns an operation's offline QR code for a registration.
    private func offlineCode(of operation: CloudClient.Operation, _ record: QuestionRecord, _ index: Int) async throws
        -> OfflineQuestion?
    {
        guard let registration = record.terms.offlineRegistrations[record.parts[index].person.user] else { return nil }
        do {
            let answer = try await self.server.call {
                try await $0.offlineCode(operation: operation.id, registration: registration)
            }
            return OfflineQuestion(answer.content, of: operation.id)
        } catch {
            self.note(error, record)
            return nil
        }
    }
}

/// The texts and the data of an offline QR code.
struct OfflineQuestion {
    let texts: [String]
    let data: String

    /// Reads a code.
    ///
    /// A title or a message with line breaks would move another line to the data's place. So codes with additional lines, or with
    /// invalid flags or a one-time code, are refused.
    init?(_ code: String, of operationID: String) {
        guard let lines = try? OfflineCodeLines(Array(code.utf8)), lines.later.isEmpty,
            lines.operationID.elementsEqual(operationID.utf8), lines.flags.allSatisfy(\.isASCIICapital)
        else { return nil }
        if let code = lines.oneTimeCode, code.isEmpty || !code.allSatisfy(\.isASCIIDigit) { return nil }
        self.texts = [lines.title, lines.message].map { OfflineString.unescaped($0, separator: nil) }
        self.data = String(decoding: lines.data, as: UTF8.self)
    }
}
