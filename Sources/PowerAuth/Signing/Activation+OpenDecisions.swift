import Basics
import Foundation
import PowerAuthProtocol

// Decisions whose answers were lost, as the server's counter shows them to whoever signs next.
extension Activation {
    /// Asks for the status, and writes what it shows of them: the next signature hides it.
    ///
    /// They are read first, and so is the time that each may take to arrive. A status says nothing of what was signed after it was
    /// asked for, such as by others while this process stood still.
    ///
    /// Nothing depends on the writing. What is not written stays open, for an agent or the next decision by hand to find out.
    func fetchStatusBeforeSigning() async throws -> ComparedStatus {
        let open = (try? await self.openDecisions())?.map { ($0, cannotArrive: self.cannotArrive($0)) } ?? []
        let compared = try await self.fetchStatus()
        guard compared.status.state != .removed else { return compared }
        for (decision, cannotArrive) in open {
            let fate = CounterEvidence(ofMove: decision.moves, clientMoves: compared.moves, compared.status.counter)
            guard let result = try? await self.result(of: decision, fate, cannotArrive: cannotArrive) else { continue }
            await self.resolve(decision, as: result)
        }
        return compared
    }

    /// - Returns: `nil` while nothing can be said for good, and where an agent finds out more by asking for the operation.
    private nonisolated func result(
        of decision: OpenDecision,
        _ fate: CounterEvidence,
        cannotArrive: Bool
    ) async throws -> DecisionOutcome.Result? {
        switch fate {
        case .followed: return .followed
        case .notFollowed: return cannotArrive ? .notFollowed : nil
        case .unknown:
            guard cannotArrive, !decision.intent.isAutomatic else { return nil }
            return try await self.wasFollowed(decision) ? nil : .unknown
        }
    }

    /// Returns the time in which a request may still reach the server, by every clock that is known: until the moment that its intent
    /// names. What names none has this client's time-out.
    package nonisolated func timeLeft(of decision: OpenDecision) -> Duration {
        let intent = decision.intent
        let limit =
            intent.arrivesBefore.map { Duration(boundedSeconds: $0.timeIntervalSince(intent.localDate)) }
            ?? self.requestTimeout
        var age = self.server.clocks.reading.wall.timeIntervalSince(intent.localDate)
        // Only the server's time tells, where the wall clock was set.
        if let sent = intent.serverDate, let now = self.server.time.statedDate {
            age = min(age, now.timeIntervalSince(sent))
        }
        // Nothing was signed in the future, whatever a clock says.
        return max(.zero, limit - Duration(boundedSeconds: max(0, age)))
    }

    /// Returns whether a status has shown, before later signatures hid it, that the server accepted the signature of a decision.
    nonisolated func wasFollowed(_ decision: OpenDecision) async throws -> Bool {
        try await self.hasReceipt(near: decision, of: self.activationID) { receipt in
            receipt.isOf(decision) && receipt.outcome?.result == .followed
        }
    }

    /// Returns whether the store has a receipt of another signature, by which that one decided an operation: the server said so, or it was
    /// concluded.
    package nonisolated func isClaimed(otherThanBy decision: OpenDecision) async throws -> Bool {
        try await self.hasOtherReceipt(ofOperationOf: decision) {
            [.accepted, .inferred].contains($0.outcome?.result)
        }
    }

    /// Returns whether the store has a receipt of another signature that may have decided the operation of a decision.
    package nonisolated func isContested(_ decision: OpenDecision) async throws -> Bool {
        try await self.hasOtherReceipt(ofOperationOf: decision) { $0.outcome?.result.decidedNothing != true }
    }

    private nonisolated func hasOtherReceipt(
        ofOperationOf decision: OpenDecision,
        where matches: (DecisionReceipt) -> Bool
    ) async throws -> Bool {
        try await self.hasReceipt(near: decision, of: nil) { receipt in
            matches(receipt) && !receipt.isOf(decision)
                && receipt.intent.personalData?.operationID.isExactly(decision.intent.operationID) == true
        }
    }

    /// Looks through the receipts from an hour before a decision.
    private nonisolated func hasReceipt(
        near decision: OpenDecision,
        of activationID: String?,
        where matches: (DecisionReceipt) -> Bool
    ) async throws -> Bool {
        let date = decision.intent.localDate - 3_600
        return try await MobileTokenError.mapStoreErrors {
            var number = try await self.server.store.receiptNumber(before: date)
            while true {
                let page = try await self.server.store.receipts(of: activationID, after: number, limit: 256)
                guard let last = page.last else { return false }
                if page.contains(where: matches) { return true }
                number = last.number
            }
        }
    }
}

extension ActivationStore {
    /// Returns a number before all receipts of a date and later, not far from the first of them: found by halving, for there may be
    /// millions.
    fileprivate func receiptNumber(before date: Date) async throws -> UInt64 {
        func older(after number: UInt64) async throws -> UInt64? {
            let receipt = try await self.receipts(of: nil, after: number, limit: 1).first
            return receipt.flatMap { $0.intent.localDate < date ? $0.number : nil }
        }
        var (low, high) = (UInt64(0), UInt64(256))
        while let number = try await older(after: high) {
            low = number
            high = number.multipliedReportingOverflow(by: 2).overflow ? .max : number * 2
        }
        while high - low > 256 {
            let middle = low + (high - low) / 2
            if let number = try await older(after: middle) { low = min(number, high) } else { high = middle }
        }
        return low
    }
}
