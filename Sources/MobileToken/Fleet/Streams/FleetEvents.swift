import Coordination
/// What happens in a fleet, for one reader each time it is iterated.
///
/// First comes the state of each activation that is polled here, with its whole list as added; then what is different from
/// what this reader last saw. A reader that is slow finds what happened to an activation merged: its newest state, one
/// change and its newest failure. So what waits for a reader is never more than the operations there are. The sequence ends
/// when the fleet is released or the reading task is canceled.
public struct FleetEvents: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = FleetEvent

    let broadcast: Broadcast<FleetBuffer>

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<FleetBuffer>

        /// Waits for the next event.
        public mutating func next() async -> FleetEvent? { await self.subscription.next() }
    }
}

/// The changes of all lists of a fleet, for one reader each time it is iterated.
///
/// These are the changes among ``FleetEvents``, with the same promises: first every list as added, then what is different
/// from what this reader last saw, merged when it is slow.
public struct FleetChanges: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = FleetChange

    let broadcast: Broadcast<FleetBuffer>

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<FleetBuffer>

        /// Waits for the next change.
        public mutating func next() async -> FleetChange? {
            while let event = await self.subscription.next() {
                if case .changed(let change) = event { return change }
            }
            return nil
        }
    }
}
