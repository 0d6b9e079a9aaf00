import Basics
import Coordination
import MobileTokenCloud

/// Polls people's answers.
extension DeskCore {
    func poll(_ indices: [Int], _ look: inout Look) async throws {
        var answers: [(index: Int, answer: CloudResponse<CloudClient.Operation>)] = []
        for (index, result) in await self.shown(indices, of: look.stored.record) {
            switch result {
            case .success(let answer):
                answers.append((index, answer))
            case .failure(let failure):
                self.note(failure, look.stored.record)
                guard failure.kind == .notFound else {
                    look.note(failure)
                    continue
                }
                let now = self.now
                look.stored = try await self.ledger.change(look.stored) { $0.forget(index, at: now) }
            }
        }
        // A rejection ends the question, whatever the order of people who approved.
        let rejections = answers.filter { $0.answer.value.status == .rejected }
        for (index, answer) in rejections + answers.filter({ $0.answer.value.status != .rejected })
        where look.stored.record.toPoll.contains(index) {
            try await self.answered(answer, index, &look)
        }
    }

    private typealias Shown = (index: Int, result: Result<CloudResponse<CloudClient.Operation>, CloudError>)

    /// Requests people's operations concurrently, so that an unresponsive server costs one timeout.
    private func shown(_ indices: [Int], of record: QuestionRecord) async -> [Shown] {
        await withTaskGroup(of: Shown.self) { group in
            for index in indices {
                guard record.toPoll.contains(index), let id = record.parts[index].operationID else { continue }
                group.addTask {
                    do throws(CloudError) {
                        // Not awaited within the tuple: optimized by Swift 6.3, that mixes up what several people answered.
                        let answer = try await self.server.show(id)
                        return (index, .success(answer))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.index < $1.index }
        }
    }

    private func answered(_ answer: CloudResponse<CloudClient.Operation>, _ index: Int, _ look: inout Look) async throws
    {
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
                $0.stillPending(index, date: answer.date?.milliseconds ?? now)
                if let date = answer.date?.milliseconds,
                    date > operation.expires.milliseconds.addingSaturated(QuestionRecord.expiryTolerance)
                {
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
