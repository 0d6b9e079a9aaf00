import Basics

/// The members of a JSON object, in the order given.
///
/// Two objects are equal when they have the same members, in any order.
public struct JSONObject: Sendable {
    /// A name with its value.
    public struct Member: Sendable, Hashable {
        /// The name.
        public var key: String
        /// The value.
        public var value: JSONValue

        /// Returns whether name and value are the same; names are compared byte by byte.
        public static func == (one: Self, other: Self) -> Bool {
            one.key.isExactly(other.key) && one.value == other.value
        }

        /// Hashes the name and the value.
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

    /// All members, including those with a repeated name.
    public var members: [Member]

    /// Creates an object with these members.
    public init(_ members: [Member] = []) {
        self.members = members
    }

    /// The value of the last member of a name, which is the one that most servers read.
    ///
    /// Setting replaces the value in place or appends a member; setting `nil` removes every member of the name.
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

    /// The names in the order given.
    public var keys: [String] { self.members.map(\.key) }

    /// The names of more than one member, each once.
    public var duplicateKeys: [String] {
        // Most objects have few members, and none twice: to compare them takes less than to count them.
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
    /// Returns whether both have the same members, in any order. Members of one repeated name must be in the same order.
    public static func == (one: Self, other: Self) -> Bool {
        one.members == other.members
            || one.members.count == other.members.count && one.valuesByKey == other.valuesByKey
    }

    /// Hashes the members without their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.valuesByKey)
    }

    private var valuesByKey: [ExactString: [JSONValue]] {
        self.members.reduce(into: [:]) { $0[ExactString($1.key), default: []].append($1.value) }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object with its members in the order written.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { Member(key: $0.0, value: $0.1) })
    }
}
