import Coordination
import PowerAuth

/// The one merged change that a subscriber has not seen yet.
package struct ChangeBuffer: SubscriptionBuffer {
    package typealias EndReason = MobileTokenError

    private var pending: OperationList.Change?

    package init(list: [UserOperation] = []) {
        if !list.isEmpty { self.pending = OperationList.Change(wholeList: list) }
    }

    package mutating func append(_ change: OperationList.Change) {
        guard let pending else { return self.pending = change }
        self.pending = pending.merged(with: change)
    }

    /// Notes that the list came in another order.
    package mutating func reorder(as operations: [UserOperation]) {
        self.pending = self.pending?.reordered(as: operations)
    }

    package mutating func removeFirst() -> OperationList.Change? {
        self.pending.take()
    }
}
