internal import Basics
package import Foundation

/// What an ``ExpirationQueue`` can hold.
package protocol ExpirationQueueItem: Sendable {
    associatedtype Key: Hashable, Sendable

    var key: Key { get }
    var expires: Date { get }
}

extension UserOperation: ExpirationQueueItem {
    package var key: Identity { self.identity }
}

/// Which items expire next, and when to report them. It decides; ``ExpirationWatcher`` sleeps and reports.
///
/// Deadlines are server dates, waiting is done on a monotonic clock: at every step the distance between the two is taken
/// anew, and no sleep is longer than ``longestSleep``, so a wall clock that is set forward or back is noticed.
///
/// Each item is watched by one or several holders. One that was added by hand is reported once and then forgotten. A holder
/// that is a list wants to be rid of the item: it is reminded at growing distances until it lets the item go.
package struct ExpirationQueue<Item: ExpirationQueueItem>: Sendable {
    /// Reports are at least this far apart.
    package static var reportInterval: Duration { .seconds(5) }
    /// How late a jump of the wall clock may be noticed.
    package static var longestSleep: Duration { .seconds(30) }

    /// Who watches an item.
    package enum Holder: Hashable, Sendable {
        /// Whoever called `add`.
        case hand
        /// A list, by a number of its own.
        case list(Int)
    }

    package enum Step: Sendable {
        /// Report what expired just now, and remind the lists that hold it or hold something that expired before.
        case report([Item], remind: [Int: [Item]])
        case sleep(until: Duration)
        /// Nothing is watched.
        case wait
    }

    private enum Due: Equatable {
        case expiry(Date)
        case reminder(Duration)
    }

    private struct Entry {
        var item: Item
        var holders: [Holder]
        var due: Due
        /// How often its lists were reminded.
        var reminders = 0
    }

    private struct Deadline<Time: Comparable & Sendable>: Comparable, Sendable {
        let time: Time
        let key: Item.Key

        static func < (one: Self, other: Self) -> Bool { one.time < other.time }
        static func == (one: Self, other: Self) -> Bool { one.time == other.time }
    }

    private var watched: [Item.Key: Entry] = [:]
    /// One deadline for every item that has not expired, and some of items that are not watched any more.
    private var expiries = Heap<Deadline<Date>>()
    /// The same for items that have expired and are still held.
    private var reminders = Heap<Deadline<Duration>>()
    private var lastReport: Duration?

    package init() {}

    package var count: Int { self.watched.count }

    /// What is watched, the first to expire first.
    package var items: [Item] { self.watched.values.map(\.item).sorted { $0.expires < $1.expires } }

    package func holderCount(of key: Item.Key) -> Int { self.watched[key]?.holders.count ?? 0 }

    /// Deadlines kept, those that do not count any more included.
    package var deadlineCount: Int { self.expiries.count + self.reminders.count }

    // MARK: What is watched

    /// Watches items. One that is watched already is replaced, and keeps its place when its time did not change.
    package mutating func add(_ items: [Item], for holder: Holder = .hand) {
        if items.count > self.watched.capacity { self.watched.reserveCapacity(items.count) }
        for item in items { self.add(item, for: holder) }
        self.compact()
    }

    private mutating func add(_ item: Item, for holder: Holder) {
        let key = item.key
        let date = Self.deadline(of: item)
        if let known = self.watched[key], Self.deadline(of: known.item) == date {
            self.watched[key]?.item = item
            if !known.holders.contains(holder) { self.watched[key]?.holders.append(holder) }
            return
        }
        var holders = self.watched[key]?.holders ?? []
        if !holders.contains(holder) { holders.append(holder) }
        self.watched[key] = Entry(item: item, holders: holders, due: .expiry(date))
        self.expiries.insert(Deadline(time: date, key: key))
    }

    /// A date that can be compared: what has no time is over.
    private static func deadline(of item: Item) -> Date {
        item.expires.timeIntervalSinceReferenceDate.isNaN ? .distantPast : item.expires
    }

    /// Lets go of items for one holder. They stay watched while there are others.
    package mutating func remove(_ items: [Item], for holder: Holder = .hand) {
        for item in items { self.remove(item.key, for: holder) }
        self.compact()
    }

    /// Lets go of everything for one holder.
    package mutating func removeAll(for holder: Holder = .hand) {
        for key in self.watched.keys { self.remove(key, for: holder) }
        self.compact()
    }

    private mutating func remove(_ key: Item.Key, for holder: Holder) {
        guard let holders = self.watched[key]?.holders else { return }
        if holders == [holder] {
            self.watched[key] = nil
        } else {
            self.watched[key]?.holders.removeAll { $0 == holder }
        }
    }

    // MARK: Time

    /// What to do at `now`, when the server's clock shows `serverDate`.
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
        while let date = self.earliestExpiry(), date <= serverDate, let key = self.expiries.removeMin()?.key {
            guard let item = self.watched[key]?.item else { continue }
            expired.append(item)
            // Once is enough for those who added it by hand.
            self.remove(key, for: .hand)
            self.remind(key, at: now, &remind)
        }
        while let time = self.earliestReminder(), time <= now, let key = self.reminders.removeMin()?.key {
            self.remind(key, at: now, &remind)
        }
        return .report(expired, remind: remind)
    }

    private mutating func remind(_ key: Item.Key, at now: Duration, _ remind: inout [Int: [Item]]) {
        guard var entry = self.watched[key] else { return }
        for case .list(let list) in entry.holders { remind[list, default: []].append(entry.item) }
        // 5 s, 10 s, 20 s and then every 30 s.
        let distance = min(Self.reportInterval * (1 << min(entry.reminders, 4)), Self.longestSleep)
        entry.reminders += 1
        entry.due = .reminder(now + distance)
        self.watched[key] = entry
        self.reminders.insert(Deadline(time: now + distance, key: key))
    }

    /// When there is something to do next, ``longestSleep`` from now at most.
    private mutating func earliest(at now: Duration, serverDate: Date) -> Duration? {
        let reminder = self.earliestReminder()
        guard let date = self.earliestExpiry() else { return reminder }
        let left = max(.zero, Duration(boundedSeconds: date.timeIntervalSince(serverDate)))
        let expiry = now + min(left, Self.longestSleep)
        return reminder.map { min($0, expiry) } ?? expiry
    }

    private mutating func earliestExpiry() -> Date? {
        while let deadline = self.expiries.min {
            if self.watched[deadline.key]?.due == .expiry(deadline.time) { return deadline.time }
            self.expiries.removeMin()
        }
        return nil
    }

    private mutating func earliestReminder() -> Duration? {
        while let deadline = self.reminders.min {
            if self.watched[deadline.key]?.due == .reminder(deadline.time) { return deadline.time }
            self.reminders.removeMin()
        }
        return nil
    }

    /// Keeps deadlines that do not count any more from piling up.
    private mutating func compact() {
        guard self.deadlineCount > 2 * self.watched.count + 16 else { return }
        var expiries: [Deadline<Date>] = []
        var reminders: [Deadline<Duration>] = []
        for (key, entry) in self.watched {
            switch entry.due {
            case .expiry(let date): expiries.append(Deadline(time: date, key: key))
            case .reminder(let time): reminders.append(Deadline(time: time, key: key))
            }
        }
        self.expiries = Heap(expiries)
        self.reminders = Heap(reminders)
    }
}

extension ExpirationQueue.Step: Equatable where Item: Equatable {}
