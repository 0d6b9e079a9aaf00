import Coordination

/// Operations as they expire.
public typealias ExpiredOperations = Expirations<UserOperation>

/// Items of one type as they expire, for one reader each time it is iterated.
///
/// What expires while the reader is busy comes together in the next step. A reader that leaves more than ``capacity`` items
/// unread keeps the newest, but never less than what expired last.
public struct Expirations<Item: Expirable>: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = [Item]

    /// How many items wait for a slow reader.
    public static var capacity: Int { ExpiredItemsBuffer.capacity }

    let broadcast: Broadcast<ExpiredItemsBuffer>

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<ExpiredItemsBuffer>

        /// Waits for the next items to expire.
        public mutating func next() async -> [Item]? {
            while let expired = await self.subscription.next() {
                let items = expired.compactMap { $0.item as? Item }
                if !items.isEmpty { return items }
            }
            return nil
        }
    }
}

/// What expired and was not read by a subscriber yet.
package struct ExpiredItemsBuffer: SubscriptionBuffer {
    package static let capacity = 1_000

    private var pending: [WatchedItem] = []

    package init() {}

    package mutating func append(_ expired: [WatchedItem]) {
        // What expires again, with another time, counts as it is now.
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
