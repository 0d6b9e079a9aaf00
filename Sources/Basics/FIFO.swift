/// A queue with both ends in amortized constant time.
public struct FIFO<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// Creates an empty queue.
    @inlinable public init() {}

    /// The number of its elements.
    @inlinable public var count: Int { self.elements.count - self.head }
    /// Indicates whether there is none.
    @inlinable public var isEmpty: Bool { self.count == 0 }
    /// The element that came first.
    @inlinable public var first: Element? { self.isEmpty ? nil : self.elements[self.head] }

    /// Adds an element at the end.
    @inlinable public mutating func append(_ element: Element) {
        self.elements.append(element)
    }

    /// Removes the element that came first, and returns it.
    @inlinable @discardableResult
    public mutating func popFirst() -> Element? {
        guard self.head < self.elements.count else { return nil }
        defer {
            self.elements[self.head] = nil
            self.head += 1
            // Half of the array is used up: moving the rest costs no more than what was removed since the last time.
            if self.head * 2 >= self.elements.count {
                self.elements.removeFirst(self.head)
                self.head = 0
            }
        }
        return self.elements[self.head]
    }

    /// Removes all elements that `shouldRemove` says so of.
    @inlinable public mutating func removeAll(where shouldRemove: (Element) -> Bool) {
        self.elements = self.elements[self.head...].filter { $0.map(shouldRemove) == false }
        self.head = 0
    }
}

extension FIFO: Sendable where Element: Sendable {}
