import ExactJSON
import Foundation
import PowerAuthProtocol

let jsonTargets = [
    FuzzTarget("json") { input in
        let value = try readTwice { try JSONValue(parsing: input) }
        let written = value.serialized()
        hold(try JSONValue(parsing: written) == value, "written and read again, it is another value")
        hold(try JSONValue(parsing: written).serialized() == written, "written twice, it is another text")
        hold(depth(of: value) <= JSONLimits().maximumDepth, "deeper than allowed")
    },
    FuzzTarget("json-limits") { input in
        let limits = JSONLimits(maximumByteCount: 64, maximumDepth: 3)
        let value = try JSONValue(parsing: input, limits: limits)
        hold(input.count <= 64, "longer than allowed")
        hold(depth(of: value) <= 3, "deeper than allowed")
    },
    FuzzTarget("json-string") { input in
        let value = try JSONValue(parsing: [UInt8(ascii: "\"")] + input + [UInt8(ascii: "\"")])
        guard case .string(let text) = value else { return }
        hold(try JSONValue(parsing: JSONValue.string(text).serialized()) == value, "another string")
    },
    FuzzTarget("json-number") { input in
        guard let number = JSONNumber(literal: input.text) else { return }
        hold(try JSONValue(parsing: number.literal) == .number(number), "no number of JSON")
        hold(!number.double.isNaN, "no floating-point number")
        let decimal = number.decimal
        if let decimal {
            hold(!decimal.isNaN, "NaN")
            hold(JSONNumber(decimal)?.decimal == decimal, "another decimal")
        }
        if let integer = number.int64 {
            hold(decimal == Decimal(integer), "\(integer) is not \(String(describing: decimal))")
        }
        _ = try JSONEncoder().encode(JSONValue.number(number))
    },
    FuzzTarget("iso8601") { input in
        guard let date = ISO8601.date(from: input.text) else { return }
        let text = ISO8601.string(from: date)
        let again = ISO8601.date(from: text)
        hold(again.map { abs($0.timeIntervalSince(date)) < 86_400 } ?? false, "\(text) is no date near \(date)")
        hold(again.map(ISO8601.string(from:)) == text, "another text")
    },
]

private func depth(of value: JSONValue) -> Int {
    switch value {
    case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
    case .object(let object): 1 + (object.members.map { depth(of: $0.value) }.max() ?? 0)
    default: 0
    }
}
