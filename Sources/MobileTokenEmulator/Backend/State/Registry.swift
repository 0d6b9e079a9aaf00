/// Values found by identifier, in the order they came.
struct Registry<Element: Sendable & Codable & Identifiable>: Sendable where Element.ID == String {
    private var elements: [String: Element] = [:]
    private var identifiers: [String] = []

    /// Setting a new one appends it; setting a known one keeps its place; nil is not stored.
    subscript(id: String) -> Element? {
        get { self.elements[id] }
        set {
            guard let newValue else { return }
            if self.elements.updateValue(newValue, forKey: id) == nil { self.identifiers.append(id) }
        }
    }

    /// Changes an element without a copy of it.
    mutating func update(_ id: String, _ change: (inout Element) -> Void) {
        guard var element = self.elements.removeValue(forKey: id) else { return }
        change(&element)
        self.elements[id] = element
    }

    var newestFirst: some Sequence<Element> {
        self.identifiers.reversed().lazy.compactMap { self.elements[$0] }
    }

    var count: Int { self.elements.count }
}

extension Registry: Codable {
    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd {
            let element = try container.decode(Element.self)
            self[element.id] = element
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for id in self.identifiers {
            if let element = self.elements[id] { try container.encode(element) }
        }
    }
}
