/// Values by key, with their insertion order and the changes since the last query.
///
/// The data file writes only changes, so all state that survives a restart is in tables.
package struct Table<Value: Sendable & Codable>: Sendable {
    /// A value and its position.
    struct Entry: Sendable {
        var value: Value
        /// Unique within the table, and greater than all earlier ones.
        let number: Int
    }

    private var entries: [String: Entry] = [:]
    private var nextNumber = 0
    private var changed: Set<String> = []

    var count: Int { self.entries.count }
    var isEmpty: Bool { self.entries.isEmpty }
    var keys: some Collection<String> { self.entries.keys }
    /// The values in no particular order.
    package var values: some Collection<Value> { self.entries.values.lazy.map(\.value) }

    /// Setting a new value appends it; setting a known one keeps its position.
    package subscript(key: String) -> Value? {
        get { self.entries[key]?.value }
        set {
            // The original key, because another spelling may compare equal.
            if let index = self.entries.index(forKey: key) {
                self.changed.insert(self.entries.keys[index])
                if let newValue { self.entries.values[index].value = newValue } else { self.entries.remove(at: index) }
            } else if let newValue {
                self.entries[key] = Entry(value: newValue, number: self.nextNumber)
                self.nextNumber += 1
                self.changed.insert(key)
            }
        }
    }

    mutating func update(_ key: String, _ change: (inout Value) -> Void) {
        guard let index = self.entries.index(forKey: key) else { return }
        change(&self.entries.values[index].value)
        self.changed.insert(self.entries.keys[index])
    }

    package mutating func removeAll(where isUnwanted: (Value) -> Bool) {
        for (key, entry) in self.entries where isUnwanted(entry.value) { self[key] = nil }
    }

    /// Keeps only the first `count` entries in an order of their values.
    mutating func keepFirst(_ count: Int, by areInOrder: (Value, Value) -> Bool) {
        let unwanted = self.entries.sorted { areInOrder($0.value.value, $1.value.value) }.dropFirst(count)
        for (key, _) in unwanted { self[key] = nil }
    }

    /// The keys in insertion order.
    package var keysInOrder: [String] {
        self.entries.sorted { $0.value.number < $1.value.number }.map(\.key)
    }
}

// MARK: - Data file

extension Table {
    var hasChanges: Bool { !self.changed.isEmpty }

    /// Returns the keys of entries changed since the last call.
    mutating func takeChanges() -> Set<String> {
        defer { self.changed = [] }
        return self.changed
    }

    func entry(_ key: String) -> Entry? { self.entries[key] }

    /// Restores an entry written by an earlier process.
    mutating func restore(_ key: String, _ value: Value, number: Int) {
        self.entries[key] = Entry(value: value, number: number)
        // A file may hold any number; none beyond this is ever assigned.
        self.nextNumber = max(self.nextNumber, min(number, .max - 1) + 1)
    }
}

extension Table: Equatable where Value: Equatable {
    package static func == (one: Self, other: Self) -> Bool {
        one.count == other.count && one.entries.allSatisfy { $0.value.value == other[$0.key] }
    }
}

/// Encodes a dictionary, without the order.
extension Table: Codable {
    package init(from decoder: any Decoder) throws {
        // Sorted, so that two servers that import a document agree.
        for (key, value) in try [String: Value](from: decoder).sorted(by: { $0.key < $1.key }) { self[key] = value }
    }

    package func encode(to encoder: any Encoder) throws {
        try self.entries.mapValues(\.value).encode(to: encoder)
    }
}
