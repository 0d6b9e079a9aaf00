/// A queue with amortized constant time at both ends.
public struct FIFO<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// Creates an empty queue.
    @inlinable public init() {}

    /// The number of elements.
    @inlinable public var count: Int { self.elements.count - self.head }
    /// Indicates whether the queue is empty.
    @inlinable public var isEmpty: Bool { self.count == 0 }
    /// The oldest element.
    @inlinable public var first: Element? { self.isEmpty ? nil : self.elements[self.head] }

    /// Appends an element.
    @inlinable public mutating func append(_ element: Element) {
        self.elements.append(element)
    }

    /// Removes and returns the oldest element.
    @inlinable @discardableResult
    public mutating func popFirst() -> Element? {
        guard self.head < self.elements.count else { return nil }
        defer {
            self.elements[self.head] = nil
            self.head += 1
            // Moving the rest costs no more than the removals since the last time.
            if self.head * 2 >= self.elements.count {
                self.elements.removeFirst(self.head)
                self.head = 0
            }
        }
        return self.elements[self.head]
    }

    /// Removes all elements that satisfy `shouldRemove`.
    @inlinable public mutating func removeAll(where shouldRemove: (Element) -> Bool) {
        self.elements = self.elements[self.head...].filter { $0.map(shouldRemove) == false }
        self.head = 0
    }
}

extension FIFO: Sendable where Element: Sendable {}
