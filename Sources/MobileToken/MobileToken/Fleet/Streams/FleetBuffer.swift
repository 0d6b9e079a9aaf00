import PowerAuthClient
import Basics
import Coordination

/// The unread events of a fleet's subscriber: for each activation its newest state, one merged change and its newest failure, in
/// order of arrival.
///
/// An activation's departure comes after its other events. If the activation returns before the departure was read, the departure
/// comes first: another process may have decided meanwhile, so the reader must discard its knowledge.
package struct FleetBuffer: SubscriptionBuffer {
    fileprivate struct Unread {
        var state: OperationsFleet.ActivationState?
        var change: OperationList.Change?
        var unreadable: [OperationList.Unreadable]?
        var failure: MobileTokenError?
        var hasLeft = false
        /// Indicates whether list changes apply, in the state for new subscribers.
        var isFollowed = false
    }

    private var unread: [ExactString: Unread] = [:]
    /// The activations with unread events, and some whose events are read or canceled out.
    private var order = FIFO<ExactString>()

    package init() {}

    /// The length of the order, including activations without events.
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
            case .unreadable(_, let operations): unread.unreadable = operations
            case .failed(_, let error): unread.failure = error
            case .left:
                (unread.state, unread.unreadable, unread.failure, unread.hasLeft) = (nil, nil, nil, true)
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

    /// Sets a followed activation's list; returns `false` if it is not followed.
    package mutating func setList(_ list: [UserOperation], of id: String) -> Bool {
        let id = ExactString(id)
        guard self.unread[id]?.isFollowed == true else { return false }
        self.unread[id]?.change = list.isEmpty ? nil : OperationList.Change(wholeList: list)
        return true
    }

    /// Starts following an activation's list.
    ///
    /// - Returns: `false` if it was already followed.
    package mutating func follow(_ id: String) -> Bool {
        let id = ExactString(id)
        guard self.unread[id]?.isFollowed != true else { return false }
        self.change(id) { $0.isFollowed = true }
        return true
    }

    /// Stops following an activation's list, and returns the list.
    package mutating func unfollow(_ id: String) -> [UserOperation] {
        let id = ExactString(id)
        self.unread[id]?.isFollowed = false
        return self.unread[id]?.change.take()?.operations ?? []
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
        if let operations = self.unreadable.take() { return .unreadable(activationID: id, operations) }
        if let failure = self.failure.take() { return .failed(activationID: id, failure) }
        if self.hasLeft {
            self.hasLeft = false
            return .left(activationID: id)
        }
        return nil
    }
}
