import Basics
public import Foundation

/// Any JSON value, without rounding, reordering or merging.
///
/// Foundation's coders round numbers, and lose the order of members and repeated names. But amounts must be displayed with their
/// original digits, and unknown members must reach the application unchanged.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number with its digits.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// Values in order.
    case array([JSONValue])
    /// Named values in order.
    case object(JSONObject)
}

// MARK: - Equality

extension JSONValue {
    /// Compares strings by bytes and numbers by digits.
    public static func == (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): one.isExactly(other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }

    /// Hashes kind and content.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let number): hasher.combine(number)
        case .string(let string): hasher.combine(ExactString(string))
        case .array(let elements): hasher.combine(elements)
        case .object(let object): hasher.combine(object)
        }
    }
}

// MARK: - Parsing and writing

extension JSONValue {
    /// Parses a JSON value from UTF-8 bytes, strictly by RFC 8259.
    public init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(JSONDocument(parsing: bytes, limits: limits).root)
    }

    /// Parses a JSON value from a string.
    public init(parsing string: String, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: Array(string.utf8), limits: limits)
    }

    /// Returns compact JSON, with members in order and numbers unchanged.
    public func serialized() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(512)  // most values fit, and need not be copied while they grow
        self.append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let value): bytes += (value ? "true" : "false").utf8
        case .number(let number): bytes += number.literal.utf8
        case .string(let string): JSONString.append(string, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                JSONString.append(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Creates the whole tree below a view. Fails only for a string that is not valid Unicode.
    package init(_ view: JSONView) throws(JSONError) {
        if let string = view.string {
            self = .string(string)
        } else if let number = view.number {
            self = .number(number)
        } else if let bool = view.bool {
            self = .bool(bool)
        } else if view.isArray {
            var elements: [JSONValue] = []
            for element in view.elements { elements.append(try JSONValue(element)) }
            self = .array(elements)
        } else if view.isObject {
            var members: [JSONObject.Member] = []
            for (name, value) in view.members {
                guard let key = name.string else { throw JSONError(.unpairedSurrogate, at: name.range.lowerBound) }
                members.append(JSONObject.Member(key: key, value: try JSONValue(value)))
            }
            self = .object(JSONObject(members))
        } else if view.isNull {
            self = .null
        } else {
            throw JSONError(.unpairedSurrogate, at: view.range.lowerBound)
        }
    }
}

// MARK: - Looking inside

extension JSONValue {
    /// Indicates whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The Boolean, if the value is one.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The number, if the value is one.
    public var number: JSONNumber? {
        guard case .number(let value) = self else { return nil }
        return value
    }

    /// The number's exact value, if a `Decimal` can represent it.
    public var decimal: Decimal? { self.number?.decimal }

    /// The integer, if the value is a whole number that fits.
    public var int64: Int64? { self.number?.int64 }

    /// The string, if the value is one.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The elements, if the value is an array.
    public var array: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, if the value is an object.
    public var object: JSONObject? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// The value of a member; `nil` if there is none or the value is not an object.
    public subscript(_ key: String) -> JSONValue? { self.object?[key] }

    /// The element at an index; `nil` if there is none or the value is not an array.
    public subscript(_ index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}

// MARK: - Literals

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a whole number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// Creates a number; use `JSONNumber(literal:)` if every digit matters.
    public init(floatLiteral value: Double) { self = JSONNumber(value).map { .number($0) } ?? .null }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object with members in order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { JSONObject.Member(key: $0.0, value: $0.1) }))
    }
}

extension JSONValue {
    /// Indicates whether a string or a name in it holds the character NUL, which databases of servers cannot keep.
    package var containsNUL: Bool {
        switch self {
        case .string(let string): string.utf8.contains(0)
        case .array(let elements): elements.contains(where: \.containsNUL)
        case .object(let object): object.members.contains { $0.key.utf8.contains(0) || $0.value.containsNUL }
        case .null, .bool, .number: false
        }
    }
}
