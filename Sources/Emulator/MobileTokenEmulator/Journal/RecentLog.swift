/// The last elements of a sequence numbered from 1, within limits. Excess elements are dropped at once.
struct RecentLog<Element: Sendable>: Sendable {
    /// The maximum number of elements.
    let capacity: Int
    /// The maximum total size of the elements, in bytes.
    let totalCapacity: Int
    private(set) var lastID: UInt64 = 0
    private var kept: [UInt64: (element: Element, size: Int)] = [:]
    private var size = 0

    init(capacity: Int, totalCapacity: Int) {
        self.capacity = capacity
        self.totalCapacity = totalCapacity
    }

    var nextID: UInt64 { self.lastID + 1 }

    /// The numbers of the kept elements.
    var ids: Range<UInt64> { self.nextID - UInt64(self.kept.count)..<self.nextID }

    subscript(id: UInt64) -> Element? { self.kept[id]?.element }

    var newestFirst: some Sequence<Element> { self.elements(self.ids.reversed()) }

    /// Returns the kept elements with some numbers, in their order.
    func elements(_ ids: some Collection<UInt64>) -> some Sequence<Element> {
        ids.lazy.compactMap { self.kept[$0]?.element }
    }

    /// Appends an element with the number ``nextID``.
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

    /// Removes all elements; numbers continue.
    mutating func removeAll() {
        self.kept = [:]
        self.size = 0
    }
}
