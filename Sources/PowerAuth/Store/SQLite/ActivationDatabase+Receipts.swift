import Basics
import ExactJSON
package import Foundation
import SQLiteDatabase

/// Receipts as rows. What they say is sealed; which is open is not.
extension ActivationDatabase {
    /// A receipt as it is stored: an intent, and its latest outcome.
    struct StoredReceipt {
        let number: UInt64
        let intent: SealedReceipt
        let outcome: SealedReceipt?
    }

    /// An entry as it is stored.
    struct StoredEntry {
        let number: UInt64
        let sealed: SealedReceipt
        /// The number of the intent, when this is an outcome.
        let intent: UInt64?
    }

    func insert(intent sealed: SealedReceipt) throws {
        try self.connection.run(
            """
            INSERT INTO receipt (activation_id, moves, date, is_open, body, personal_data)
            VALUES (?, ?, ?, 1, ?, ?)
            """,
            [
                .text(sealed.activationID), .integer(Int64(clamping: sealed.moves)), .integer(sealed.date.milliseconds),
                .blob(sealed.body), sealed.personalData.map { .blob($0) } ?? .null,
            ]
        )
    }

    /// Adds what became of an intent, if that is more than what is known: the intent is open, and has no outcome, or one that is
    /// open where this one is not.
    ///
    /// - Returns: Whether it was added.
    @discardableResult
    func insert(outcome sealed: SealedReceipt, isOpen: Bool) throws -> Bool {
        try self.insert(
            outcome: sealed,
            isOpen: isOpen,
            where: """
                activation_id = ? AND moves = ? AND is_open = 1 AND (outcome IS NULL OR ? = 0) ORDER BY number DESC LIMIT 1
                """,
            [.text(sealed.activationID), .integer(Int64(clamping: sealed.moves)), .integer(isOpen ? 1 : 0)]
        )
    }

    /// Adds what became of the intent of this number, whatever is known of it.
    func insert(outcome sealed: SealedReceipt, isOpen: Bool, ofIntent number: UInt64) throws {
        try self.insert(outcome: sealed, isOpen: isOpen, where: "number = ?", [.integer(Int64(clamping: number))])
    }

    /// What is known of the intent of a move; `nil` when there is no such intent.
    func known(ofMove moves: UInt64, of activationID: String) throws -> (intent: UInt64, outcome: SealedReceipt?)? {
        // There is no index for those that are closed, but the latest are looked at first.
        try self.connection.rows(
            """
            SELECT i.number, i.outcome, i.activation_id, i.moves, o.date, o.body, NULL
            FROM receipt AS i LEFT JOIN receipt AS o ON o.number = i.outcome
            WHERE i.activation_id = ? AND i.moves = ? AND i.intent IS NULL ORDER BY i.number DESC LIMIT 1
            """,
            [.text(activationID), .integer(Int64(clamping: moves))]
        ) { row in
            (UInt64(clamping: row.integer(0)), row.isNull(1) ? nil : row.sealedReceipt(at: 2))
        }.first
    }

    @discardableResult
    private func insert(
        outcome sealed: SealedReceipt,
        isOpen: Bool,
        where condition: String,
        _ values: [SQLiteValue]
    ) throws -> Bool {
        let before = self.connection.changedRowCount
        try self.connection.run(
            """
            INSERT INTO receipt (activation_id, moves, date, intent, is_open, body)
            SELECT activation_id, moves, ?, number, 0, ? FROM receipt WHERE \(condition)
            """,
            [.integer(sealed.date.milliseconds), .blob(sealed.body)] + values
        )
        guard self.connection.changedRowCount > before else { return false }
        try self.connection.run(
            """
            UPDATE receipt SET outcome = last_insert_rowid(), is_open = ?
            WHERE number = (SELECT intent FROM receipt WHERE number = last_insert_rowid())
            """,
            [.integer(isOpen ? 1 : 0)]
        )
        return true
    }

    func openIntents(of activationID: String) throws -> [SealedReceipt] {
        try self.connection.rows(
            """
            SELECT activation_id, moves, date, body, personal_data FROM receipt
            WHERE activation_id = ? AND is_open = 1 ORDER BY number
            """,
            [.text(activationID)]
        ) { $0.sealedReceipt(at: 0) }
    }

    func entries(after number: UInt64, limit: Int) throws -> [StoredEntry] {
        try self.connection.rows(
            """
            SELECT number, intent, activation_id, moves, date, body, personal_data FROM receipt
            WHERE number > ? ORDER BY number LIMIT ?
            """,
            [.integer(Int64(clamping: number)), .integer(Int64(clamping: max(0, limit)))]
        ) { row in
            StoredEntry(
                number: UInt64(clamping: row.integer(0)),
                sealed: row.sealedReceipt(at: 2),
                intent: row.isNull(1) ? nil : UInt64(clamping: row.integer(1))
            )
        }
    }

    /// How many entries one statement looks at, at most, where no index leads to those that are looked for.
    private static let partSize: Int64 = 1_000

    /// Returns the number of the last entry that is looked at together with others behind a number; `nil` when there is none.
    func end(ofPartAfter number: UInt64) throws -> UInt64? {
        let end = try self.connection.rows(
            "SELECT max(number) FROM (SELECT number FROM receipt WHERE number > ? ORDER BY number LIMIT \(Self.partSize))",
            [.integer(Int64(clamping: number))]
        ) { $0.isNull(0) ? nil : UInt64(clamping: $0.integer(0)) }
        return end.first ?? nil
    }

    /// Some receipts, and how far was looked for them; `end` is `nil` when there is nothing behind.
    typealias Part = (receipts: [StoredReceipt], end: UInt64?)

    /// Reads receipts, perhaps fewer than there are.
    func receipts(of activationID: String?, after number: UInt64, limit: Int) throws -> Part {
        // Those of an activation may lie far apart, and an index of them would slow each decision down.
        let end = try activationID == nil ? UInt64(Int64.max) : self.end(ofPartAfter: number)
        guard let end else { return ([], nil) }
        let receipts = try self.connection.rows(
            """
            SELECT i.number, i.outcome, i.activation_id, i.moves, i.date, i.body, i.personal_data,
                i.activation_id, i.moves, o.date, o.body, NULL
            FROM receipt AS i LEFT JOIN receipt AS o ON o.number = i.outcome
            WHERE i.number > ? AND i.number <= ? AND i.intent IS NULL AND (?3 IS NULL OR i.activation_id = ?3)
            ORDER BY i.number LIMIT ?
            """,
            [
                .integer(Int64(clamping: number)), .integer(Int64(clamping: end)),
                activationID.map { .text($0) } ?? .null, .integer(Int64(clamping: max(0, limit))),
            ]
        ) { row in
            StoredReceipt(
                number: UInt64(clamping: row.integer(0)),
                intent: row.sealedReceipt(at: 2),
                // Its entry may be gone though it is named: then the receipt cannot be read.
                outcome: row.isNull(1) ? nil : row.sealedReceipt(at: 7)
            )
        }
        if receipts.count < limit { return (receipts, activationID == nil ? receipts.last?.number : end) }
        return (receipts, receipts.last?.number)
    }

    // MARK: Erasing

    private static let isSelected = """
        number > ?1 AND number <= ?2 AND intent IS NULL AND personal_data IS NOT NULL
            AND (?3 IS NULL OR activation_id = ?3) AND (?4 IS NULL OR date < ?4)
        """

    private static func values(_ selection: ReceiptSelection, _ part: ClosedRange<UInt64>) -> [SQLiteValue] {
        [
            .integer(Int64(clamping: part.lowerBound)), .integer(Int64(clamping: part.upperBound)),
            selection.activationID.map { .text($0) } ?? .null,
            selection.decidedBefore.map { .integer($0.milliseconds) } ?? .null,
        ]
    }

    /// Returns the open ones of those that are to be erased, behind the first number of a part.
    func openIntents(in selection: ReceiptSelection, _ part: ClosedRange<UInt64>) throws -> [SealedReceipt] {
        try self.connection.rows(
            """
            SELECT activation_id, moves, date, body, personal_data FROM receipt
            WHERE \(Self.isSelected) AND is_open = 1 ORDER BY number
            """,
            Self.values(selection, part)
        ) { $0.sealedReceipt(at: 0) }
    }

    /// Erases personal data behind the first number of a part, and returns of how many receipts.
    func erase(_ selection: ReceiptSelection, _ part: ClosedRange<UInt64>) throws -> Int {
        let before = self.connection.changedRowCount
        try self.connection.run(
            "UPDATE receipt SET personal_data = NULL WHERE \(Self.isSelected)",
            Self.values(selection, part)
        )
        return self.connection.changedRowCount - before
    }

    // MARK: All of them

    /// Replaces what every entry holds, a page at a time.
    ///
    /// - Parameter change: Returns `nil` to leave an entry as it is.
    func changeReceipts(_ change: (StoredEntry) throws -> SealedReceipt?) throws {
        var last: UInt64 = 0
        while true {
            let page = try self.entries(after: last, limit: 256)
            guard let end = page.last else { return }
            for entry in page {
                guard let changed = try change(entry) else { continue }
                try self.connection.run(
                    "UPDATE receipt SET body = ?, personal_data = ? WHERE number = ?",
                    [
                        .blob(changed.body), changed.personalData.map { .blob($0) } ?? .null,
                        .integer(Int64(clamping: entry.number)),
                    ]
                )
            }
            last = end.number
        }
    }
}

/// A pause is a setting, so that a store which older processes have open need not be migrated for it.
extension ActivationDatabase {
    static let decisionPause = "decision-pause"

    func decisionPause() throws -> DecisionPause? {
        try self.connection.firstRow("SELECT value FROM setting WHERE name = ?", [.text(Self.decisionPause)]) { row in
            DecisionPause(stored: row.blob(0))
        }
    }

    func setDecisionPause(_ pause: DecisionPause?) throws {
        guard let pause else { return try self.removeSetting(Self.decisionPause) }
        try self.set(Self.decisionPause, to: pause.stored)
    }
}

extension DecisionPause {
    /// Whatever a row says, it stops: reading it must not be what goes wrong.
    init(stored: [UInt8]) {
        let members = (try? JSONValue(parsing: stored))?.object
        self.init(
            date: Date(milliseconds: members?["date"]?.int64 ?? 0),
            reason: members?["reason"]?.string ?? ""
        )
    }

    fileprivate var stored: [UInt8] {
        let members: JSONObject = [
            "date": .number(JSONNumber(self.date.milliseconds)), "reason": .string(self.reason),
        ]
        return JSONValue.object(members).serialized()
    }
}

extension Date {
    /// Milliseconds since 1970, as stores keep them.
    package var milliseconds: Int64 { Int64(saturating: (self.timeIntervalSince1970 * 1_000).rounded()) }

    package init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}

extension SQLiteRow {
    /// Reads an activation, a number of moves, a date, a body and personal data.
    fileprivate func sealedReceipt(at column: Int32) -> SealedReceipt {
        SealedReceipt(
            activationID: self.text(column),
            moves: UInt64(clamping: self.integer(column + 1)),
            date: Date(milliseconds: self.integer(column + 2)),
            body: self.blob(column + 3),
            personalData: self.isNull(column + 4) ? nil : self.blob(column + 4)
        )
    }
}
