import Coordination
public import PowerAuthClient

extension OperationsService {
    /// An event of an ``OperationsService``.
    public enum Event: Sendable {
        /// A fetch of the list started or ended.
        case loading(Bool)
        /// The list changed.
        case changed(OperationList.Change)
        /// The set of unreadable operations in the server's list changed. They may wait for a decision.
        case unreadable([OperationList.Unreadable])
        /// A fetch failed; the list is unchanged.
        case failed(MobileTokenError)
    }
}

/// The events that a subscriber has not read.
package struct EventBuffer: SubscriptionBuffer {
    package typealias EndReason = MobileTokenError

    /// The number of unread events before they are merged.
    private var capacity = 16
    /// Indicates whether the subscriber reads only changes.
    private var hasChangesAlone = false
    private var pending: [OperationsService.Event] = []

    package init(
        list: [UserOperation] = [],
        unreadable: [OperationList.Unreadable] = [],
        isLoading: Bool = false
    ) {
        if isLoading { self.pending.append(.loading(true)) }
        if !list.isEmpty { self.pending.append(.changed(OperationList.Change(wholeList: list))) }
        if !unreadable.isEmpty { self.pending.append(.unreadable(unreadable)) }
    }

    /// Notes that a list is being fetched now, or no longer, in what a new subscriber starts with.
    mutating func setLoading(_ isLoading: Bool) {
        if case .loading? = self.pending.first { self.pending.removeFirst() }
        if isLoading { self.pending.insert(.loading(true), at: 0) }
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

    /// Notes a new order of the list.
    package mutating func reorder(as operations: [UserOperation]) {
        // Earlier changes keep the list of their time.
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
        var unreadable: [OperationList.Unreadable]?
        var failure: MobileTokenError?
        var loading: Bool?
        for event in self.pending {
            switch event {
            case .loading(let isLoading): loading = isLoading
            case .changed(let next): change = change.map { $0.merged(with: next) } ?? next
            case .unreadable(let operations): unreadable = operations
            case .failed(let error): failure = error
            }
        }
        self.pending = [
            change.map { .changed($0) }, unreadable.map { .unreadable($0) }, failure.map { .failed($0) },
            loading.map { .loading($0) },
        ].compactMap { $0 }
    }
}

extension OperationsService.Event {
    var change: OperationList.Change? { if case .changed(let change) = self { change } else { nil } }
}

extension OperationList.Change {
    /// Creates a new subscriber's first change.
    init(wholeList: [UserOperation]) {
        self.init(operations: wholeList, added: wholeList, source: .subscription)
    }
}
