import Basics

/// The receipts of a store that keeps them in memory, and the rules by which they grow.
struct ReceiptRows: Sendable {
    /// In the order of their numbers. The oldest are forgotten when there are too many.
    private var entries: [ReceiptEntry] = []
    /// The intents whose fate has still to be found out, by number. Not forgotten.
    private var open: [UInt64: RecordedIntent] = [:]
    private var lastNumber: UInt64 = 0
    private let maximumCount: Int

    /// - Parameter maximumCount: How many entries are kept at least, where there are so many.
    init(maximumCount: Int) {
        self.maximumCount = max(1, maximumCount)
    }

    /// Adds an intent, which is open.
    mutating func append(_ intent: RecordedIntent) {
        self.append(.intent(intent))
        self.open[self.lastNumber] = intent
    }

    /// Adds what became of an intent that is open, and closes it when that is known.
    mutating func record(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) {
        let number = self.open.filter { $0.value.moves == moves && $0.value.activationID.isExactly(activationID) }
            .keys.max()
        guard let number else { return }
        self.append(.outcome(outcome, ofIntent: number))
        if !outcome.isOpen { self.open[number] = nil }
    }

    private mutating func append(_ content: ReceiptEntry.Content) {
        self.lastNumber += 1
        self.entries.append(ReceiptEntry(number: self.lastNumber, content))
        // Seldom, and many at once: taking the first away moves all others.
        if self.entries.count >= 2 * self.maximumCount { self.entries.removeFirst(self.maximumCount) }
    }

    func openDecisions(of activationID: String) -> [OpenDecision] {
        self.open.sorted { $0.key < $1.key }.compactMap { _, recorded in
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
        for intent in self.open.sorted(by: { $0.key < $1.key }).map(\.value) where selection.selects(intent) {
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
