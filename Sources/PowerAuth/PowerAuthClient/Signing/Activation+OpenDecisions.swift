import Basics
package import DecisionReceipts
import Foundation
import PowerAuthProtocol

// Decisions with lost responses, and the evidence of the server's counter.
extension Activation {
    /// Fetches the status and records the outcomes it proves, because the next signature destroys the evidence.
    ///
    /// The decisions are read first: a status says nothing about later signatures, for example by other processes while this one
    /// was suspended. Unrecorded outcomes stay open for an agent or the next manual decision.
    ///
    /// - Returns: The status, and the decisions that the server may still process.
    func fetchStatusBeforeSigning() async throws -> (compared: ComparedStatus, open: [OpenDecision]) {
        let decisions = try await self.openDecisions()
        let compared = try await self.fetchStatus()
        guard compared.status.state != .removed else { return (compared, []) }
        var open: [OpenDecision] = []
        for decision in decisions {
            let counter = DecisionFate.Counter(compared.status, moves: compared.moves, of: decision)
            var fate = DecisionFate(decision)
            fate.see(counter)
            if let result = fate.result, result != decision.result { await self.resolve(decision, as: result) }
            if counter == .behind { open.append(decision) }
        }
        return (compared, open)
    }

    /// Returns how long a request may still reach the server, by every known clock: until the deadline in its intent, or by this
    /// client's timeout.
    package nonisolated func timeLeft(of decision: OpenDecision) -> Duration {
        let intent = decision.intent
        let limit =
            intent.arrivesBefore.map { Duration(boundedSeconds: $0.timeIntervalSince(intent.localDate)) }
            ?? self.requestTimeout
        var age = self.server.clocks.reading.wall.timeIntervalSince(intent.localDate)
        // After a change of the wall clock, only the server's time is reliable.
        if let sent = intent.serverDate, let now = self.server.time.statedDate {
            age = min(age, now.timeIntervalSince(sent))
        }
        // A signature from the future counts as made now.
        return max(.zero, limit - Duration(boundedSeconds: max(0, age)))
    }

    /// Returns the results of other signatures for the same operation, from the receipts.
    package nonisolated func results(ofOthersThan decision: OpenDecision) async throws -> [DecisionOutcome.Result?] {
        try await self.receipts(around: decision) { receipt in
            !receipt.isOf(decision)
                && receipt.intent.personalData?.operationID.isExactly(decision.intent.operationID) == true
        }.map(\.outcome?.result)
    }

    /// Returns whether the store has the decision's receipt. A restored one may have lost it.
    nonisolated func hasReceipt(of decision: OpenDecision) async throws -> Bool {
        try await !self.receipts(around: decision) { $0.isOf(decision) }.isEmpty
    }

    /// Returns receipts from an hour before the decision on.
    private nonisolated func receipts(
        around decision: OpenDecision,
        where isWanted: (DecisionReceipt) -> Bool
    ) async throws -> [DecisionReceipt] {
        let date = decision.intent.localDate - 3_600
        return try await MobileTokenError.mapStoreErrors {
            var number = try await self.server.store.receiptNumber(before: date)
            var receipts: [DecisionReceipt] = []
            while true {
                let page = try await self.server.store.receipts(of: nil, after: number, limit: 256)
                guard let last = page.last else { return receipts }
                receipts += page.filter(isWanted)
                number = last.number
            }
        }
    }
}

extension ActivationStore {
    /// Returns a number shortly before the first receipt of a date, by binary search among possibly millions.
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
