import MobileTokenCloud

/// All operations, found by identifier, by user, and by due time.
package struct OperationLedger: Sendable, Codable, Equatable {
    /// For the data file, which then calls ``restoreOrder()``.
    var operations = Table<ServerOperation>()
    /// The user of each operation that has one, in the order of claims; also for the data file.
    var claims = Table<String>()
    /// Identifiers in the order of creation.
    private(set) var identifiers: [String] = []
    /// Each user's identifiers in the order of creation, even for operations claimed later.
    private var identifiersByUser: [String: [String]] = [:]
    /// The operations that may still expire, a small part of all.
    private var pending: Set<String> = []
    /// At most the first expiry of a pending operation; nil if none is pending.
    private(set) var nextExpiration: Milliseconds?
    /// The expired operations not yet reported by a callback, in the order of expiration.
    private var untold: [String] = []
    private var lastTelling: Milliseconds = 0

    package subscript(id: String) -> ServerOperation? {
        self.operations[id]
    }

    package var count: Int { self.operations.count }

    package var newestFirst: some Sequence<ServerOperation> {
        self.identifiers.reversed().lazy.compactMap { self.operations[$0] }
    }

    /// - Parameter pendingOnly: `true` to look up no others: most of a user's operations have ended.
    func newestFirst(ofUser userID: String, pendingOnly: Bool) -> some Sequence<ServerOperation> {
        (self.identifiersByUser[userID] ?? []).reversed().lazy.filter { !pendingOnly || self.pending.contains($0) }
            .compactMap { self.operations[$0] }
    }

    mutating func insert(_ operation: ServerOperation) {
        self.operations[operation.id] = operation
        self.identifiers.append(operation.id)
        if let userID = operation.userID { self.note(operation.id, of: userID) }
        self.watch(operation)
    }

    private mutating func note(_ id: String, of userID: String) {
        self.claims[id] = userID
        self.place(id, ofUser: userID)
    }

    private mutating func place(_ id: String, ofUser userID: String) {
        let created = self.operations[id]?.created ?? 0
        let ids = self.identifiersByUser[userID] ?? []
        let place = ids.lastIndex { (self.operations[$0]?.created ?? 0) <= created }.map { $0 + 1 } ?? 0
        self.identifiersByUser[userID, default: []].insert(id, at: place)
    }

    private mutating func watch(_ operation: ServerOperation) {
        guard operation.status == .pending else { return }
        self.pending.insert(operation.id)
        self.nextExpiration = min(self.nextExpiration ?? operation.expires, operation.expires)
    }

    /// Restores the order and the pending operations after the tables were filled from outside.
    mutating func restoreOrder() {
        self.identifiers = self.operations.keysInOrder
        self.identifiersByUser = [:]
        for id in self.claims.keysInOrder {
            if let userID = self.claims[id] { self.place(id, ofUser: userID) }
        }
        for operation in self.operations.values { self.watch(operation) }
        self.restoreUntold()
    }

    private mutating func restoreUntold() {
        let untold = self.operations.values.filter { $0.isExpirationUntold == true }
        self.untold = untold.sorted { ($0.expires, $0.id) < ($1.expires, $1.id) }.map(\.id)
    }

    /// Changes an operation; its identifier and user stay.
    package mutating func update(_ id: String, _ change: (inout ServerOperation) -> Void) {
        var isPending = false
        self.operations.update(id) {
            change(&$0)
            isPending = $0.status == .pending
        }
        if !isPending { self.pending.remove(id) }
    }

    mutating func claim(_ id: String, for userID: String) {
        var isClaimed = false
        self.operations.update(id) {
            isClaimed = $0.userID == nil
            if isClaimed { $0.userID = userID }
        }
        if isClaimed { self.note(id, of: userID) }
    }

    /// Expires overdue operations, and returns them in the order of expiration.
    mutating func expire(at now: Milliseconds) -> [ServerOperation] {
        guard let next = self.nextExpiration, next <= now else { return [] }
        var expired: [ServerOperation] = []
        self.nextExpiration = nil
        for operation in self.pending.compactMap({ self.operations[$0] }) {
            guard operation.expires <= now else {
                self.nextExpiration = min(self.nextExpiration ?? operation.expires, operation.expires)
                continue
            }
            self.update(operation.id) { expired in
                expired.expire(at: operation.expires)
                expired.isExpirationUntold = true
            }
            if let changed = self.operations[operation.id] { expired.append(changed) }
        }
        expired.sort { ($0.expires, $0.id) < ($1.expires, $1.id) }
        self.untold += expired.map(\.id)
        return expired
    }

    /// The time of the next report of expired operations. Real servers check every five seconds.
    var nextTelling: Milliseconds? {
        guard let first = self.untold.first.flatMap({ self.operations[$0] }) else { return nil }
        let period: Milliseconds = 5_000
        return max((first.expires / period + 1) * period, self.lastTelling + period)
    }

    /// Returns the expired operations to report by now: at most a hundred each time.
    mutating func takeTold(at now: Milliseconds) -> [ServerOperation] {
        var told: [ServerOperation] = []
        while let time = self.nextTelling, time <= now {
            let due = self.untold.prefix(100).prefix { (self.operations[$0]?.expires ?? 0) < time }
            for id in due { self.update(id) { $0.isExpirationUntold = nil } }
            told += due.compactMap { self.operations[$0] }
            self.untold.removeFirst(due.count)
            self.lastTelling = time
        }
        return told
    }
}

extension OperationLedger {
    private enum CodingKeys: CodingKey { case operations, claims }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        for operation in try container.decode([ServerOperation].self, forKey: .operations) {
            self.insert(operation)
        }
        self.restoreUntold()
        // In the order of the claims, not of the operations.
        self.claims = Table()
        self.identifiersByUser = try container.decode([String: [String]].self, forKey: .claims)
        for (userID, ids) in self.identifiersByUser {
            for id in ids { self.claims[id] = userID }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.identifiers.compactMap { self.operations[$0] }, forKey: .operations)
        try container.encode(self.identifiersByUser, forKey: .claims)
    }
}
