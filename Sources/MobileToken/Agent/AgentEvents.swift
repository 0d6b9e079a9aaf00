import Coordination

/// What an ``ApprovalAgent`` does and finds out, for one reader each time it is iterated.
///
/// Events come in the order they happened. A reader that leaves more than ``capacity`` unread loses the oldest; what must not
/// be lost is in the receipts. The sequence ends with the agent's run, or when the reading task is canceled.
public struct AgentEvents: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = ApprovalAgent.Event

    /// How many events wait for a slow reader.
    public static let capacity = 1_000

    let broadcast: Broadcast<AgentEventBuffer>

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<AgentEventBuffer>

        /// Waits for the next event.
        public mutating func next() async -> ApprovalAgent.Event? {
            await self.subscription.next()
        }
    }
}

/// The events that a subscriber has not seen yet.
struct AgentEventBuffer: SubscriptionBuffer {
    private var pending: ArraySlice<ApprovalAgent.Event> = []

    mutating func append(_ event: ApprovalAgent.Event) {
        if self.pending.count >= AgentEvents.capacity { self.pending.removeFirst() }
        self.pending.append(event)
    }

    mutating func removeFirst() -> ApprovalAgent.Event? { self.pending.popFirst() }
}
