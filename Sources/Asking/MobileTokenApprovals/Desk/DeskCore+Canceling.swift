import Basics
import Coordination
import MobileTokenCloud

/// Cancels operations that are no longer wanted, including orphans of lost creations.
extension DeskCore {
    /// Cancels ended operations until the server confirms their end.
    func cancel(_ look: inout Look) async throws {
        for id in look.stored.record.toCancel {
            let isStray = look.stored.record.parts.contains { $0.strays.contains { $0.isExactly(id) } }
            do {
                guard let operation = try await self.end(id, of: look.stored.record) else { continue }
                let wasApproved = operation.status == .approved
                let now = self.now
                look.stored = try await self.ledger.change(look.stored) { $0.isOver(operation, at: now) }
                if wasApproved { self.report(.surplusApproval, look.stored.record) }
                if isStray { self.report(.strayCanceled, look.stored.record) }
            } catch let failure as CloudError {
                guard failure.kind != .notFound else {
                    look.stored = try await self.ledger.change(look.stored) { $0.isOver(id) }
                    continue
                }
                look.note(failure)
                self.note(failure, look.stored.record)
            }
        }
    }

    /// Cancels an operation, and returns it once it is over; `nil` until then.
    private func end(_ id: String, of record: QuestionRecord) async throws(CloudError) -> CloudClient.Operation? {
        var answer: CloudResponse<CloudClient.Operation>
        do {
            answer = try await self.server.call { try await $0.cancelOperation(id, reason: record.state.rawValue) }
        } catch  where error.kind == .notPending || error.kind == .refused {
            answer = try await self.server.show(id)
        }
        return ApprovalState.serverEnds.contains(answer.value.status) ? answer.value : nil
    }

    /// Looks at operations from callbacks during a lost creation, one per second.
    ///
    /// - Returns: `true` if there was one.
    @discardableResult
    func lookUpUnrecognized() async throws -> Bool {
        var hasLooked = false
        while let id = self.withState({ $0.takeUnrecognized(at: self.clock.now) }) {
            hasLooked = true
            let answer: CloudResponse<CloudClient.Operation>
            do { answer = try await self.server.show(id) } catch { continue }
            for key in self.withState({ Array($0.withStrays) }) {
                // An unreadable one does not stop the others.
                guard let stored = try? await self.ledger.load(key), !stored.isForeign else { continue }
                for index in stored.record.parts.indices where try stored.record.isOurs(answer.value, index) {
                    var look = Look(stored: stored)
                    if stored.record.parts[index].operationID == nil, stored.record.state.isPending {
                        try await self.created(answer, index, &look)
                    } else {
                        look.stored = try await self.ledger.change(stored) { $0.addStray(answer.value.id, index) }
                    }
                    self.withState {
                        $0.takeUp(look.stored.record, at: self.clock.now, limits: self.configuration.limits)
                    }
                    try await self.cancel(&look)
                }
            }
        }
        return hasLooked
    }
}
