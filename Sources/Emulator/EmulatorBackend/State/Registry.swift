/// Values found by identifier, in insertion order.
package struct Registry<Element: Sendable & Codable & Identifiable>: Sendable where Element.ID == String {
    /// For the data file, which then calls ``restoreOrder()``.
    var table = Table<Element>()
    private var identifiers: [String] = []

    /// Setting a new element appends it; setting a known one keeps its position; nil is ignored.
    package subscript(id: String) -> Element? {
        get { self.table[id] }
        set {
            guard let newValue else { return }
            if self.table[id] == nil { self.identifiers.append(id) }
            self.table[id] = newValue
        }
    }

    /// Changes an element in place.
    mutating func update(_ id: String, _ change: (inout Element) -> Void) {
        self.table.update(id, change)
    }

    package var newestFirst: some Sequence<Element> {
        self.identifiers.reversed().lazy.compactMap { self.table[$0] }
    }

    package var count: Int { self.table.count }

    /// Restores the order after the table was filled from outside.
    mutating func restoreOrder() {
        self.identifiers = self.table.keysInOrder
    }
}

extension Registry: Codable {
    package init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd {
            let element = try container.decode(Element.self)
            self[element.id] = element
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for id in self.identifiers {
            if let element = self.table[id] { try container.encode(element) }
        }
    }
}
