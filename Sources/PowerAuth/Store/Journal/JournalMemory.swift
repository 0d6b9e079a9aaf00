import Basics
import Foundation

/// The memory of a journal between its calls: rows as it left them, and the outcomes that are not in the store yet.
///
/// Rows and intents in it stay sealed; outcomes that wait are not, and say nothing of the operation. All of it is bounded.
struct JournalMemory: Sendable {
    /// An intent that this process wrote, as long as its outcome may follow.
    struct WrittenIntent: Sendable {
        /// For how long a store that was put back may be given the intent again. What is missing later was deleted on purpose.
        private static let restorationLimit: TimeInterval = 3_600

        let tag: WriteTag
        let key: Int64
        let sealed: SealedReceipt
        fileprivate var mayBeErased = false
        /// An outcome was written that only the server's own word would replace.
        fileprivate var isDecided = false

        init(tag: WriteTag, key: Int64, sealed: SealedReceipt) {
            self.tag = tag
            self.key = key
            self.sealed = sealed
        }

        /// Returns the intent, to be written again where it is missing; `nil` when that is no fault.
        func lost(underKey key: Int64, at date: Date) -> SealedReceipt? {
            guard !self.mayBeErased, key == self.key else { return nil }
            return date.timeIntervalSince(self.sealed.date) < Self.restorationLimit ? self.sealed : nil
        }
    }

    /// An outcome that could not be written when it was known.
    struct KeptOutcome: Sendable, Equatable {
        let activationID: String
        let moves: UInt64
        /// The tag of the intent; `nil` means the latest of that move.
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

    /// The row that a change may be made of; only ever the basis of a swap.
    func row(of activationID: String) -> LoadedRow? { self.rows[ExactString(activationID)] }

    mutating func remember(_ row: LoadedRow) {
        if self.rows.count >= Self.limit, let any = self.rows.keys.first { self.rows[any] = nil }
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

    /// Receipts are erased or deleted: nothing of them may come back.
    mutating func noteErasure() {
        for move in self.intents.keys { self.intents[move]?.mayBeErased = true }
    }

    /// The intent of which the least may follow: one that is decided, else the oldest.
    private var mostDispensable: Move? {
        self.intents.min { left, right in
            let (left, right) = (left.value, right.value)
            return left.isDecided != right.isDecided ? left.isDecided : left.sealed.date < right.sealed.date
        }?.key
    }

    /// An outcome was written. Nothing will follow one that is final.
    mutating func noteWritten(_ outcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) {
        let move = Move(activationID: ExactString(activationID), moves: moves)
        if outcome.isFinal { self.intents[move] = nil } else { self.intents[move]?.isDecided = !outcome.isOpen }
    }

    /// Keeps an outcome to be written later. The oldest give way: they stay open, and are found out like those of a process that
    /// was killed.
    mutating func keep(_ outcome: KeptOutcome) {
        if self.outcomes.count >= Self.limit { self.outcomes.removeFirst() }
        self.outcomes.append(outcome)
    }

    /// An outcome was written.
    mutating func removeOutcome(_ outcome: KeptOutcome) {
        if let index = self.outcomes.firstIndex(of: outcome) { self.outcomes.remove(at: index) }
    }

    /// Returns the last outcome of an intent that is kept.
    func outcome(ofMove moves: UInt64, of activationID: String, tag: WriteTag?) -> DecisionOutcome? {
        self.outcomes.last { kept in
            kept.moves == moves && kept.activationID.isExactly(activationID) && (kept.tag == nil || kept.tag == tag)
        }?.outcome
    }
}
