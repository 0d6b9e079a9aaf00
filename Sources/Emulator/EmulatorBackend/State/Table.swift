/// Values by key, with their insertion order and the changes since the last query.
///
/// The data file writes only changes, so all state that survives a restart is in tables.
package struct Table<Value: Sendable & Codable>: Sendable {
    /// Apart from the positions: a value in an entry would be copied twice to be read.
    private var entries: [String: Value] = [:]
    /// The position of each value: unique within the table, and greater than all earlier ones.
    private var numbers: [String: Int] = [:]
    private var nextNumber = 0
    private var changed: Set<String> = []

    package init() {}

    package var count: Int { self.entries.count }
    var isEmpty: Bool { self.entries.isEmpty }
    package var keys: some Collection<String> { self.entries.keys }
    /// The values in no particular order.
    package var values: some Collection<Value> { self.entries.values }

    /// Setting a new value appends it; setting a known one keeps its position.
    package subscript(key: String) -> Value? {
        get { self.entries[key] }
        set {
            // The original key, because another spelling may compare equal.
            if let index = self.entries.index(forKey: key) {
                self.changed.insert(self.entries.keys[index])
                guard let newValue else { return (self.entries[key], self.numbers[key]) = (nil, nil) }
                self.entries.values[index] = newValue
            } else if let newValue {
                self.entries[key] = newValue
                self.numbers[key] = self.nextNumber
                self.nextNumber += 1
                self.changed.insert(key)
            }
        }
    }

    package mutating func update(_ key: String, _ change: (inout Value) -> Void) {
        guard let index = self.entries.index(forKey: key) else { return }
        change(&self.entries.values[index])
        self.changed.insert(self.entries.keys[index])
    }

    package mutating func removeAll(where isUnwanted: (Value) -> Bool) {
        for (key, value) in self.entries where isUnwanted(value) { self[key] = nil }
    }

    /// Keeps only the first `count` entries in an order of their values.
    mutating func keepFirst(_ count: Int, by areInOrder: (Value, Value) -> Bool) {
        let unwanted = self.entries.sorted { areInOrder($0.value, $1.value) }.dropFirst(count)
        for (key, _) in unwanted { self[key] = nil }
    }

    /// The keys in insertion order.
    package var keysInOrder: [String] {
        self.numbers.sorted { $0.value < $1.value }.map(\.key)
    }
}

// MARK: - Data file

extension Table {
    var hasChanges: Bool { !self.changed.isEmpty }

    /// Returns the keys of entries changed since the last call.
    package mutating func takeChanges() -> Set<String> {
        defer { self.changed = [] }
        return self.changed
    }

    /// Returns the position of a value.
    func number(of key: String) -> Int? { self.numbers[key] }

    /// Restores an entry written by an earlier process.
    mutating func restore(_ key: String, _ value: Value, number: Int) {
        self.entries[key] = value
        self.numbers[key] = number
        // A file may hold any number; none beyond this is ever assigned.
        self.nextNumber = max(self.nextNumber, min(number, .max - 1) + 1)
    }
}

extension Table: Equatable where Value: Equatable {
    package static func == (one: Self, other: Self) -> Bool {
        one.count == other.count && one.entries.allSatisfy { $0.value == other[$0.key] }
    }
}

/// Encodes a dictionary, without the order.
extension Table: Codable {
    package init(from decoder: any Decoder) throws {
        // Sorted, so that two servers that import a document agree.
        for (key, value) in try [String: Value](from: decoder).sorted(by: { $0.key < $1.key }) { self[key] = value }
    }

    package func encode(to encoder: any Encoder) throws {
        try self.entries.encode(to: encoder)
    }
}
