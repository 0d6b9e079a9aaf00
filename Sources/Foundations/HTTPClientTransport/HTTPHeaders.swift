import Basics

/// Header fields in order. Names are case-insensitive.
public struct HTTPHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// A header field.
    public struct Field: Sendable, Hashable {
        /// The name as written.
        public var name: String
        /// The value, without surrounding whitespace.
        public var value: String

        /// Creates a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The fields, in order.
    public private(set) var fields: [Field] = []

    /// Creates headers from fields in order.
    public init(_ fields: [Field]) {
        self.fields = fields
    }

    /// Creates headers from pairs of name and value. Names may repeat.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value with a name. Setting replaces all fields with the name; `nil` removes them.
    public subscript(name: String) -> String? {
        get { self.fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            self.fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            if let newValue { self.add(name: name, value: newValue) }
        }
    }

    /// Appends a field, and keeps others with the same name.
    public mutating func add(name: String, value: String) {
        // Room for all fields of a request at once.
        if self.fields.count == self.fields.capacity { self.fields.reserveCapacity(max(8, 2 * self.fields.count)) }
        self.fields.append(Field(name: name, value: value))
    }
}
