/// Keeps sealed questions. Knows no rule; each call is one transaction, durable when it returns.
///
/// A call that throws may have had its effect: the engine reads back.
package protocol LedgerDriver: Sendable {
    /// Opens the ledger for one audience, or makes it.
    func open(audience: [UInt8]) async throws -> LedgerFacts
    /// Makes a key the one that everything is sealed with, unless there is one.
    func setKey(check: [UInt8]) async throws -> LedgerFacts
    /// Takes the ledger as it is, although it went back: begins an incarnation, in which no earlier row counts.
    func adopt(audience: [UInt8]) async throws
    func load(_ key: LedgerKey) async throws -> LedgerRow?
    func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion
    /// Writes a change if the row still has the tag, the state and the incarnation of what was loaded. A claim is noted apart from the row in
    /// the same transaction, and no second one of the same key is written.
    func swap(_ change: LedgerChange) async throws -> LedgerSwap
    /// Counts a question no longer among those that asked these people: it never reached them.
    func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws
    func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) async throws -> [LedgerRow]
    /// Holds the lease of a claim as long as this process lives, or releases it.
    func hold(_ token: Int64) async throws
    func release(_ token: Int64) async
    /// Returns whether the holder of a claim lives.
    func isHeld(_ token: Int64) async throws -> Bool
    func close() async
}

/// The facts of an open ledger.
package struct LedgerFacts: Sendable, Equatable {
    /// By what the sealing key is recognized; `nil` before there is one.
    package var keyCheck: [UInt8]?
    /// The life of the ledger in which rows must have been drafted to count.
    package var incarnation: [UInt8]

    package init(keyCheck: [UInt8]?, incarnation: [UInt8]) {
        self.keyCheck = keyCheck
        self.incarnation = incarnation
    }
}

/// A question as it lies there.
package struct LedgerRow: Sendable, Equatable {
    package var key: LedgerKey
    /// `nil` for a word that is no state: the row is damaged.
    package var state: ApprovalState?
    package var incarnation: [UInt8]
    /// Random, and new with every write.
    package var tag: Int64
    package var needsAttention: Bool
    /// The time when it was asked, in milliseconds since 1970.
    package var asked: Int64
    package var content: [UInt8]
    /// Indicates whether a claim of this key was noted, whatever the row says by now.
    package var wasBegun: Bool

    package init(
        key: LedgerKey,
        state: ApprovalState?,
        incarnation: [UInt8],
        tag: Int64,
        needsAttention: Bool,
        asked: Int64,
        content: [UInt8],
        wasBegun: Bool = false
    ) {
        self.key = key
        self.state = state
        self.incarnation = incarnation
        self.tag = tag
        self.needsAttention = needsAttention
        self.asked = asked
        self.content = content
        self.wasBegun = wasBegun
    }
}

/// The people whom a question asks, and how often they may be asked.
package struct LedgerAsking: Sendable, Equatable {
    /// Digests of who is asked.
    package var people: [[UInt8]]
    package var maximumOpen: Int
    /// In milliseconds.
    package var interval: Int64

    package init(people: [[UInt8]], maximumOpen: Int, interval: Int64) {
        self.people = people
        self.maximumOpen = maximumOpen
        self.interval = interval
    }
}

package enum LedgerInsertion: Sendable, Equatable {
    case written
    /// There is a row of that key.
    case held(LedgerRow)
    case tooManyOpen
    /// Somebody was asked less than the interval ago; it is over in so many milliseconds.
    case tooSoon(Int64)
    /// The ledger lives another life by now, or is sealed with another key: it is to be opened anew.
    case otherIncarnation
}

package struct LedgerChange: Sendable, Equatable {
    package var key: LedgerKey
    /// Values that the row must still have.
    package var tag: Int64
    package var state: ApprovalState
    package var incarnation: [UInt8]
    /// Values that it gets.
    package var newTag: Int64
    package var newState: ApprovalState
    package var needsAttention: Bool
    package var content: [UInt8]

    package init(
        key: LedgerKey,
        tag: Int64,
        state: ApprovalState,
        incarnation: [UInt8],
        newTag: Int64,
        newState: ApprovalState,
        needsAttention: Bool,
        content: [UInt8]
    ) {
        self.key = key
        self.tag = tag
        self.state = state
        self.incarnation = incarnation
        self.newTag = newTag
        self.newState = newState
        self.needsAttention = needsAttention
        self.content = content
    }
}

package enum LedgerSwap: Sendable, Equatable {
    case written
    /// The row has changed since it was loaded, or is not there.
    case otherRow
    /// The ledger lives another life by now, or is sealed with another key: it is to be opened anew.
    case otherIncarnation
}

package enum LedgerFilter: Sendable, Equatable {
    case needingAttention
    case states(Set<ApprovalState>)
}
