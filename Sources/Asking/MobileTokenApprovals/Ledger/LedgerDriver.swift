/// Stores sealed questions without any rules; each call is one transaction, durable when it returns.
///
/// A call that throws may have had its effect: the engine reads back.
package protocol LedgerDriver: Sendable {
    /// Opens the ledger of an audience, or creates it.
    func open(audience: [UInt8]) async throws -> LedgerFacts
    /// Sets the sealing key, unless there is one.
    func setKey(check: [UInt8]) async throws -> LedgerFacts
    /// Accepts a rolled-back ledger: begins an epoch in which no earlier row counts.
    func adopt(audience: [UInt8]) async throws
    func load(_ key: LedgerKey) async throws -> LedgerRow?
    func insert(_ row: LedgerRow, asking: LedgerAsking) async throws -> LedgerInsertion
    /// Writes a change if the row still has the loaded tag, state and epoch. A claim is recorded separately in the same
    /// transaction, at most once per key.
    func swap(_ change: LedgerChange) async throws -> LedgerSwap
    /// Removes a question from those that asked these people: it never reached them.
    func unask(_ people: [[UInt8]], _ key: LedgerKey) async throws
    func rows(_ filter: LedgerFilter, after key: LedgerKey?, limit: Int) async throws -> [LedgerRow]
    /// Holds a claim's lease for the life of this process, or releases it.
    func hold(_ token: Int64) async throws
    func release(_ token: Int64) async
    /// Returns whether the holder of a claim lives.
    func isHeld(_ token: Int64) async throws -> Bool
    func close() async
}

package struct LedgerFacts: Sendable, Equatable {
    /// The check value of the sealing key; `nil` until one is set.
    package var keyCheck: [UInt8]?
    /// The ledger's epoch, in which rows must be drafted to count.
    package var incarnation: [UInt8]

    package init(keyCheck: [UInt8]?, incarnation: [UInt8]) {
        self.keyCheck = keyCheck
        self.incarnation = incarnation
    }
}

/// The stored row of a question.
package struct LedgerRow: Sendable, Equatable {
    package var key: LedgerKey
    /// The state; `nil` for an invalid name: the row is damaged.
    package var state: ApprovalState?
    package var incarnation: [UInt8]
    /// A random number, new with every write.
    package var tag: Int64
    package var needsAttention: Bool
    /// The time of the question, in milliseconds since 1970.
    package var asked: Int64
    package var content: [UInt8]
    /// Indicates whether a claim of this key was recorded, whatever the row says.
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

/// The people that a question asks, and their limits.
package struct LedgerAsking: Sendable, Equatable {
    /// Digests of the people.
    package var people: [[UInt8]]
    package var maximumOpen: Int
    /// The interval in milliseconds.
    package var interval: Int64

    package init(people: [[UInt8]], maximumOpen: Int, interval: Int64) {
        self.people = people
        self.maximumOpen = maximumOpen
        self.interval = interval
    }
}

package enum LedgerInsertion: Sendable, Equatable {
    case written
    /// There is a row with that key.
    case held(LedgerRow)
    case tooManyOpen
    /// A person was asked too recently; the interval ends in this many milliseconds.
    case tooSoon(Int64)
    /// The ledger has another epoch or sealing key, and must be reopened.
    case otherIncarnation
}

package struct LedgerChange: Sendable, Equatable {
    package var key: LedgerKey
    /// The row's required values.
    package var tag: Int64
    package var state: ApprovalState
    package var incarnation: [UInt8]
    /// The row's new values.
    package var newTag: Int64
    package var newState: ApprovalState
    package var needsAttention: Bool
    package var content: [UInt8]

    /// Indicates whether it claims the question, which is done once. Another change of a claimed question claims nothing: a desk
    /// notes an operation too many, to be canceled.
    package var isClaim: Bool { self.newState == .claimed && self.state != .claimed }

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
    /// The row has changed since it was loaded, or is missing.
    case otherRow
    /// The ledger has another epoch or sealing key, and must be reopened.
    case otherIncarnation
}

package enum LedgerFilter: Sendable, Equatable {
    case needingAttention
    case states(Set<ApprovalState>)
}
