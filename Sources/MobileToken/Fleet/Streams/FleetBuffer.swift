import PowerAuth
import Basics
import Coordination

/// The unread events of a fleet's subscriber: for each activation its newest state, one merged change of its list and
/// its newest failure, in the order in which activations had events.
///
/// The departure of an activation comes after its other events. If it has come back before that was read, the departure comes first:
/// another process may have decided meanwhile, so the reader has to let go of what it knew.
package struct FleetBuffer: SubscriptionBuffer {
    fileprivate struct Unread {
        var state: OperationsFleet.ActivationState?
        var change: OperationList.Change?
        var failure: MobileTokenError?
        var hasLeft = false
        /// Indicates whether changes of the list count, where this is what new subscribers start with.
        var isFollowed = false
    }

    private var unread: [ExactString: Unread] = [:]
    /// The activations with unread events, and some whose events are read or have come to nothing.
    private var order = FIFO<ExactString>()

    package init() {}

    /// The number of places that are kept, those included whose activations have no events any more.
    package var orderCount: Int { self.order.count }

    package mutating func append(_ event: OperationsFleet.Event) {
        self.change(ExactString(event.activationID)) { unread in
            switch event {
            case .stateChanged(_, let state): unread.state = state
            case .changed(let next):
                if let pending = unread.change {
                    unread.change = pending.merged(with: next.change)
                } else {
                    unread.change = next.change
                }
            case .failed(_, let error): unread.failure = error
            case .left: (unread.state, unread.failure, unread.hasLeft) = (nil, nil, true)
            }
        }
    }

    private mutating func change(_ id: ExactString, _ body: (inout Unread) -> Void) {
        if self.unread[id] == nil { self.order.append(id) }
        body(&self.unread[id, default: Unread()])
    }

    package mutating func removeFirst() -> OperationsFleet.Event? {
        while let id = self.order.first {
            if let event = self.unread[id]?.removeFirst(of: id.string) { return event }
            self.unread[id] = nil
            self.order.popFirst()
        }
        return nil
    }

    // MARK: What new subscribers start with

    package mutating func setState(_ state: OperationsFleet.ActivationState, of id: String) {
        self.change(ExactString(id)) { $0.state = state }
    }

    /// Sets an activation's list, or returns `false` when it is not followed.
    package mutating func setList(_ list: [UserOperation], of id: String) -> Bool {
        let id = ExactString(id)
        guard self.unread[id]?.isFollowed == true else { return false }
        self.unread[id]?.change = list.isEmpty ? nil : OperationList.Change(wholeList: list)
        return true
    }

    /// Lets changes of an activation's list count from now on.
    ///
    /// - Returns: `false` when they did already.
    package mutating func follow(_ id: String) -> Bool {
        let id = ExactString(id)
        guard self.unread[id]?.isFollowed != true else { return false }
        self.change(id) { $0.isFollowed = true }
        return true
    }

    /// Lets changes of an activation's list count no more, and returns the list.
    package mutating func unfollow(_ id: String) -> [UserOperation] {
        let id = ExactString(id)
        self.unread[id]?.isFollowed = false
        return self.unread[id]?.change.take()?.operations ?? []
    }

    /// Returns whether changes of an activation's list count.
    package func isFollowed(_ id: String) -> Bool { self.unread[ExactString(id)]?.isFollowed ?? false }

    /// Sets an activation's list, whoever polled it.
    ///
    /// - Parameter reason: Returns why an operation left.
    /// - Returns: The difference from the list before; `nil` when nothing is.
    package mutating func show(
        _ list: [UserOperation],
        of id: String,
        source: OperationList.Change.Source,
        reason: (UserOperation) -> OperationList.Change.RemovalReason
    ) -> OperationsFleet.Event? {
        let before = self.unread[ExactString(id)]?.change?.operations ?? []
        guard list != before else { return nil }
        self.change(ExactString(id)) { $0.change = list.isEmpty ? nil : OperationList.Change(wholeList: list) }
        let difference = OperationListDifference(from: before, to: list)
        let change = OperationList.Change(
            operations: list,
            added: difference.added,
            updated: difference.updated,
            removed: difference.removed.map { .init(operation: $0, reason: reason($0)) },
            source: source
        )
        return change.isEmpty ? nil : .changed(OperationsFleet.Change(activationID: id, change: change))
    }

    /// Keeps an activation's list, and nothing else of it: another process polls it now.
    package mutating func release(_ id: String) {
        let id = ExactString(id)
        guard self.unread[id]?.change != nil else { return self.forget(id.string) }
        self.unread[id]?.isFollowed = false
        self.unread[id]?.state = nil
    }

    package mutating func forget(_ id: String) {
        self.unread[ExactString(id)] = nil
        guard self.order.count > 2 * self.unread.count + 64 else { return }
        var kept: Set<ExactString> = []
        self.order.removeAll { self.unread[$0] == nil || !kept.insert($0).inserted }
    }
}

extension FleetBuffer.Unread {
    mutating func removeFirst(of id: String) -> OperationsFleet.Event? {
        if self.hasLeft, self.state != nil {
            self.hasLeft = false
            return .left(activationID: id)
        }
        if let state = self.state.take() { return .stateChanged(activationID: id, state) }
        if let change = self.change.take() { return .changed(OperationsFleet.Change(activationID: id, change: change)) }
        if let failure = self.failure.take() { return .failed(activationID: id, failure) }
        if self.hasLeft {
            self.hasLeft = false
            return .left(activationID: id)
        }
        return nil
    }
}
