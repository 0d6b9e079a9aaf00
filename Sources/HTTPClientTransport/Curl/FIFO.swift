/// A queue with both ends in amortized constant time.
struct FIFO<Element> {
    private var elements: [Element?] = []
    private var head = 0

    var count: Int { self.elements.count - self.head }
    var isEmpty: Bool { self.count == 0 }

    mutating func append(_ element: Element) {
        self.elements.append(element)
    }

    mutating func popFirst() -> Element? {
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

    mutating func removeAll(where shouldRemove: (Element) -> Bool) {
        self.elements = self.elements[self.head...].filter { $0.map(shouldRemove) == false }
        self.head = 0
    }
}
