import Basics
import DecisionReceipts
import Foundation

/// A journal's memory between calls: rows, and outcomes that are not stored yet. Rows and intents stay sealed. Pending outcomes
/// are not, but contain nothing about the operation. The size is bounded.
struct JournalMemory: Sendable {
    /// An intent written by this process, while its outcome may follow.
    struct WrittenIntent: Sendable {
        /// The time in which a restored store may be given the intent again. Later, a missing intent was deleted deliberately.
        private static let restorationLimit: TimeInterval = 3_600

        let tag: WriteTag
        let key: Int64
        let sealed: SealedReceipt
        fileprivate var mayBeErased = false
        /// Indicates that only the server's own confirmation could replace the written outcome.
        fileprivate var isDecided = false

        init(tag: WriteTag, key: Int64, sealed: SealedReceipt) {
            self.tag = tag
            self.key = key
            self.sealed = sealed
        }

        /// Returns the intent for writing it again; `nil` if it may be missing legitimately.
        func lost(underKey key: Int64, at date: Date) -> SealedReceipt? {
            guard !self.mayBeErased, key == self.key else { return nil }
            return date.timeIntervalSince(self.sealed.date) < Self.restorationLimit ? self.sealed : nil
        }
    }

    /// An outcome that could not be written yet.
    struct KeptOutcome: Sendable, Equatable {
        let activationID: String
        let moves: UInt64
        /// The tag of the intent; `nil` for the latest with that move.
        let tag: WriteTag?
        let outcome: DecisionOutcome
    }

    private struct Move: Hashable {
        let activationID: ExactString
        let moves: UInt64
    }

    static let limit = 1_000

    private var rows: [ExactString: LoadedRow] = [:]
    private var intents: [Move: WrittenIntent] = [:]
    private(set) var outcomes: [KeptOutcome] = []

    /// Returns the row in memory, to be used only for a swap.
    func row(of activationID: String) -> LoadedRow? { self.rows[ExactString(activationID)] }

    mutating func remember(_ row: LoadedRow) {
        // By its index: the collection of the keys would share the storage, and the removal copy it.
        if self.rows.count >= Self.limit { self.rows.remove(at: self.rows.startIndex) }
        self.rows[ExactString(row.sealed.activationID)] = row
    }

    mutating func forget(_ activationID: String) { self.rows[ExactString(activationID)] = nil }

    func intent(ofMove moves: UInt64, of activationID: String) -> WrittenIntent? {
        self.intents[Move(activationID: ExactString(activationID), moves: moves)]
    }

    mutating func remember(_ intent: WrittenIntent) {
        if self.intents.count >= Self.limit, let one = self.mostDispensable { self.intents[one] = nil }
        self.intents[Move(activationID: ExactString(intent.sealed.activationID), moves: intent.sealed.moves)] = intent
    }

    /// Records that receipts are erased or deleted and must not be written again.
    mutating func noteErasure() {
        for move in self.intents.keys { self.intents[move]?.mayBeErased = true }
    }

    /// The intent least likely to be followed: a decided one, otherwise the oldest.
    private var mostDispensable: Move? {
        self.intents.min { left, right in
            let (left, right) = (left.value, right.value)
            return left.isDecided != right.isDecided ? left.isDecided : left.sealed.date < right.sealed.date
        }?.key
    }

    /// Records a written outcome. Nothing follows a final one.
    mutating func noteWritten(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) {
        let move = Move(activationID: ExactString(activationID), moves: moves)
        if outcome.isFinal { self.intents[move] = nil } else { self.intents[move]?.isDecided = !outcome.isOpen }
    }

    /// Keeps an outcome for later. The oldest is dropped if there are too many: it stays open, as after a crash.
    mutating func keep(_ outcome: KeptOutcome) {
        if self.outcomes.count >= Self.limit { self.outcomes.removeFirst() }
        self.outcomes.append(outcome)
    }

    mutating func removeOutcome(_ outcome: KeptOutcome) {
        if let index = self.outcomes.firstIndex(of: outcome) { self.outcomes.remove(at: index) }
    }

    /// Returns the latest kept outcome of an intent.
    func outcome(ofMove moves: UInt64, of activationID: String, tag: WriteTag?) -> DecisionOutcome? {
        self.outcomes.last { kept in
            kept.moves == moves && kept.activationID.isExactly(activationID) && (kept.tag == nil || kept.tag == tag)
        }?.outcome
    }
}
