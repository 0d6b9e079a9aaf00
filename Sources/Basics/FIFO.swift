/// A queue with both ends in amortized constant time.
package struct FIFO<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable package var count: Int { self.elements.count - self.head }
    @inlinable package var isEmpty: Bool { self.count == 0 }
    @inlinable package var first: Element? { self.isEmpty ? nil : self.elements[self.head] }

    @inlinable package mutating func append(_ element: Element) {
        self.elements.append(element)
    }

    @inlinable @discardableResult
    package mutating func popFirst() -> Element? {
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

    @inlinable package mutating func removeAll(where shouldRemove: (Element) -> Bool) {
        self.elements = self.elements[self.head...].filter { $0.map(shouldRemove) == false }
        self.head = 0
    }
}

extension FIFO: Sendable where Element: Sendable {}
