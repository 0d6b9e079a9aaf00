import Basics
import Coordination
package import Foundation
package import MobileToken

package protocol ExpirationQueueItem: Sendable {
    associatedtype Key: Hashable, Sendable

    var key: Key { get }
    var expires: Date { get }
}

extension UserOperation: ExpirationQueueItem {
    package var key: Identity { self.identity }
}

/// The items that expire next, and their report times. It decides; ``ExpirationWatcher`` sleeps and reports.
///
/// Deadlines are server dates, and waiting uses a monotonic clock. Each step compares the two again and sleeps at most
/// ``longestSleep``, so a change of the wall clock is noticed.
///
/// An item has one or more holders. The one that added it by hand gets one report. A list that holds it gets reminders at growing
/// intervals until it releases the item.
package struct ExpirationQueue<Item: ExpirationQueueItem>: Sendable {
    package static var reportInterval: Duration { .seconds(5) }
    /// The longest time until a jump of the wall clock is noticed.
    package static var longestSleep: Duration { .seconds(30) }

    /// A watcher of an item.
    package enum Holder: Hashable, Sendable {
        /// The caller of `add`.
        case hand
        /// A list, by its number.
        case list(Int)
    }

    package enum Step: Sendable {
        /// Report newly expired items, and remind the lists that hold these or earlier ones.
        case report([Item], remind: [Int: [Item]])
        case sleep(until: Duration)
        /// Nothing is watched.
        case wait
    }

    private struct Entry {
        var item: Item
        var holders: [Holder]
        /// The number of reminders sent to the item's lists.
        var reminders = 0
    }

    /// The unexpired items, by date.
    private var expiries = DeadlineQueue<Date, Item.Key, Entry>()
    /// The expired items that are still held, by the time of the next reminder.
    private var reminders = DeadlineQueue<Duration, Item.Key, Entry>()
    private var lastReport: Duration?

    package init() {}

    package var count: Int { self.expiries.count + self.reminders.count }

    /// The watched items, earliest expiry first.
    package var items: [Item] {
        (self.expiries.values.map(\.item) + self.reminders.values.map(\.item)).sorted { $0.expires < $1.expires }
    }

    package func holderCount(of key: Item.Key) -> Int { self.entry(for: key)?.holders.count ?? 0 }

    /// The number of stored deadlines, including obsolete ones.
    package var deadlineCount: Int { self.expiries.deadlineCount + self.reminders.deadlineCount }

    private func entry(for key: Item.Key) -> Entry? { self.expiries[key] ?? self.reminders[key] }

    private mutating func update(_ key: Item.Key, _ change: (inout Entry) -> Void) {
        if !self.expiries.update(key, change) { self.reminders.update(key, change) }
    }

    // MARK: What is watched

    /// Watches items. A new version of a watched item replaces it, and keeps its place if the expiry is the same.
    package mutating func add(_ items: [Item], for holder: Holder = .hand) {
        self.expiries.reserveCapacity(items.count)
        for item in items { self.add(item, for: holder) }
    }

    private mutating func add(_ item: Item, for holder: Holder) {
        let date = Self.deadline(of: item)
        let known = self.entry(for: item.key)
        var entry = Entry(item: item, holders: known?.holders ?? [])
        if !entry.holders.contains(holder) { entry.holders.append(holder) }
        if let known, Self.deadline(of: known.item) == date {
            entry.reminders = known.reminders
            self.update(item.key) { $0 = entry }
        } else {
            self.reminders.remove(item.key)
            self.expiries.insert(entry, for: item.key, at: date)
        }
    }

    /// Returns a comparable date; NaN counts as expired.
    private static func deadline(of item: Item) -> Date {
        item.expires.timeIntervalSinceReferenceDate.isNaN ? .distantPast : item.expires
    }

    /// Releases items for one holder. Other holders keep them watched.
    package mutating func remove(_ items: [Item], for holder: Holder = .hand) {
        for item in items { self.remove(item.key, for: holder) }
    }

    package mutating func removeAll(for holder: Holder = .hand) {
        for key in Array(self.expiries.keys) + self.reminders.keys { self.remove(key, for: holder) }
    }

    private mutating func remove(_ key: Item.Key, for holder: Holder) {
        guard self.entry(for: key)?.holders == [holder] else {
            return self.update(key) { $0.holders.removeAll { $0 == holder } }
        }
        self.expiries.remove(key)
        self.reminders.remove(key)
    }

    // MARK: Time

    /// Returns the next action at `now`, when the server's clock shows `serverDate`.
    package mutating func step(at now: Duration, serverDate: Date) -> Step {
        guard let due = self.earliest(at: now, serverDate: serverDate) else { return .wait }
        let allowed = self.lastReport.map { $0 + Self.reportInterval } ?? now
        guard due <= now, allowed <= now else { return .sleep(until: max(allowed, due)) }
        self.lastReport = now
        return self.report(at: now, serverDate: serverDate)
    }

    private mutating func report(at now: Duration, serverDate: Date) -> Step {
        var expired: [Item] = []
        var remind: [Int: [Item]] = [:]
        while let (key, entry) = self.expiries.removeFirst(dueAt: serverDate) {
            expired.append(entry.item)
            self.remind(key, entry, at: now, &remind)
        }
        while let (key, entry) = self.reminders.removeFirst(dueAt: now) {
            self.remind(key, entry, at: now, &remind)
        }
        return .report(expired, remind: remind)
    }

    /// Reminds the lists that hold an expired item, and schedules their next reminder.
    private mutating func remind(_ key: Item.Key, _ entry: Entry, at now: Duration, _ remind: inout [Int: [Item]]) {
        var entry = entry
        entry.holders.removeAll { $0 == .hand }  // once is enough for those who added it by hand
        guard !entry.holders.isEmpty else { return }
        for case .list(let list) in entry.holders { remind[list, default: []].append(entry.item) }
        // 5 s, 10 s, 20 s, then every 30 s.
        let distance = min(Self.reportInterval * (1 << min(entry.reminders, 4)), Self.longestSleep)
        entry.reminders += 1
        self.reminders.insert(entry, for: key, at: now + distance)
    }

    /// Returns the time of the next step, at most ``longestSleep`` from now.
    private mutating func earliest(at now: Duration, serverDate: Date) -> Duration? {
        let reminder = self.reminders.earliest()
        guard let date = self.expiries.earliest(), date != .distantFuture else { return reminder }
        let left = max(.zero, Duration(boundedSeconds: date.timeIntervalSince(serverDate)))
        let expiry = now + min(left, Self.longestSleep)
        return reminder.map { min($0, expiry) } ?? expiry
    }
}

extension ExpirationQueue.Step: Equatable where Item: Equatable {}
