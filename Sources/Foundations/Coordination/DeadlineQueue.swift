/// Values by key with deadlines. The earliest is available at once.
///
/// Changing a value takes constant time, inserting and removing logarithmic time. Values with equal deadlines come in insertion
/// order.
///
/// Public for specialization in other modules, which makes it ten times as fast; no product exports this module.
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
        /// The identifier of the entry's deadline.
        @usableFromInline let order: UInt64

        @inlinable init(value: Value, order: UInt64) {
            self.value = value
            self.order = order
        }
    }

    @usableFromInline var entries: [Key: Entry] = [:]
    /// The deadlines of all entries, with some obsolete ones: removal from the middle of a heap would need a search.
    @usableFromInline var deadlines = Heap<Deadline>()
    @usableFromInline var nextOrder: UInt64 = 0

    /// Creates an empty queue.
    @inlinable public init() {}

    /// The number of values.
    @inlinable public var count: Int { self.entries.count }
    /// Indicates whether there are no values.
    @inlinable public var isEmpty: Bool { self.entries.isEmpty }
    /// The number of kept deadlines, including obsolete ones.
    @inlinable public var deadlineCount: Int { self.deadlines.count }
    /// The keys in no particular order.
    @inlinable public var keys: some Collection<Key> { self.entries.keys }
    /// The values in no particular order.
    @inlinable public var values: some Collection<Value> { self.entries.values.lazy.map(\.value) }

    /// The value for a key.
    @inlinable public subscript(key: Key) -> Value? { self.entries[key]?.value }

    /// Reserves room for this many values.
    @inlinable public mutating func reserveCapacity(_ count: Int) {
        if count > self.entries.capacity { self.entries.reserveCapacity(count) }
    }

    /// Inserts a value, or replaces the key's former one.
    @inlinable public mutating func insert(_ value: Value, for key: Key, at time: Time) {
        self.nextOrder += 1
        self.entries[key] = Entry(value: value, order: self.nextOrder)
        self.deadlines.insert(Deadline(time: time, order: self.nextOrder, key: key))
        self.compact()
    }

    /// Changes a value without changing its deadline. Returns `false` if there is none.
    @discardableResult
    @inlinable public mutating func update(_ key: Key, _ change: (inout Value) -> Void) -> Bool {
        guard let index = self.entries.index(forKey: key) else { return false }
        change(&self.entries.values[index].value)
        return true
    }

    /// Removes a value, whatever its deadline.
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

    /// Limits the number of obsolete deadlines.
    @inlinable mutating func compact() {
        guard self.deadlines.count > 2 * self.entries.count + 16 else { return }
        let entries = self.entries
        self.deadlines = Heap(self.deadlines.filter { entries[$0.key]?.order == $0.order })
    }
}
