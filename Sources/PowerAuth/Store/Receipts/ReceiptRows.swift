import Basics

/// The receipts of a store that keeps them in memory, and the rules by which they grow.
struct ReceiptRows: Sendable {
    /// In the order of their numbers. The oldest are forgotten when there are too many.
    private var entries: [ReceiptEntry] = []
    /// The intents whose fate has still to be found out, by number. Not forgotten.
    private var open: [UInt64: Known] = [:]
    private var lastNumber: UInt64 = 0
    private let maximumCount: Int

    /// An intent, and the latest that is known of it.
    private struct Known {
        let intent: RecordedIntent
        var outcome: DecisionOutcome?
    }

    /// - Parameter maximumCount: How many entries are kept at least, where there are so many.
    init(maximumCount: Int) {
        self.maximumCount = max(1, maximumCount)
    }

    /// Adds an intent, which is open.
    mutating func append(_ intent: RecordedIntent) {
        self.append(.intent(intent))
        self.open[self.lastNumber] = Known(intent: intent)
    }

    /// Adds what became of an intent, if it says more than what is known, and closes the intent when nothing is to be found out.
    mutating func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) {
        func isIt(_ intent: RecordedIntent) -> Bool {
            intent.moves == moves && intent.activationID.isExactly(activationID)
        }
        if let number = self.open.filter({ isIt($0.value.intent) }).keys.max() {
            guard outcome.replaces(self.open[number]?.outcome) else { return }
            self.append(.outcome(outcome, ofIntent: number))
            self.open[number]?.outcome = outcome
            if !outcome.isOpen { self.open[number] = nil }
            return
        }
        let closed = self.entries.last { if case .intent(let intent) = $0.content { isIt(intent) } else { false } }
        guard let closed, outcome.replaces(self.outcome(of: closed.number)) else { return }
        self.append(.outcome(outcome, ofIntent: closed.number))
    }

    private func outcome(of number: UInt64) -> DecisionOutcome? {
        for entry in self.entries.reversed() {
            if case .outcome(let outcome, number) = entry.content { return outcome }
        }
        return nil
    }

    private mutating func append(_ content: ReceiptEntry.Content) {
        self.lastNumber += 1
        self.entries.append(ReceiptEntry(number: self.lastNumber, content))
        // Seldom, and many at once: taking the first away moves all others.
        if self.entries.count >= 2 * self.maximumCount { self.entries.removeFirst(self.maximumCount) }
    }

    func openDecisions(of activationID: String) -> [OpenDecision] {
        self.open.sorted { $0.key < $1.key }.map(\.value.intent).compactMap { recorded in
            guard recorded.activationID.isExactly(activationID), let intent = recorded.intent else { return nil }
            return OpenDecision(intent, moves: recorded.moves)
        }
    }

    func entries(after number: UInt64, limit: Int) -> [ReceiptEntry] {
        Array(self.entries.drop { $0.number <= number }.prefix(limit))
    }

    func receipts(of activationID: String?, after number: UInt64, limit: Int) -> [DecisionReceipt] {
        var outcomes: [UInt64: DecisionOutcome] = [:]
        for case .outcome(let outcome, let intent) in self.entries.map(\.content) { outcomes[intent] = outcome }
        return Array(
            self.entries.lazy.compactMap { entry in
                guard entry.number > number, case .intent(let intent) = entry.content,
                    activationID.map({ intent.activationID.isExactly($0) }) ?? true
                else { return nil }
                return DecisionReceipt(number: entry.number, intent: intent, outcome: outcomes[entry.number])
            }.prefix(limit)
        )
    }

    /// Erases personal data; see ``DecisionJournal/eraseReceipts(_:)``.
    mutating func erase(_ selection: ReceiptSelection, unknown: DecisionOutcome) -> Int {
        for intent in self.open.sorted(by: { $0.key < $1.key }).map(\.value.intent) where selection.selects(intent) {
            self.record(unknown, ofMove: intent.moves, of: intent.activationID)
        }
        var count = 0
        for index in self.entries.indices {
            guard case .intent(let intent) = self.entries[index].content, selection.selects(intent) else { continue }
            self.entries[index] = ReceiptEntry(number: self.entries[index].number, .intent(intent.erased))
            count += 1
        }
        return count
    }
}

extension ReceiptSelection {
    /// Returns whether these are personal data to be erased.
    func selects(_ intent: RecordedIntent) -> Bool {
        guard intent.personalData != nil else { return false }
        if let activationID, !intent.activationID.isExactly(activationID) { return false }
        if let decidedBefore, intent.localDate >= decidedBefore { return false }
        return true
    }
}
