import Basics

/// The members of a JSON object in their original order. Equality ignores the order.
public struct JSONObject: Sendable {
    /// A name and its value.
    public struct Member: Sendable, Hashable {
        /// The name.
        public var key: String
        /// The value.
        public var value: JSONValue

        /// Compares names by bytes, and values.
        public static func == (one: Self, other: Self) -> Bool {
            one.key.isExactly(other.key) && one.value == other.value
        }

        /// Hashes name and value.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ExactString(self.key))
            hasher.combine(self.value)
        }

        /// Creates a member.
        public init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// All members, including repeated names.
    public var members: [Member]

    /// Creates an object with members.
    public init(_ members: [Member] = []) {
        self.members = members
    }

    /// The value of the last member with a name, as most servers read it. Setting replaces the value in place or appends a
    /// member; `nil` removes all members with the name.
    public subscript(_ key: String) -> JSONValue? {
        get { self.members.last { $0.key.isExactly(key) }?.value }
        set {
            guard let newValue else { return self.members.removeAll { $0.key.isExactly(key) } }
            if let index = self.members.lastIndex(where: { $0.key.isExactly(key) }) {
                self.members[index].value = newValue
            } else {
                self.members.append(Member(key: key, value: newValue))
            }
        }
    }

    /// The names in order.
    public var keys: [String] { self.members.map(\.key) }

    /// The repeated names, each once.
    public var duplicateKeys: [String] {
        // For few members without repetition, comparing is faster than counting.
        let keys = self.keys
        let isRepeated = { (index: Int) in keys[..<index].contains { $0.isExactly(keys[index]) } }
        guard keys.count > 32 || keys.indices.contains(where: isRepeated) else { return [] }
        var counts: [ExactString: Int] = [:]
        return self.members.compactMap { member in
            counts[ExactString(member.key), default: 0] += 1
            return counts[ExactString(member.key)] == 2 ? member.key : nil
        }
    }
}

extension JSONObject: Hashable {
    /// Compares the members in any order. Members with the same name must be in the same order.
    public static func == (one: Self, other: Self) -> Bool {
        one.members == other.members
            || one.members.count == other.members.count && one.valuesByKey == other.valuesByKey
    }

    /// Hashes the members, ignoring their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.valuesByKey)
    }

    private var valuesByKey: [ExactString: [JSONValue]] {
        self.members.reduce(into: [:]) { $0[ExactString($1.key), default: []].append($1.value) }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object with members in order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member(key: $0.0, value: $0.1) })
    }
}
