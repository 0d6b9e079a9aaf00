import Basics
import Coordination
import MobileTokenCloud

/// Ends operations that are not wanted any more, those that a lost creation made included.
extension DeskCore {
    /// Tells the server of what is over, until it says so itself.
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
            } catch let failure as ServerFailure {
                guard failure.kind != .notFound else {
                    look.stored = try await self.ledger.change(look.stored) { $0.isOver(id) }
                    continue
                }
                look.note(failure)
                self.note(failure, look.stored.record)
            }
        }
    }

    /// Cancels an operation, and returns it once it is over; `nil` while it is not.
    private func end(_ id: String, of record: QuestionRecord) async throws(ServerFailure) -> ApprovalOperation? {
        var answer: Dated<ApprovalOperation>
        do {
            answer = try await self.server.cancel(operation: id, reason: record.state.rawValue)
        } catch  where error.kind == .notPending || error.kind == .refused {
            answer = try await self.server.show(operation: id)
        }
        self.note(answer.date)
        return ApprovalState.serverEnds.contains(answer.value.status) ? answer.value : nil
    }

    /// Looks at operations of which callbacks told while a creation is lost, one a second.
    ///
    /// - Returns: `true` when there was one.
    @discardableResult
    func lookUpUnrecognized() async throws -> Bool {
        var hasLooked = false
        while let id = self.withState({ $0.takeUnrecognized(at: self.clock.now) }) {
            hasLooked = true
            let answer: Dated<ApprovalOperation>
            do { answer = try await self.server.show(operation: id) } catch { continue }
            self.note(answer.date)
            for key in self.withState({ Array($0.withStrays) }) {
                // One that cannot be read keeps the others from nothing.
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
