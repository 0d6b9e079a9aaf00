import Basics

package actor MemoryLedger: LedgerDriver {
    private var audience: [UInt8]?
    private var incarnation = [UInt8](repeating: 1, count: 16)
    private var table = LedgerTable()
    private var held: Set<Int64> = []

    package init() {}

    private var facts: LedgerFacts { LedgerFacts(keyCheck: self.table.keyCheck, incarnation: self.incarnation) }

    package func open(audience: [UInt8]) throws -> LedgerFacts {
        guard self.audience == nil || self.audience == audience else { throw ApprovalError.otherAudience }
        self.audience = audience
        return self.facts
    }

    package func setKey(check: [UInt8]) -> LedgerFacts {
        self.table.setKey(check)
        return self.facts
    }

    package func adopt(audience: [UInt8]) {
        self.incarnation = (0..<16).map { _ in .random(in: .min ... .max) }
    }

    package func load(_ key: LedgerKey) -> LedgerRow? { self.table[key] }
    package func insert(_ row: LedgerRow, asking: LedgerAsking) -> LedgerInsertion { self.table.insert(row, asking) }
    package func swap(_ change: LedgerChange) -> LedgerSwap { self.table.swap(change) }
    package func unask(_ people: [[UInt8]], _ key: LedgerKey) { self.table.unask(people, key) }
    package func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) -> [LedgerRow] {
        self.table.rows(filter, after: key, limit: limit)
    }

    /// Writes a row without the desk, as an attacker with write access could; for tests.
    package func put(_ row: LedgerRow?, for key: LedgerKey) { self.table[key] = row }

    package func hold(_ token: Int64) { self.held.insert(token) }
    package func release(_ token: Int64) { self.held.remove(token) }
    package func isHeld(_ token: Int64) -> Bool { self.held.contains(token) }
    package func close() {}
}

/// The rows of a ledger in memory, as a value.
package struct LedgerTable: Sendable {
    package private(set) var keyCheck: [UInt8]?
    private var rowsByKey: [LedgerKey: LedgerRow] = [:]
    private var begun: Set<LedgerKey> = []
    private var asked: [[UInt8]: [(at: Int64, key: LedgerKey)]] = [:]

    package init() {}

    package mutating func setKey(_ check: [UInt8]) { self.keyCheck = self.keyCheck ?? check }

    package subscript(_ key: LedgerKey) -> LedgerRow? {
        get {
            var row = self.rowsByKey[key]
            row?.wasBegun = self.begun.contains(key)
            return row
        }
        set { self.rowsByKey[key] = newValue }
    }

    package mutating func insert(_ row: LedgerRow, _ asking: LedgerAsking) -> LedgerInsertion {
        if let held = self[row.key] { return held.tag == row.tag ? .written : .held(held) }
        for person in asking.people {
            let earlier = self.asked[person] ?? []
            let open = earlier.count { self.rowsByKey[$0.key]?.state?.isPending == true }
            if open >= asking.maximumOpen { return .tooManyOpen }
            if let objection = asking.objection(to: row.asked, after: earlier.map(\.at).max()) { return objection }
        }
        for person in asking.people { self.asked[person, default: []].append((row.asked, row.key)) }
        self.rowsByKey[row.key] = row
        return .written
    }

    package mutating func swap(_ change: LedgerChange) -> LedgerSwap {
        guard var row = self.rowsByKey[change.key], row.tag == change.tag, row.state == change.state,
            row.incarnation == change.incarnation
        else { return .otherRow }
        if change.isClaim, !self.begun.insert(change.key).inserted { return .otherRow }
        row.tag = change.newTag
        row.state = change.newState
        row.needsAttention = change.needsAttention
        row.content = change.content
        self.rowsByKey[change.key] = row
        return .written
    }

    package mutating func unask(_ people: [[UInt8]], _ key: LedgerKey) {
        for person in people { self.asked[person]?.removeAll { $0.key == key } }
    }

    package func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) -> [LedgerRow] {
        let rows = self.rowsByKey.values.filter { row in
            switch filter {
            case .needingAttention: row.needsAttention
            case .states(let states): row.state.map { states.contains($0) } ?? false
            }
        }
        let keys = rows.map(\.key).filter { one in
            key.map { $0.bytes.lexicographicallyPrecedes(one.bytes) } ?? true
        }
        return keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }.prefix(limit).compactMap { self[$0] }
    }
}

extension LedgerAsking {
    /// Returns the reason why a person cannot be asked now: the last question is too recent.
    ///
    /// A timestamp from the future, as after a clock was set back, delays a question by at most the interval.
    package func objection(to now: Int64, after last: Int64?) -> LedgerInsertion? {
        guard let last else { return nil }
        let distance = now.subtractingSaturated(last)
        guard distance.magnitude < self.interval.magnitude else { return nil }
        return .tooSoon(self.interval.subtractingSaturated(max(0, distance)))
    }
}

extension ApprovalError {
    package static let otherAudience = Self(
        .ledgerFailed,
        "The ledger is of another audience: one audience has one ledger, and a ledger has one audience"
    )
}
