import Basics
import Coordination
package import DecisionReceipts
package import Foundation
import Synchronization

/// Keeps rows in memory. Of the receipts, the latest ten thousand entries or more are kept by default. Beyond twice that, the
/// oldest are dropped, except open ones.
package final class MemoryDriver: JournalDriver {
    /// The whole content, as a value to copy and restore.
    package struct Contents: Sendable {
        fileprivate let entryLimit: Int
        fileprivate var keys: [StoreFacts.Key] = []
        fileprivate private(set) var rows: [ExactString: LoadedRow] = [:]
        /// The activations being upgraded, of which a fleet asks each second.
        fileprivate private(set) var upgrading: Set<ExactString> = []
        fileprivate var lastSlot: Int64 = 0
        fileprivate var entries: [Entry] = []
        fileprivate var lastNumber: UInt64 = 0
        fileprivate var pause: DecisionPause?
        fileprivate var chargeSums = ChargeSums()
        fileprivate var export: ExportNote?

        /// - Parameter entryLimit: The minimum number of receipt entries to keep.
        package init(entryLimit: Int = 10_000) { self.entryLimit = entryLimit }

        /// Takes over one activation without its receipts.
        package init(entryLimit: Int, keys: [StoreFacts.Key], row: LoadedRow) {
            (self.entryLimit, self.keys, self.lastSlot) = (entryLimit, keys, row.slot)
            self.set(row, for: ExactString(row.sealed.activationID))
        }

        /// The check values of the sealing keys.
        package var sealingKeys: [StoreFacts.Key] { self.keys }
        package func row(of activationID: String) -> LoadedRow? { self.rows[ExactString(activationID)] }

        fileprivate mutating func set(_ row: LoadedRow?, for id: ExactString) {
            self.rows[id] = row
            if row?.sealed.fields.contains(SealedActivation.upgradeMark) == true {
                self.upgrading.insert(id)
            } else {
                self.upgrading.remove(id)
            }
        }
    }

    /// An entry. An intent has the number and weight of its latest outcome.
    fileprivate struct Entry: Sendable {
        let number: UInt64
        let intent: UInt64?
        let tag: WriteTag
        let key: Int64
        var sealed: SealedReceipt
        var outcome: ReceiptRow.Outcome?
        var outcomeNumber: UInt64?
        var weight = 0
        var isReleased = false

        var isOpen: Bool { self.intent == nil && self.weight < DecisionOutcome.Result.decidedWeight }
    }

    private let contents: Mutex<Contents>
    private let marks: HighWaterMarks?
    private let isShared: Bool
    private let mayLoseOutcomes: Bool
    /// Orders the signatures.
    let gate = KeyedSemaphore()

    /// - Parameters:
    ///   - contents: The contents of another driver.
    ///   - marks: The marks of a store that a test restores.
    ///   - isShared: `true` if a test shares this driver between several journals.
    ///   - mayLoseOutcomes: `true` if a test removes outcomes.
    package init(
        _ contents: Contents = Contents(),
        marks: HighWaterMarks? = nil,
        isShared: Bool = false,
        mayLoseOutcomes: Bool = false
    ) {
        self.contents = Mutex(contents)
        self.marks = marks
        self.isShared = isShared
        self.mayLoseOutcomes = mayLoseOutcomes
    }

    package var snapshot: Contents {
        get { self.contents.withLock { $0 } }
        set { self.contents.withLock { $0 = newValue } }
    }

    package func tag(of activationID: String) -> WriteTag? {
        self.contents.withLock { $0.rows[ExactString(activationID)]?.tag }
    }

    package func open() async throws -> StoreFacts {
        StoreFacts(
            keys: self.contents.withLock { $0.keys },
            marks: self.marks,
            isShared: self.isShared,
            mayLoseOutcomes: self.mayLoseOutcomes
        )
    }

    package func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key] {
        self.contents.withLock { contents in
            if contents.keys == known {
                contents.keys.append(StoreFacts.Key(number: (known.last?.number ?? 0) + 1, check: check))
            }
            return contents.keys
        }
    }

    package func close() async {}

    // MARK: Activations

    package func load(_ activationID: String) async throws -> LoadedRow? {
        self.contents.withLock { contents in
            var row = contents.rows[ExactString(activationID)]
            row?.pause = contents.pause
            return row
        }
    }

    package func swap(_ change: RowChange) async throws -> SwapAnswer {
        self.contents.withLock { contents in
            let id = ExactString(change.activationID)
            guard var row = contents.rows[id], row.slot == change.slot else { return .gone }
            if row.tag == change.newTag { return .written }
            guard row.tag == change.tag else { return .otherTag }
            if change.heedsPause, let pause = contents.pause { return .paused(pause) }
            if let limit = change.charges.flatMap({ contents.chargeSums.limit(passedBy: $0) }) {
                return .limited(limit)
            }
            row = row.applying(change)
            contents.set(row, for: id)
            if let intent = change.intent { contents.append(intent, tag: change.newTag, key: change.key) }
            return .written
        }
    }

    package func insert(_ row: NewRow) async throws -> InsertAnswer {
        self.contents.withLock { contents in
            let id = ExactString(row.sealed.activationID)
            if let held = contents.rows[id] { return held.tag == row.tag ? .written(slot: held.slot) : .held }
            contents.lastSlot += 1
            let loaded = LoadedRow(
                slot: contents.lastSlot,
                tag: row.tag,
                key: row.key,
                sealed: row.sealed,
                format: row.format
            )
            contents.set(loaded, for: id)
            return .written(slot: contents.lastSlot)
        }
    }

    package func rehearse(_ row: NewRow) async throws -> Bool { true }

    package func remove(_ activationID: String) async throws -> Int64? {
        self.contents.withLock { contents in
            let id = ExactString(activationID)
            defer { contents.set(nil, for: id) }
            return contents.rows[id]?.slot
        }
    }

    package func activationIDs(_ filter: RowFilter) async throws -> [String] {
        self.contents.withLock { contents in
            let slots =
                switch filter {
                case .all: contents.rows.map { (slot: $0.value.slot, id: $0.key.string) }
                case .upgrading:
                    contents.upgrading.compactMap { id in contents.rows[id].map { (slot: $0.slot, id: id.string) } }
                }
            return slots.sorted { $0.slot < $1.slot }.map(\.id)
        }
    }

    package func checkReaders(of format: RecordFormat) async throws {}
    package func beginEpoch(after epoch: Int64) async throws -> Bool { false }

    package func withTurn<Result: Sendable>(
        of activationID: String,
        slot: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        guard let slot = self.contents.withLock({ $0.rows[ExactString(activationID)]?.slot }) else {
            throw MobileTokenError.notStored()
        }
        try await self.gate.enter(activationID)
        defer { self.gate.leave(activationID) }
        return try await body(Turn(slot: slot))
    }

    // MARK: Receipts

    package func append(_ outcome: SealedOutcome) async throws -> AppendAnswer {
        self.contents.withLock { contents in
            var (outcome, index) = (outcome, contents.index(ofIntentOf: outcome))
            if index == nil, let intent = outcome.intent, let tag = outcome.tag {
                contents.append(intent, tag: tag, key: outcome.key)
                (outcome, index) = (outcome.withRestoredIntent, contents.entries.indices.last)
            }
            guard let index else { return .notBetter }
            let known = contents.entries[index].weight
            let isOpen = outcome.weight < DecisionOutcome.Result.decidedWeight
            guard outcome.weight > known || outcome.weight == known && isOpen else { return .notBetter }
            contents.append(outcome, at: index)
            return .written
        }
    }

    package func receipts(_ query: ReceiptQuery) async throws -> ReceiptPage {
        self.contents.withLock { contents in
            switch query {
            case .open(let activationID):
                return contents.page(limit: .max) { entry in
                    entry.isOpen && activationID.map { entry.sealed.activationID.isExactly($0) } ?? true
                }
            case .openSelected(let selection, let number):
                return contents.page(limit: 100) { $0.isOpen && $0.number > number && selection.selects($0.sealed) }
            case .entries(let number, let limit):
                return contents.page(limit: limit) { $0.number > number }
            case .receipts(let activationID, let number, let limit):
                return contents.page(limit: limit) { entry in
                    entry.intent == nil && entry.number > number
                        && activationID.map { entry.sealed.activationID.isExactly($0) } ?? true
                }
            }
        }
    }

    package func eraseReceipts(_ selection: ReceiptSelection, after number: UInt64) async throws -> PrunedReceipts {
        self.contents.withLock { contents in
            var count = 0
            for index in contents.entries.indices where !contents.entries[index].isOpen {
                let entry = contents.entries[index]
                guard entry.intent == nil, selection.selects(entry.sealed) else { continue }
                contents.entries[index].sealed = entry.sealed.erased
                count += 1
            }
            return PrunedReceipts(count: count, end: nil)
        }
    }

    package func pruneReceipts(
        after number: UInt64,
        before last: UInt64,
        decidedBefore date: Date
    ) async throws -> PrunedReceipts {
        self.contents.withLock { contents in
            let old = contents.entries.filter { entry in
                entry.intent == nil && !entry.isOpen && entry.sealed.date < date
                    && max(entry.number, entry.outcomeNumber ?? 0) < last
            }
            let numbers = Set(old.map(\.number))
            let count = contents.entries.count
            contents.entries.removeAll { numbers.contains($0.intent ?? $0.number) }
            return PrunedReceipts(count: count - contents.entries.count, end: nil)
        }
    }

    package func overwriteDeleted() async throws {}

    package func note(_ export: ExportNote) async throws { self.contents.withLock { $0.export = export } }

    package func receiptFigures() async throws -> ReceiptFigures {
        self.contents.withLock { contents in
            let exported = min(contents.export?.number ?? 0, contents.lastNumber)
            return ReceiptFigures(
                unexportedCount: Int(clamping: contents.lastNumber - exported),
                lastExport: contents.export?.date,
                byteCount: contents.entries.reduce(0) {
                    $0 + $1.sealed.body.count + ($1.sealed.personalData?.count ?? 0)
                }
            )
        }
    }

    // MARK: Limits

    package func limitUse(_ checks: [LimitCharges.Check]) async throws -> [Int64] {
        self.contents.withLock { contents in checks.map { contents.chargeSums.used($0) } }
    }

    package func limitClosure() async throws -> Int64? { self.contents.withLock { $0.chargeSums.closure } }
    package func setLimitClosure(_ minute: Int64?) async throws {
        self.contents.withLock { $0.chargeSums.closure = minute }
    }

    // MARK: Pausing

    package func decisionPause() async throws -> DecisionPause? { self.contents.withLock { $0.pause } }
    package func setDecisionPause(_ pause: DecisionPause?) async throws { self.contents.withLock { $0.pause = pause } }
}

extension MemoryDriver.Contents {
    fileprivate mutating func append(_ intent: SealedReceipt, tag: WriteTag, key: Int64) {
        if let charges = intent.charges { self.chargeSums.charge(LimitCharges.entries(stored: charges)) }
        self.append(MemoryDriver.Entry(number: self.lastNumber + 1, intent: nil, tag: tag, key: key, sealed: intent))
    }

    /// Adds an outcome to the intent at an index.
    fileprivate mutating func append(_ outcome: SealedOutcome, at index: Int) {
        let intent = self.entries[index]
        if let charges = intent.sealed.charges, intent.isReleased != outcome.releasesCharges {
            self.chargeSums.release(LimitCharges.entries(stored: charges), isUndone: intent.isReleased)
            self.entries[index].isReleased = outcome.releasesCharges
        }
        self.entries[index].weight = outcome.weight
        self.entries[index].outcome = ReceiptRow.Outcome(key: outcome.key, sealed: outcome.sealed)
        self.entries[index].outcomeNumber = self.lastNumber + 1
        self.append(
            MemoryDriver.Entry(
                number: self.lastNumber + 1,
                intent: intent.number,
                tag: intent.tag,
                key: outcome.key,
                sealed: outcome.sealed
            )
        )
    }

    private mutating func append(_ entry: MemoryDriver.Entry) {
        self.lastNumber += 1
        self.entries.append(entry)
        guard self.entries.count >= 2 * self.entryLimit else { return }
        // Rare and in bulk, because removing the first entry moves all others.
        let end = self.entries[self.entryLimit].number
        self.entries.removeAll { $0.number < end && !$0.isOpen }
    }

    fileprivate func index(ofIntentOf outcome: SealedOutcome) -> Int? {
        self.entries.lastIndex { entry in
            entry.intent == nil && entry.sealed.moves == outcome.sealed.moves
                && entry.sealed.activationID.isExactly(outcome.sealed.activationID)
                && (outcome.tag == nil || outcome.tag == entry.tag)
        }
    }

    fileprivate func page(limit: Int, where isWanted: (MemoryDriver.Entry) -> Bool) -> ReceiptPage {
        let found = self.entries.lazy.filter(isWanted).prefix(max(0, limit)).map { entry in
            ReceiptRow(
                number: entry.number,
                tag: entry.tag,
                intent: entry.intent,
                key: entry.key,
                sealed: entry.sealed,
                outcome: entry.outcome
            )
        }
        let rows = Array(found)
        return ReceiptPage(rows: rows, end: rows.count < limit ? nil : rows.last?.number)
    }
}

extension SealedReceipt {
    fileprivate var erased: Self {
        Self(
            activationID: self.activationID,
            moves: self.moves,
            date: self.date,
            body: self.body,
            personalData: nil,
            charges: self.charges
        )
    }
}
