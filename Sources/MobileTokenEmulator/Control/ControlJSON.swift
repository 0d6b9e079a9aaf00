import EmulatorMessages
import ExactJSON
import Foundation

/// The JSON of the control API: dates in ISO 8601 with milliseconds, members in a fixed order.
enum ControlJSON {
    private static let dates = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.formatted(Self.dates))
        }
        return Array(try encoder.encode(value))
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let string = try container.decode(String.self)
            for style in [Self.dates, Date.ISO8601FormatStyle()] {
                if let date = try? style.parse(string) { return date }
            }
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "Not an ISO 8601 date")
        }
        try self.refuseRepeatedMembers(in: JSONValue(parsing: bytes))
        return try decoder.decode(type, from: Data(bytes))
    }

    // The meaning of a member that is given twice would depend on the reader.
    private static func refuseRepeatedMembers(in value: JSONValue) throws {
        if let name = value.object?.duplicateKeys.first {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(name) is given twice"))
        }
        for inner in value.array ?? value.object?.members.map(\.value) ?? [] {
            try self.refuseRepeatedMembers(in: inner)
        }
    }
}

extension ServerResponse {
    /// Creates a response of something whose encoding cannot fail: no infinite numbers, no throwing `encode(to:)`.
    static func encoding(_ value: some Encodable) -> Self {
        Self(status: 200, headers: Self.jsonHeaders, body: .bytes((try? ControlJSON.encode(value)) ?? []))
    }
}
