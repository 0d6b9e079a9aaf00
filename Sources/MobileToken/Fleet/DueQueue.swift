import Coordination
package import Basics

/// What falls due when: each activation at one time at most.
package struct DueQueue: Sendable {
    private struct Entry: Comparable {
        let time: Duration
        let number: UInt64
        let id: ExactString

        static func < (one: Self, other: Self) -> Bool { (one.time, one.number) < (other.time, other.number) }
        static func == (one: Self, other: Self) -> Bool { one.number == other.number }
    }

    private var heap = Heap<Entry>()
    /// The entry that counts for each activation.
    private var numbers: [ExactString: UInt64] = [:]
    private var nextNumber: UInt64 = 0

    package init() {}

    /// How many activations wait for their time.
    package var count: Int { self.numbers.count }
    /// How many entries are kept, those included that do not count any more.
    package var entryCount: Int { self.heap.count }

    /// Sets when an activation falls due, instead of any time set before.
    package mutating func set(_ id: ExactString, at time: Duration) {
        self.nextNumber += 1
        self.numbers[id] = self.nextNumber
        self.heap.insert(Entry(time: time, number: self.nextNumber, id: id))
        guard self.heap.count > 2 * self.numbers.count + 64 else { return }
        self.heap = Heap(self.heap.filter { self.numbers[$0.id] == $0.number })
    }

    package mutating func remove(_ id: ExactString) { self.numbers[id] = nil }

    /// Takes what is due first, if it is.
    package mutating func takeDue(at now: Duration) -> ExactString? {
        guard let first = self.earliest(), first.time <= now else { return nil }
        self.heap.removeMin()
        self.numbers[first.id] = nil
        return first.id
    }

    /// When something falls due next.
    package mutating func next() -> Duration? { self.earliest()?.time }

    private mutating func earliest() -> Entry? {
        while let first = self.heap.min {
            if self.numbers[first.id] == first.number { return first }
            self.heap.removeMin()
        }
        return nil
    }
}
