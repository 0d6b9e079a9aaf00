import Coordination
public import PowerAuth

/// The changes of a service's list, for one reader each time it is iterated.
///
/// The first change holds the whole list as added, unless the list is empty; each further one tells what is different
/// from what this reader last saw. A reader that is slow gets several changes merged into one. The sequence ends when
/// the service is released, when the reading task is canceled, or when polling ended for good; then ``endReason`` is set.
public struct OperationListChanges: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = OperationListChange

    let broadcast: Broadcast<ChangeBuffer>

    /// Why the service's streams ended last, as ``OperationsService/endReason``.
    public var endReason: MobileTokenError? { self.broadcast.endReason }

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<ChangeBuffer>

        /// Waits for the next change.
        public mutating func next() async -> OperationListChange? {
            await self.subscription.next()
        }
    }
}

/// The one merged change that a subscriber has not seen yet.
package struct ChangeBuffer: SubscriptionBuffer {
    package typealias EndReason = MobileTokenError

    private var pending: OperationListChange?

    package init(list: [UserOperation] = []) {
        if !list.isEmpty { self.pending = OperationListChange(wholeList: list) }
    }

    package mutating func append(_ change: OperationListChange) {
        guard let pending else { return self.pending = change }
        self.pending = pending.merged(with: change)
    }

    /// Notes that the list came in another order.
    package mutating func reorder(as operations: [UserOperation]) {
        self.pending = self.pending?.reordered(as: operations)
    }

    package mutating func removeFirst() -> OperationListChange? {
        self.pending.take()
    }
}
