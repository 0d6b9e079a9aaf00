/// Values by key, each with a deadline; the earliest is always at hand.
///
/// Changing a value takes constant time, inserting and removing one logarithmic time. What is inserted for the same time
/// comes out in the order of insertion.
///
/// Public because only then it is specialized in other modules, which makes it ten times as fast; no product has this module.
public struct DeadlineQueue<Time: Comparable & Sendable, Key: Hashable & Sendable, Value: Sendable>: Sendable {
    @usableFromInline struct Deadline: Comparable, Sendable {
        @usableFromInline let time: Time
        @usableFromInline let order: UInt64
        @usableFromInline let key: Key

        @inlinable init(time: Time, order: UInt64, key: Key) {
            self.time = time
            self.order = order
            self.key = key
        }

        @inlinable static func == (one: Self, other: Self) -> Bool { one.order == other.order }

        @inlinable static func < (one: Self, other: Self) -> Bool {
            (one.time, one.order) < (other.time, other.order)
        }
    }

    @usableFromInline struct Entry: Sendable {
        @usableFromInline var value: Value
        /// The identifier of this one's deadline.
        @usableFromInline let order: UInt64

        @inlinable init(value: Value, order: UInt64) {
            self.value = value
            self.order = order
        }
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    /// A deadline for each entry, and some of entries that were removed or have another one now: taking one out of the
    /// middle of a heap would mean to search for it.
    @usableFromInline var deadlines = Heap<Deadline>()
    @usableFromInline var nextOrder: UInt64 = 0

    /// Creates an empty one.
    @inlinable public init() {}

    /// The number of values.
    @inlinable public var count: Int { self.entries.count }
    /// Indicates whether there are no values.
    @inlinable public var isEmpty: Bool { self.entries.isEmpty }
    /// The deadlines kept, those that no longer count included.
    @inlinable public var deadlineCount: Int { self.deadlines.count }
    /// In no particular order.
    @inlinable public var keys: some Collection<Key> { self.entries.keys }
    /// In no particular order.
    @inlinable public var values: some Collection<Value> { self.entries.values.lazy.map(\.value) }

    /// The value of a key.
    @inlinable public subscript(key: Key) -> Value? { self.entries[key]?.value }

    /// Makes room for so many values.
    @inlinable public mutating func reserveCapacity(_ count: Int) {
        if count > self.entries.capacity { self.entries.reserveCapacity(count) }
    }

    /// Inserts a value, in the place of the one that the key had before.
    @inlinable public mutating func insert(_ value: Value, for key: Key, at time: Time) {
        self.nextOrder += 1
        self.entries[key] = Entry(value: value, order: self.nextOrder)
        self.deadlines.insert(Deadline(time: time, order: self.nextOrder, key: key))
        self.compact()
    }

    /// Changes a value, which keeps its deadline.
    ///
    /// - Returns: `true` if there was one.
    @discardableResult
    @inlinable public mutating func update(_ key: Key, _ change: (inout Value) -> Void) -> Bool {
        guard let index = self.entries.index(forKey: key) else { return false }
        change(&self.entries.values[index].value)
        return true
    }

    /// Removes a value, whenever it is due.
    @discardableResult
    @inlinable public mutating func remove(_ key: Key) -> Value? {
        guard let entry = self.entries.removeValue(forKey: key) else { return nil }
        self.compact()
        return entry.value
    }

    /// The earliest deadline.
    @inlinable public mutating func earliest() -> Time? {
        while let deadline = self.deadlines.min {
            if self.entries[deadline.key]?.order == deadline.order { return deadline.time }
            self.deadlines.removeMin()
        }
        return nil
    }

    /// Removes and returns the earliest value, if it is due at `time`.
    @inlinable public mutating func removeFirst(dueAt time: Time) -> (key: Key, value: Value)? {
        guard let earliest = self.earliest(), earliest <= time, let key = self.deadlines.removeMin()?.key else {
            return nil
        }
        return self.entries.removeValue(forKey: key).map { (key, $0.value) }
    }

    /// Keeps deadlines that no longer count from piling up.
    @inlinable mutating func compact() {
        guard self.deadlines.count > 2 * self.entries.count + 16 else { return }
        let entries = self.entries
        self.deadlines = Heap(self.deadlines.filter { entries[$0.key]?.order == $0.order })
    }
}
