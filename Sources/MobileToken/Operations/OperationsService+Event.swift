import Coordination
public import PowerAuth

extension OperationsService {
    /// An event of an ``OperationsService``.
    public enum Event: Sendable {
        /// A list is being fetched, or no longer.
        case loading(Bool)
        /// The list changed.
        case changed(OperationList.Change)
        /// Fetching the list failed; the list stays as it was.
        case failed(MobileTokenError)
    }
}

/// The events that a subscriber has not seen yet.
package struct EventBuffer: SubscriptionBuffer {
    package typealias EndReason = MobileTokenError

    /// The number of events that wait for a slow reader before they are merged.
    private var capacity = 16
    /// Indicates that the subscriber reads changes alone.
    private var hasChangesAlone = false
    private var pending: [OperationsService.Event] = []

    package init(list: [UserOperation] = [], isLoading: Bool = false) {
        if isLoading { self.pending.append(.loading(true)) }
        if !list.isEmpty { self.pending.append(.changed(OperationList.Change(wholeList: list))) }
    }

    /// The same for a subscriber that reads changes alone, merged into one.
    var ofChanges: Self {
        var buffer = self
        (buffer.capacity, buffer.hasChangesAlone) = (1, true)
        buffer.pending.removeAll { $0.change == nil }
        return buffer
    }

    package func accepts(_ event: OperationsService.Event) -> Bool { !self.hasChangesAlone || event.change != nil }

    package mutating func append(_ event: OperationsService.Event) {
        self.pending.append(event)
        if self.pending.count > self.capacity { self.merge() }
    }

    /// Notes that the list came in another order.
    package mutating func reorder(as operations: [UserOperation]) {
        // Earlier changes show the list as it was then.
        for index in self.pending.indices.reversed() {
            guard let change = self.pending[index].change else { continue }
            self.pending[index] = .changed(change.reordered(as: operations))
            return
        }
    }

    package mutating func removeFirst() -> OperationsService.Event? {
        self.pending.isEmpty ? nil : self.pending.removeFirst()
    }

    private mutating func merge() {
        var change: OperationList.Change?
        var failure: MobileTokenError?
        var loading: Bool?
        for event in self.pending {
            switch event {
            case .loading(let isLoading): loading = isLoading
            case .changed(let next): change = change.map { $0.merged(with: next) } ?? next
            case .failed(let error): failure = error
            }
        }
        self.pending = [change.map { .changed($0) }, failure.map { .failed($0) }, loading.map { .loading($0) }]
            .compactMap { $0 }
    }
}

extension OperationsService.Event {
    /// The change of the list, if it is one.
    var change: OperationList.Change? { if case .changed(let change) = self { change } else { nil } }
}

extension OperationList.Change {
    /// Creates what a subscriber sees first who has seen nothing.
    init(wholeList: [UserOperation]) {
        self.init(operations: wholeList, added: wholeList, source: .subscription)
    }
}
