import Coordination
public import Foundation
public import PowerAuth

/// Reports when operations expire, or anything else that is ``Expirable``.
///
/// It only reports. An operation leaves a service's list when the server no longer lists it; ``watch(_:)`` asks the server
/// then, again and again until the operation is gone. Times are the server's. Reports are at least 5 s apart, and a wall clock
/// that is set is noticed within 30 s.
///
/// ```swift
/// let watcher = ExpirationWatcher(activation: activation)
/// async let watching: Void = watcher.watch(operations)
/// for await expired in watcher.expirations() {
///     print("Too late for", expired.map(\.name))
/// }
/// ```
///
/// One watcher serves any number of services of one server. Nothing runs while it has nothing to watch.
public actor ExpirationWatcher {
    /// The watch of one service.
    private struct List {
        /// The items that have expired and are still on their list, for the watch to ask about.
        var expired: Set<String> = []
        /// Raised when there is something to ask about.
        let signal = Signal()
    }

    private let alarms: Alarms
    private let serverDate: @Sendable () -> Date
    private nonisolated let broadcast = Broadcast(startingWith: ExpiredItemsBuffer())
    private var queue = ExpirationQueue<WatchedItem>()
    private var lists: [Int: List] = [:]
    private var newestList = 0

    /// The alarm of the next step.
    private var alarm: (id: Alarms.ID, deadline: Duration)?
    private let alarmSignal = Signal()
    /// Takes a step whenever the alarm rings. There is one while there is something to wait for.
    private var driver: Task<Void, Never>?

    /// Creates a watcher that goes by an activation's knowledge of the server's time.
    ///
    /// - Parameters:
    ///   - activation: The activation whose server's time counts.
    ///   - clock: The clock to wait on; the system's by default.
    public init(activation: Activation, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(clock: clock) { activation.serverDate }
    }

    /// Creates a watcher.
    ///
    /// - Parameters:
    ///   - clock: The clock to wait on; the system's by default.
    ///   - serverDate: Returns the server's current time.
    public init(clock: any Clock<Duration> = ContinuousClock(), serverDate: @escaping @Sendable () -> Date) {
        self.alarms = .on(clock)
        self.serverDate = serverDate
    }

    deinit {
        self.driver?.cancel()
        if let alarm { self.alarms.cancel(alarm.id) }
        self.broadcast.finish()
    }

    // MARK: What is watched

    /// The number of watched items.
    public var count: Int { self.queue.count }

    /// Everything that is watched, the first to expire first.
    public var watched: [any Expirable] { self.queue.items.map(\.item) }

    /// The operations that are watched, the first to expire first.
    public var operations: [UserOperation] { self.watched.compactMap { $0 as? UserOperation } }

    /// Returns how many services list an operation, one more when it was added.
    package func holderCount(of operation: UserOperation) -> Int {
        self.queue.holderCount(of: WatchedItem.operation(operation).key)
    }

    /// Watches operations until they expire or are removed. Adding one again changes nothing, unless its time changed.
    public func add(_ operations: [UserOperation]) {
        self.add(operations.map(WatchedItem.operation), for: .hand)
    }

    /// Watches items until they expire or are removed. Adding one again changes nothing, unless its time changed.
    ///
    /// Items are told apart by their type and their identifier.
    public func add(_ items: [some Expirable]) {
        self.add(items.map { WatchedItem($0) }, for: .hand)
    }

    /// Forgets operations that were added. One that is on the list of a service being watched stays watched for it.
    public func remove(_ operations: [UserOperation]) {
        self.remove(operations.map(WatchedItem.operation), for: .hand)
    }

    /// Forgets items that were added.
    public func remove(_ items: [some Expirable]) {
        self.remove(items.map { WatchedItem($0) }, for: .hand)
    }

    /// Forgets everything that was added. What is on the list of a service being watched stays watched for it.
    public func removeAll() {
        self.queue.removeAll()
        self.step()
    }

    private func add(_ items: [WatchedItem], for holder: ExpirationQueue<WatchedItem>.Holder) {
        self.queue.add(items, for: holder)
        self.step()
    }

    private func remove(_ items: [WatchedItem], for holder: ExpirationQueue<WatchedItem>.Holder) {
        self.queue.remove(items, for: holder)
        self.step()
    }

    // MARK: What expires

    /// Returns operations as they expire, each once, as ``expirations(of:)`` does.
    public nonisolated func expirations() -> AsyncStream<[UserOperation]> {
        self.expirations(of: UserOperation.self)
    }

    /// Returns items of one type as they expire, each once. Several that expired while the reader was busy come together.
    ///
    /// A reader that leaves more than 1 000 items unread keeps the newest, but never less than what expired last. Each call
    /// begins a subscription of its own, for one reader, which ends when the stream is let go. It does not keep the watcher alive.
    public nonisolated func expirations<Item: Expirable>(of type: Item.Type) -> AsyncStream<[Item]> {
        self.broadcast.subscribe().stream { expired in
            let items = expired.compactMap { $0.item as? Item }
            return items.isEmpty ? nil : items
        }
    }

    // MARK: Services

    /// Keeps in step with a service's list, and has the service ask the server when one of its operations expires, until the
    /// calling task is canceled or the service's streams end.
    ///
    /// When the server still lists the operation, as it may for some seconds, or the fetch fails, the service is made to ask
    /// again: after 5 s, 10 s, 20 s and then every 30 s until the operation is gone, but not before the server's `Retry-After`
    /// is over.
    ///
    /// Several services may list the same operation; it is watched while any of them does.
    public func watch(_ service: OperationsService) async {
        self.newestList += 1
        let list = self.newestList
        let watch = List()
        self.lists[list] = watch
        await withTaskGroup { group in
            group.addTask {
                while await watch.signal.wait() {
                    await service.refresh(ifListing: self.takeExpired(of: list))
                }
            }
            group.addTask {
                await self.follow(service, as: .list(list))
            }
            await group.next()
            group.cancelAll()
        }
        self.lists[list] = nil
    }

    private nonisolated func follow(
        _ service: OperationsService,
        as holder: ExpirationQueue<WatchedItem>.Holder
    ) async {
        var watched: [UserOperation.Identity: WatchedItem] = [:]
        for await change in service.changes() {
            let removed = change.removed.map { WatchedItem.operation($0.operation) }
            let listed = change.added + change.updated.map(\.new)
            for removal in change.removed { watched[removal.operation.identity] = nil }
            for operation in listed { watched[operation.identity] = .operation(operation) }
            await self.remove(removed, for: holder)
            await self.add(listed.map(WatchedItem.operation), for: holder)
        }
        await self.remove(Array(watched.values), for: holder)
    }

    private func takeExpired(of list: Int) -> Set<String> {
        defer { self.lists[list]?.expired = [] }
        return self.lists[list]?.expired ?? []
    }

    // MARK: Time

    private func step() {
        while true {
            switch self.queue.step(at: self.alarms.clock.now, serverDate: self.serverDate()) {
            case .report(let expired, let remind):
                if !expired.isEmpty { self.broadcast.send(expired, startingWith: ExpiredItemsBuffer()) }
                for (list, items) in remind { self.remind(list, of: items) }
            case .sleep(let deadline):
                return self.setAlarm(to: deadline)
            case .wait:
                return self.rest()
            }
        }
    }

    private func remind(_ list: Int, of items: [WatchedItem]) {
        for case .operation(let operation) in items { self.lists[list]?.expired.insert(operation.id) }
        self.lists[list]?.signal.raise()
    }

    private func setAlarm(to deadline: Duration) {
        // An alarm that rings too early finds nothing to report and is set again; only one that is too late is replaced.
        if let alarm, alarm.deadline <= deadline { return }
        let obsolete = self.alarm?.id
        self.alarm = (self.alarms.set(self.alarmSignal, at: deadline), deadline)
        if let obsolete { self.alarms.cancel(obsolete) }
        guard self.driver == nil else { return }
        self.driver = Task.detached { [weak self, alarmSignal] in
            while await alarmSignal.wait() { await self?.alarmRang() }
        }
    }

    private func rest() {
        self.driver?.cancel()
        self.driver = nil
        if let alarm { self.alarms.cancel(alarm.id) }
        self.alarm = nil
    }

    private func alarmRang() {
        // An alarm rings once, and not before its time. One that was replaced while it rang is not the alarm any more; the
        // extra step does no harm.
        if let alarm, alarm.deadline <= self.alarms.clock.now { self.alarm = nil }
        self.step()
    }
}
