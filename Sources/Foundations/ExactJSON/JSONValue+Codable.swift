import Foundation

extension JSONValue {
    /// Decodes this value as a type of the application. `Decimal` members keep every digit; `Date` members are ISO 8601 with an
    /// offset, as servers write them.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        if let value = self as? Value { return value }
        return try Self.decode(type, from: self.serialized())
    }

    /// Encodes a value of the application. Dates become ISO 8601 strings in UTC.
    public init(encoding value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(ISO8601.string(from: date))
        }
        try self.init(parsing: Array(encoder.encode(value)))
    }

    /// Decodes JSON like ``decode(_:)``.
    package static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            guard let date = ISO8601.date(from: try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not ISO 8601 with an offset")
            }
            return date
        }
        return try decoder.decode(type, from: Data(bytes))
    }
}

/// Other coders keep a value's meaning, but may lose the order of members and a fraction's trailing zeros.
extension JSONValue: Codable {
    /// Decodes any value. Numbers are read as `Decimal`.
    public init(from decoder: any Decoder) throws {
        if let container = try? decoder.container(keyedBy: AnyKey.self) {
            let members = try container.allKeys.map { key in
                JSONObject.Member(key: key.stringValue, value: try container.decode(JSONValue.self, forKey: key))
            }
            self = .object(JSONObject(members.sorted { $0.key < $1.key }))
        } else if var container = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !container.isAtEnd { elements.append(try container.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try Self.scalar(in: decoder.singleValueContainer())
        }
    }

    private static func scalar(in container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return .bool(value) }
        if let value = try? container.decode(String.self) { return .string(value) }
        guard let number = JSONNumber(try container.decode(Decimal.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a JSON number")
        }
        return .number(number)
    }

    /// Encodes the value.
    ///
    /// - Throws: An error for a number that neither `Int64` nor `Decimal` can represent.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .object(let object):
            var container = encoder.container(keyedBy: AnyKey.self)
            for member in object.members { try container.encode(member.value, forKey: AnyKey(member.key)) }
        default:
            var container = encoder.singleValueContainer()
            try self.encodeScalar(to: &container)
        }
    }

    private func encodeScalar(to container: inout any SingleValueEncodingContainer) throws {
        switch self {
        case .bool(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .number(let number):
            if let integer = number.int64 {
                try container.encode(integer)
            } else if let decimal = number.decimal {
                try container.encode(decimal)
            } else {
                let context = EncodingError.Context(
                    codingPath: container.codingPath,
                    debugDescription: "a number with more digits than can be encoded"
                )
                throw EncodingError.invalidValue(number, context)
            }
        case .null, .array, .object: try container.encodeNil()
        }
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { self.stringValue = name }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension JSONObject: Codable {
    /// Decodes an object.
    ///
    /// - Throws: An error for any other value.
    public init(from decoder: any Decoder) throws {
        guard let object = try JSONValue(from: decoder).object else {
            let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "not a JSON object")
            throw DecodingError.typeMismatch(JSONObject.self, context)
        }
        self = object
    }

    /// Encodes the members.
    public func encode(to encoder: any Encoder) throws {
        try JSONValue.object(self).encode(to: encoder)
    }
}
