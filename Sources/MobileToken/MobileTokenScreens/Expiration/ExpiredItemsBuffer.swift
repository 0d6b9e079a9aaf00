import Coordination

/// The expired items that a subscriber has not read.
package struct ExpiredItemsBuffer: SubscriptionBuffer {
    package static let capacity = 1_000

    private var pending: [WatchedItem] = []

    package init() {}

    package mutating func append(_ expired: [WatchedItem]) {
        // An item that expires again, at another time, replaces its older entry.
        let keys = Set(expired.map(\.key))
        self.pending.removeAll { keys.contains($0.key) }
        let excess = self.pending.count + expired.count - Self.capacity
        if excess > 0 { self.pending.removeFirst(Swift.min(excess, self.pending.count)) }
        self.pending += expired
    }

    package mutating func removeFirst() -> [WatchedItem]? {
        guard !self.pending.isEmpty else { return nil }
        defer { self.pending = [] }
        return self.pending
    }
}
