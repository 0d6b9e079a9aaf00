import CloudCalls

/// All operations, found by identifier, by user, and by what has become due.
package struct OperationLedger: Sendable, Codable, Equatable {
    /// For the data file, which then calls ``restoreOrder()``.
    var operations = Table<ServerOperation>()
    /// The user of each operation that has one, in the order in which they came to it. For the data file, too.
    var claims = Table<String>()
    /// Identifiers in the order of creation.
    private(set) var identifiers: [String] = []
    /// The same of each user; an operation joins its user's when it is claimed.
    private var identifiersByUser: [String: [String]] = [:]
    /// Those that may still expire; the finished ones are many more.
    private var pending: Set<String> = []
    /// Not later than the first pending operation's expiration; nil when none is pending.
    private(set) var nextExpiration: Milliseconds?

    package subscript(id: String) -> ServerOperation? {
        self.operations[id]
    }

    package var count: Int { self.operations.count }

    /// Every operation, newest first.
    package var newestFirst: some Sequence<ServerOperation> {
        self.identifiers.reversed().lazy.compactMap { self.operations[$0] }
    }

    /// The operations of one user, newest first.
    func newestFirst(ofUser userID: String) -> some Sequence<ServerOperation> {
        (self.identifiersByUser[userID] ?? []).reversed().lazy.compactMap { self.operations[$0] }
    }

    mutating func insert(_ operation: ServerOperation) {
        self.operations[operation.id] = operation
        self.identifiers.append(operation.id)
        if let userID = operation.userID { self.note(operation.id, of: userID) }
        self.watch(operation)
    }

    private mutating func note(_ id: String, of userID: String) {
        self.claims[id] = userID
        self.identifiersByUser[userID, default: []].append(id)
    }

    private mutating func watch(_ operation: ServerOperation) {
        guard operation.status == .pending else { return }
        self.pending.insert(operation.id)
        self.nextExpiration = min(self.nextExpiration ?? operation.expires, operation.expires)
    }

    /// Finds the order, and what may expire, of tables that were filled from outside.
    mutating func restoreOrder() {
        self.identifiers = self.operations.keysInOrder
        self.identifiersByUser = [:]
        for id in self.claims.keysInOrder {
            if let userID = self.claims[id] { self.identifiersByUser[userID, default: []].append(id) }
        }
        for operation in self.operations.values { self.watch(operation) }
    }

    /// Changes an operation; its identifier and user stay.
    mutating func update(_ id: String, _ change: (inout ServerOperation) -> Void) {
        self.operations.update(id, change)
        if self.operations[id]?.status != .pending { self.pending.remove(id) }
    }

    mutating func claim(_ id: String, for userID: String) {
        guard let operation = self.operations[id], operation.userID == nil else { return }
        self.operations.update(id) { $0.userID = userID }
        self.note(id, of: userID)
    }

    /// Expires what is due, and returns it in the order of expiration.
    mutating func expire(at now: Milliseconds) -> [ServerOperation] {
        guard let next = self.nextExpiration, next <= now else { return [] }
        var expired: [ServerOperation] = []
        self.nextExpiration = nil
        for operation in self.pending.compactMap({ self.operations[$0] }) {
            guard operation.expires <= now else {
                self.nextExpiration = min(self.nextExpiration ?? operation.expires, operation.expires)
                continue
            }
            self.update(operation.id) { $0.expire(at: operation.expires) }
            if let changed = self.operations[operation.id] { expired.append(changed) }
        }
        return expired.sorted { ($0.expires, $0.id) < ($1.expires, $1.id) }
    }
}

extension OperationLedger {
    private enum CodingKeys: CodingKey { case operations, claims }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        for operation in try container.decode([ServerOperation].self, forKey: .operations) {
            self.insert(operation)
        }
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
