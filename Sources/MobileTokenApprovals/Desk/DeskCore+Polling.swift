import Basics
import Coordination
import MobileTokenCloud

/// Hears the people's answers.
extension DeskCore {
    func poll(_ indices: [Int], _ look: inout Look) async throws {
        var answers: [(index: Int, answer: Dated<ApprovalOperation>)] = []
        for index in indices {
            guard look.stored.record.toPoll.contains(index), let id = look.stored.record.parts[index].operationID else {
                continue
            }
            do {
                let answer = try await self.server.show(operation: id)
                self.note(answer.date)
                answers.append((index, answer))
            } catch {
                look.note(error)
                self.note(error, look.stored.record)
            }
        }
        // A "no" ends the question, in whatever order the people stand who said yes.
        let rejections = answers.filter { $0.answer.value.status == .rejected }
        for (index, answer) in rejections + answers.filter({ $0.answer.value.status != .rejected })
        where look.stored.record.toPoll.contains(index) {
            try await self.answered(answer, index, &look)
        }
    }

    private func answered(_ answer: Dated<ApprovalOperation>, _ index: Int, _ look: inout Look) async throws {
        let operation = answer.value
        let now = self.now
        let record = look.stored.record
        if case .mismatch(let objection) = try record.read(operation, index) {
            look.stored = try await self.ledger.change(look.stored) {
                $0.end(.mismatched, .bindingMismatch, "The server shows something else: \(objection)", at: now)
            }
            return
        }
        let end: QuestionRecord.Part.Answer
        switch operation.status {
        case .pending:
            look.stored = try await self.ledger.change(look.stored) {
                $0.stillPending(index, date: answer.date ?? now)
                if let date = answer.date, date > operation.expires.addingSaturated(QuestionRecord.expiryTolerance) {
                    $0.end(.expired, .expired, "Nobody decided in time", at: now)
                }
            }
            return
        case .approved: end = .approved
        case .rejected: end = .rejected
        case .canceled: end = .canceled
        case .expired: end = .expired
        case .failed: end = .failed
        default:
            // An unknown status decides nothing.
            look.failed = true
            self.report(.serverFailed, record, "The server says '\(operation.status)'")
            return
        }
        let signatures = self.withState { $0.signatures(of: operation.id) }
        if end == .approved, record.terms.deviceKeys != nil, operation.deviceSignature == nil, signatures.isEmpty,
            self.configuration.callbackPassword != nil
        {
            let now = self.clock.now
            guard self.withState({ !$0.awaitsSignature(of: operation.id, at: now) }) else { return }
        }
        look.stored = try await self.ledger.change(look.stored) {
            $0.answer(index, end, operation, signatures, at: now)
        }
    }
}
