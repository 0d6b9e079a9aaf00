import EmulatorMessages
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
}

extension ServerResponse {
    /// Creates a response of something whose encoding cannot fail: no infinite numbers, no throwing `encode(to:)`.
    static func encoding(_ value: some Encodable) -> Self {
        Self(status: 200, headers: Self.jsonHeaders, body: .bytes((try? ControlJSON.encode(value)) ?? []))
    }
}
