import Coordination
public import Foundation
public import MobileToken
public import PowerAuthClient

/// Reports when operations or other ``Expirable`` items expire.
///
/// It only reports. An operation leaves a service's list when the server stops listing it; ``watch(_:)`` asks the server until
/// then. Times are the server's. Reports are at least 5 s apart, and a change of the wall clock is noticed within 30 s.
///
/// ```swift
/// let watcher = ExpirationWatcher(activation: activation)
/// async let watching: Void = watcher.watch(operations)
/// for await expired in watcher.expirations() {
///     print("Too late for", expired.map(\.name))
/// }
/// ```
///
/// One watcher serves any number of services of one server. It runs nothing while it watches nothing.
public actor ExpirationWatcher {
    /// The state of one watched service.
    private struct List {
        /// The expired items still on the list, for which the watch asks the server.
        var expired: Set<String> = []
        /// Raised when the watch should ask the server.
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
    /// Takes a step at each alarm. Exists only while an alarm is set.
    private var driver: Task<Void, Never>?

    /// Creates a watcher that uses an activation's estimate of the server's time.
    ///
    /// - Parameters:
    ///   - activation: The activation that knows the server's time.
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

    /// The watched items, earliest expiry first.
    public var watched: [any Expirable] { self.queue.items.map(\.item) }

    /// The watched operations, earliest expiry first.
    public var operations: [UserOperation] { self.watched.compactMap { $0 as? UserOperation } }

    /// Returns the number of services that list an operation, plus one if it was added by hand.
    package func holderCount(of operation: UserOperation) -> Int {
        self.queue.holderCount(of: WatchedItem.operation(operation).key)
    }

    /// Watches operations until they expire or are removed. Adding one again has an effect only if its expiry changed.
    public func add(_ operations: [UserOperation]) {
        self.add(operations.map(WatchedItem.operation), for: .hand)
    }

    /// Watches items until they expire or are removed. Adding one again has an effect only if its expiry changed.
    ///
    /// Items are identified by type and identifier.
    public func add(_ items: [some Expirable]) {
        self.add(items.map { WatchedItem($0) }, for: .hand)
    }

    /// Stops watching operations that were added. Operations on a watched service's list stay watched.
    public func remove(_ operations: [UserOperation]) {
        self.remove(operations.map(WatchedItem.operation), for: .hand)
    }

    /// Stops watching items that were added.
    public func remove(_ items: [some Expirable]) {
        self.remove(items.map { WatchedItem($0) }, for: .hand)
    }

    /// Stops watching everything that was added. Operations on a watched service's list stay watched.
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

    /// Returns items of one type as they expire, each once. Items that expire while the reader is busy arrive together.
    ///
    /// If more than 1 000 items are unread, the newest are kept, and always those of the last report. Each call starts a
    /// subscription for one reader; it ends when the stream is released, and does not keep the watcher alive.
    public nonisolated func expirations<Item: Expirable>(of type: Item.Type) -> AsyncStream<[Item]> {
        self.broadcast.subscribe().stream { expired in
            let items = expired.compactMap { $0.item as? Item }
            return items.isEmpty ? nil : items
        }
    }

    // MARK: Services

    /// Follows a service's list and refreshes it when an operation expires, until the task is canceled or the streams end.
    ///
    /// While the server still lists the operation, as it may for some seconds, or the fetch fails, the service asks again: after
    /// 5 s, 10 s, 20 s, then every 30 s, but not before the server's `Retry-After` has passed.
    ///
    /// An operation is watched as long as any service lists it.
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
        // An early alarm reports nothing and is set again; only a late one must be replaced.
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
        // An alarm rings once, and never early. If it was replaced while ringing, the extra step is harmless.
        if let alarm, alarm.deadline <= self.alarms.clock.now { self.alarm = nil }
        self.step()
    }
}
