import PowerAuth
import Basics
import Coordination

/// The unread events of a fleet's subscriber: for each activation its newest state, one merged change of its list and
/// its newest failure, in the order in which activations had news.
package struct FleetBuffer: SubscriptionBuffer {
    fileprivate struct News {
        var state: FleetActivationState?
        var change: OperationListChange?
        var failure: MobileTokenError?
        var hasLeft = false
        /// Indicates whether changes of the list count, where this is what new subscribers start with.
        var isFollowed = false

    }

    private var news: [ExactString: News] = [:]
    /// The activations with news, and some whose news is read or has come to nothing.
    private var order: [ExactString] = []
    private var head = 0

    package init() {}

    /// The number of places that are kept, those included whose activations have no events any more.
    package var orderCount: Int { self.order.count }

    package mutating func append(_ event: FleetEvent) {
        self.change(ExactString(event.activationID)) { news in
            switch event {
            case .stateChanged(_, let state):
                news.state = state
                news.hasLeft = false
            case .changed(let next):
                if let pending = news.change {
                    news.change = pending.merged(with: next.change)
                } else {
                    news.change = next.change
                }
            case .failed(_, let error): news.failure = error
            case .left: (news.state, news.failure, news.hasLeft) = (nil, nil, true)
            }
        }
    }

    private mutating func change(_ id: ExactString, _ body: (inout News) -> Void) {
        if self.news[id] == nil { self.order.append(id) }
        body(&self.news[id, default: News()])
    }

    package mutating func removeFirst() -> FleetEvent? {
        while self.head < self.order.count {
            let id = self.order[self.head]
            if let event = self.news[id]?.removeFirst(of: id.string) { return event }
            self.news[id] = nil
            self.head += 1
            self.dropRead()
        }
        return nil
    }

    // MARK: What new subscribers start with

    package mutating func setState(_ state: FleetActivationState, of id: String) {
        self.change(ExactString(id)) { $0.state = state }
    }

    /// Sets an activation's list, or returns `false` when it is not followed.
    package mutating func setList(_ list: [UserOperation], of id: String) -> Bool {
        let id = ExactString(id)
        guard self.news[id]?.isFollowed == true else { return false }
        self.news[id]?.change = list.isEmpty ? nil : OperationListChange(wholeList: list)
        return true
    }

    /// Lets changes of an activation's list count from now on.
    ///
    /// - Returns: `false` when they did already.
    package mutating func follow(_ id: String) -> Bool {
        let id = ExactString(id)
        guard self.news[id]?.isFollowed != true else { return false }
        self.change(id) { $0.isFollowed = true }
        return true
    }

    /// Lets changes of an activation's list count no more, and returns the list.
    package mutating func unfollow(_ id: String) -> [UserOperation] {
        let id = ExactString(id)
        self.news[id]?.isFollowed = false
        return self.news[id]?.change.take()?.operations ?? []
    }

    /// Returns whether changes of an activation's list count.
    package func isFollowed(_ id: String) -> Bool { self.news[ExactString(id)]?.isFollowed ?? false }

    /// Sets an activation's list, whoever polled it.
    ///
    /// - Parameter reason: Returns why an operation left.
    /// - Returns: The difference from the list before; `nil` when nothing is.
    package mutating func show(
        _ list: [UserOperation],
        of id: String,
        source: OperationListChange.Source,
        reason: (UserOperation) -> OperationListChange.RemovalReason
    ) -> FleetEvent? {
        let before = self.news[ExactString(id)]?.change?.operations ?? []
        guard list != before else { return nil }
        self.change(ExactString(id)) { $0.change = list.isEmpty ? nil : OperationListChange(wholeList: list) }
        let difference = OperationListDifference(from: before, to: list)
        let change = OperationListChange(
            operations: list,
            added: difference.added,
            updated: difference.updated,
            removed: difference.removed.map { .init(operation: $0, reason: reason($0)) },
            source: source
        )
        return change.isEmpty ? nil : .changed(FleetChange(activationID: id, change: change))
    }

    /// Keeps an activation's list, and nothing else of it: another process polls it now.
    package mutating func release(_ id: String) {
        let id = ExactString(id)
        guard self.news[id]?.change != nil else { return self.forget(id.string) }
        self.news[id]?.isFollowed = false
        self.news[id]?.state = nil
    }

    package mutating func forget(_ id: String) {
        self.news[ExactString(id)] = nil
        guard self.order.count > 2 * self.news.count + 64 else { return }
        var kept: Set<ExactString> = []
        self.order = self.order[self.head...].filter { self.news[$0] != nil && kept.insert($0).inserted }
        self.head = 0
    }

    private mutating func dropRead() {
        guard self.head > 64, self.head * 2 > self.order.count else { return }
        self.order.removeSubrange(..<self.head)
        self.head = 0
    }
}

extension FleetBuffer.News {
    mutating func removeFirst(of id: String) -> FleetEvent? {
        if let state = self.state.take() { return .stateChanged(activationID: id, state) }
        if let change = self.change.take() { return .changed(FleetChange(activationID: id, change: change)) }
        if let failure = self.failure.take() { return .failed(activationID: id, failure) }
        if self.hasLeft {
            self.hasLeft = false
            return .left(activationID: id)
        }
        return nil
    }
}
