/// A binary heap. The smallest element is available at once. Public for the same reason as ``DeadlineQueue``.
public struct Heap<Element: Comparable & Sendable>: Sendable {
    @usableFromInline var elements: [Element] = []

    /// Creates an empty heap.
    @inlinable public init() {}

    /// Creates a heap from elements in any order, in linear time.
    @inlinable public init(_ elements: [Element]) {
        self.elements = elements
        for index in stride(from: elements.count / 2 - 1, through: 0, by: -1) { self.siftDown(index) }
    }

    /// The number of elements.
    @inlinable public var count: Int { self.elements.count }
    /// The smallest element.
    @inlinable public var min: Element? { self.elements.first }

    /// Returns the elements that satisfy `isIncluded`, in no particular order.
    @inlinable public func filter(_ isIncluded: (Element) -> Bool) -> [Element] { self.elements.filter(isIncluded) }

    /// Inserts an element, in logarithmic time.
    @inlinable public mutating func insert(_ element: Element) {
        self.elements.append(element)
        self.siftUp(self.elements.count - 1)
    }

    /// Removes and returns the smallest element, in logarithmic time.
    @discardableResult
    @inlinable public mutating func removeMin() -> Element? {
        guard let last = self.elements.popLast() else { return nil }
        guard let first = self.elements.first else { return last }
        self.elements[0] = last
        self.siftDown(0)
        return first
    }

    @inlinable mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard self.elements[index] < self.elements[parent] else { return }
            self.elements.swapAt(index, parent)
            index = parent
        }
    }

    @inlinable mutating func siftDown(_ start: Int) {
        var index = start
        while 2 * index + 1 < self.elements.count {
            let (left, right) = (2 * index + 1, 2 * index + 2)
            let isRightSmaller = right < self.elements.count && self.elements[right] < self.elements[left]
            let child = isRightSmaller ? right : left
            guard self.elements[child] < self.elements[index] else { return }
            self.elements.swapAt(index, child)
            index = child
        }
    }
}
