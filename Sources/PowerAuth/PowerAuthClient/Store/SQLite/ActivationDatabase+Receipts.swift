import Basics
import DecisionReceipts
import ExactJSON
package import Foundation
import SQLiteDatabase

/// Receipts as rows. Their content is sealed; whether they are open is not.
extension ActivationDatabase {
    func insert(intent sealed: SealedReceipt, tag: WriteTag, _ connection: SQLiteConnection) throws {
        try connection.run(
            """
            INSERT INTO receipt (activation_id, moves, tag, date, weight, body, personal_data, charges)
            VALUES (?, ?, ?, ?, 0, ?, ?, ?)
            """,
            [
                .text(sealed.activationID), .integer(Int64(clamping: sealed.moves)), .integer(tag.rawValue),
                .integer(sealed.date.milliseconds), .blob(sealed.body), sealed.personalData.map { .blob($0) } ?? .null,
                sealed.charges.map { .text($0) } ?? .null,
            ]
        )
    }

    /// Appends outcomes to their intents, each in one statement; a trigger updates the intent's row.
    ///
    /// - Returns: For each, whether it was written; otherwise call ``appendWithIntent(_:)``.
    func append(_ outcomes: [SealedOutcome]) throws -> [Bool] {
        let connection = try self.relaxedConnection()
        guard outcomes.count > 1 else { return try outcomes.map { try self.insert($0, connection) } }
        return try connection.transaction { try outcomes.map { try self.insert($0, connection) } }
    }

    /// Tells why an outcome was not written. If its intent is missing, writes both.
    func appendWithIntent(_ outcome: SealedOutcome) throws -> AppendAnswer {
        let connection = try self.relaxedConnection()
        guard try self.keys().first?.number == outcome.key else { return .otherKey }
        guard let intent = outcome.intent, let tag = outcome.tag, try !self.hasIntent(of: outcome, tag) else {
            return .notBetter
        }
        return try connection.transaction {
            try self.insert(intent: intent, tag: tag, connection)
            return try self.insert(outcome.withRestoredIntent, connection) ? .written : .notBetter
        }
    }

    private func insert(_ outcome: SealedOutcome, _ connection: SQLiteConnection) throws -> Bool {
        let before = connection.changedRowCount
        try connection.run(
            """
            INSERT INTO receipt (activation_id, moves, tag, date, intent, weight, body, is_released)
            SELECT activation_id, moves, tag, ?1, number, ?2, ?3, ?8 FROM receipt
            WHERE activation_id = ?4 AND moves = ?5 AND intent IS NULL AND weight < \(Self.finalWeight)
                AND (?6 IS NULL OR tag = ?6) AND (weight < ?2 OR weight = ?2 AND ?2 < \(Self.decidedWeight))
                AND \(Self.currentKey) = ?7
            ORDER BY number DESC LIMIT 1
            """,
            [
                .integer(outcome.sealed.date.milliseconds), .integer(Int64(outcome.weight)), .blob(outcome.sealed.body),
                .text(outcome.sealed.activationID), .integer(Int64(clamping: outcome.sealed.moves)),
                outcome.tag.map { .integer($0.rawValue) } ?? .null, .integer(outcome.key),
                .integer(outcome.releasesCharges ? 1 : 0),
            ]
        )
        return connection.changedRowCount > before
    }

    static let decidedWeight = DecisionOutcome.Result.decidedWeight
    static let finalWeight = DecisionOutcome.Result.finalWeight

    private func hasIntent(of outcome: SealedOutcome, _ tag: WriteTag) throws -> Bool {
        // Final outcomes have no index, but the latest entries are searched first.
        try self.connection.firstRow(
            """
            SELECT 1 FROM receipt WHERE activation_id = ? AND moves = ? AND tag = ? AND intent IS NULL
            ORDER BY number DESC LIMIT 1
            """,
            [
                .text(outcome.sealed.activationID), .integer(Int64(clamping: outcome.sealed.moves)),
                .integer(tag.rawValue),
            ]
        ) { _ in true } ?? false
    }

    // MARK: Reading

    /// SQLite does not derive the index's own bound from the first one.
    private static let isOpen = "i.intent IS NULL AND i.weight < \(decidedWeight) AND i.weight < \(finalWeight)"

    private static let withOutcomes = "receipt AS i LEFT JOIN receipt AS o ON o.number = i.outcome"

    func receipts(_ query: ReceiptQuery) throws -> ReceiptPage {
        switch query {
        case .open(let activationID):
            return ReceiptPage(
                rows: try self.rows(
                    "\(activationID == nil ? "" : "i.activation_id = ? AND ")\(Self.isOpen) ORDER BY i.number",
                    from: Self.withOutcomes,
                    activationID.map { [.text($0)] } ?? []
                )
            )
        case .openSelected(let selection, let number):
            let rows = try self.rows(
                """
                i.number > ?1 AND \(Self.isOpen) AND i.personal_data IS NOT NULL
                    AND (?2 IS NULL OR i.activation_id = ?2) AND (?3 IS NULL OR i.date < ?3)
                ORDER BY i.number LIMIT \(Self.partSize)
                """,
                from: "receipt AS i INDEXED BY receipt_intent",
                [.integer(Int64(clamping: number))] + Self.values(selection)
            )
            return ReceiptPage(rows: rows, end: rows.count < Self.partSize ? nil : rows.last?.number)
        case .entries(let number, let limit):
            let rows = try self.rows(
                "i.number > ? ORDER BY i.number LIMIT ?",
                [.integer(Int64(clamping: number)), .integer(Int64(clamping: max(0, limit)))]
            )
            return ReceiptPage(rows: rows, end: rows.count < limit ? nil : rows.last?.number)
        case .receipts(let activationID, let number, let limit):
            return try self.receipts(of: activationID, after: number, limit: limit)
        }
    }

    /// The maximum number of entries that one statement scans without an index.
    private static let partSize: Int64 = 1_000

    /// Returns the last number of the next part after `number`; `nil` if there is none.
    func end(ofPartAfter number: UInt64) throws -> UInt64? {
        let end = try self.connection.rows(
            "SELECT max(number) FROM (SELECT number FROM receipt WHERE number > ? ORDER BY number LIMIT \(Self.partSize))",
            [.integer(Int64(clamping: number))]
        ) { $0.isNull(0) ? nil : UInt64(clamping: $0.integer(0)) }
        return end.first ?? nil
    }

    /// Reads receipts, perhaps fewer than there are.
    private func receipts(of activationID: String?, after number: UInt64, limit: Int) throws -> ReceiptPage {
        // An activation's receipts may be far apart, and an index would slow down each decision.
        let end = try activationID == nil ? UInt64(Int64.max) : self.end(ofPartAfter: number)
        guard let end else { return ReceiptPage(rows: []) }
        let rows = try self.rows(
            """
            i.number > ? AND i.number <= ? AND i.intent IS NULL AND (?3 IS NULL OR i.activation_id = ?3)
            ORDER BY i.number LIMIT ?
            """,
            from: Self.withOutcomes,
            [
                .integer(Int64(clamping: number)), .integer(Int64(clamping: end)),
                activationID.map { .text($0) } ?? .null, .integer(Int64(clamping: max(0, limit))),
            ]
        )
        if rows.count < limit { return ReceiptPage(rows: rows, end: activationID == nil ? nil : end) }
        return ReceiptPage(rows: rows, end: rows.last?.number)
    }

    /// Reads entries `i`, with their outcomes if the source joins them as `o`.
    private func rows(
        _ condition: String,
        from source: String = "receipt AS i",
        _ values: [SQLiteValue]
    ) throws -> [ReceiptRow] {
        let outcome = source.contains(" AS o ") ? "i.outcome, o.date, o.body" : "NULL, NULL, NULL"
        return try self.connection.rows(
            """
            SELECT i.number, i.intent, \(Self.currentKey), i.activation_id, i.moves, i.date, i.body, i.personal_data, \(outcome),
                i.tag
            FROM \(source) WHERE \(condition)
            """,
            values
        ) { row in
            let key = row.integer(2)
            let sealed = SealedReceipt(
                activationID: row.text(3),
                moves: UInt64(clamping: row.integer(4)),
                date: Date(millisecondsSince1970: row.integer(5)),
                body: row.blob(6),
                personalData: row.isNull(7) ? nil : row.blob(7)
            )
            let outcome = SealedReceipt(
                activationID: sealed.activationID,
                moves: sealed.moves,
                date: Date(millisecondsSince1970: row.integer(9)),
                // The named outcome may be missing: then the receipt is unreadable.
                body: row.blob(10),
                personalData: nil
            )
            return ReceiptRow(
                number: UInt64(clamping: row.integer(0)),
                tag: WriteTag(rawValue: row.integer(11)),
                intent: row.isNull(1) ? nil : UInt64(clamping: row.integer(1)),
                key: key,
                sealed: sealed,
                outcome: row.isNull(8) ? nil : ReceiptRow.Outcome(key: key, sealed: outcome)
            )
        }
    }

    // MARK: Erasing

    private static func values(_ selection: ReceiptSelection) -> [SQLiteValue] {
        [
            selection.activationID.map { .text($0) } ?? .null,
            selection.decidedBefore.map { .integer($0.milliseconds) } ?? .null,
        ]
    }

    /// Erases the personal data of a part's receipts, except open ones, and returns their number.
    func erase(_ selection: ReceiptSelection, after number: UInt64, through end: UInt64) throws -> Int {
        let before = self.connection.changedRowCount
        try self.connection.run(
            """
            UPDATE receipt SET personal_data = NULL
            WHERE number > ?3 AND number <= ?4 AND intent IS NULL AND personal_data IS NOT NULL
                AND weight >= \(Self.decidedWeight)
                AND (?1 IS NULL OR activation_id = ?1) AND (?2 IS NULL OR date < ?2)
            """,
            Self.values(selection) + [.integer(Int64(clamping: number)), .integer(Int64(clamping: end))]
        )
        return self.connection.changedRowCount - before
    }

    // MARK: All of them

    /// Rewrites all entries, a page at a time.
    ///
    /// - Parameter change: Returns `nil` to keep an entry unchanged.
    func changeReceipts(_ change: (ReceiptRow) throws -> SealedReceipt?) throws {
        var last: UInt64? = 0
        while let number = last {
            let page = try self.receipts(.entries(after: number, limit: 256))
            for entry in page.rows {
                guard let changed = try change(entry) else { continue }
                try self.connection.run(
                    "UPDATE receipt SET body = ?, personal_data = ? WHERE number = ?",
                    [
                        .blob(changed.body), changed.personalData.map { .blob($0) } ?? .null,
                        .integer(Int64(clamping: entry.number)),
                    ]
                )
            }
            last = page.end
        }
    }
}

// MARK: - The pause

extension ActivationDatabase {
    static let decisionPause = "decision-pause"

    func decisionPause() throws -> DecisionPause? {
        try self.setting(Self.decisionPause).map { DecisionPause(stored: $0) }
    }

    func setDecisionPause(_ pause: DecisionPause?) throws {
        guard let pause else { return try self.removeSetting(Self.decisionPause) }
        try self.set(Self.decisionPause, to: pause.stored)
    }
}

extension DecisionPause {
    /// Never fails: an unreadable row still is a pause.
    init(stored: [UInt8]) {
        let members = (try? JSONValue(parsing: stored))?.object
        self.init(
            date: Date(millisecondsSince1970: members?["date"]?.int64 ?? 0),
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
    /// The stored form: milliseconds since 1970.
    package var milliseconds: Int64 { Int64(saturating: (self.timeIntervalSince1970 * 1_000).rounded()) }
}
