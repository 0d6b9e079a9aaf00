/// The last of things that are numbered from 1, so many that they fit the bounds. What no longer fits is let go at once.
struct RecentLog<Element: Sendable>: Sendable {
    /// The number of elements that are kept.
    let capacity: Int
    /// The number of bytes that all of them together may take.
    let totalCapacity: Int
    private(set) var lastID: UInt64 = 0
    private var kept: [UInt64: (element: Element, size: Int)] = [:]
    private var size = 0

    init(capacity: Int, totalCapacity: Int) {
        self.capacity = capacity
        self.totalCapacity = totalCapacity
    }

    var nextID: UInt64 { self.lastID + 1 }

    /// The numbers of all that is kept.
    var ids: Range<UInt64> { self.nextID - UInt64(self.kept.count)..<self.nextID }

    subscript(id: UInt64) -> Element? { self.kept[id]?.element }

    /// All that is kept.
    var newestFirst: some Sequence<Element> { self.elements(self.ids.reversed()) }

    /// Returns the kept elements of some numbers, in their order.
    func elements(_ ids: some Collection<UInt64>) -> some Sequence<Element> {
        ids.lazy.compactMap { self.kept[$0]?.element }
    }

    /// Appends what has the number ``nextID``.
    ///
    /// - Parameter size: The approximate size of the element, in bytes.
    mutating func append(_ element: Element, size: Int) {
        self.kept[self.nextID] = (element, size)
        self.lastID += 1
        self.size += size
        while self.kept.count > self.capacity || self.size > self.totalCapacity,
            let oldest = self.kept.removeValue(forKey: self.ids.lowerBound)
        {
            self.size -= oldest.size
        }
    }

    /// Forgets all; numbers go on.
    mutating func removeAll() {
        self.kept = [:]
        self.size = 0
    }
}
