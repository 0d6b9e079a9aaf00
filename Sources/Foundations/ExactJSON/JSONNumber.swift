import Basics
public import Foundation

/// A JSON number with its original digits.
///
/// `2199.40` stays `2199.40`: an amount is never converted to binary floating point. Equality compares digits, so `1.0` and `1`
/// differ; compare ``decimal`` for the value.
public struct JSONNumber: Sendable, Hashable, CustomStringConvertible {
    /// The number in JSON, such as `-12.50` or `1e3`.
    public let literal: String

    /// Creates a number from its digits; `nil` unless `literal` is one JSON number.
    public init?(literal: String) {
        let bytes = Array(literal.utf8)
        guard Self.endOfLiteral(in: bytes, from: 0) == bytes.count else { return nil }
        self.literal = literal
    }

    /// Creates a number from an integer.
    public init(_ value: some BinaryInteger) {
        self.literal = String(value)
    }

    /// Creates a number from a decimal; `nil` for NaN.
    public init?(_ value: Decimal) {
        self.init(literal: value.description)
    }

    /// Creates the shortest number with this floating-point value; `nil` for infinities and NaN.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        self.init(literal: value.description)
    }

    init(scanned literal: String) {
        self.literal = literal
    }

    /// The literal.
    public var description: String { self.literal }
}

extension JSONNumber {
    /// The exact value; `nil` if a `Decimal` (38 digits) cannot represent it.
    public var decimal: Decimal? {
        let parts = self.parts()
        if let small = UInt64(parts.digits) {
            return Self.decimal(Decimal(small), parts)
        }
        guard parts.digits.count <= 38, let significand = Decimal(string: parts.digits) else { return nil }
        return Self.decimal(significand, parts)
    }

    /// The value, if it is a whole number that fits. `5.0` and `5e2` are whole numbers.
    public var int64: Int64? {
        if let value = Int64(self.literal) { return value }
        let parts = self.parts()
        guard (0...18).contains(parts.exponent) else { return nil }
        return Int64((parts.isNegative ? "-" : "") + parts.digits + String(repeating: "0", count: parts.exponent))
    }

    /// The nearest floating-point number. Do not use it for amounts.
    public var double: Double { Double(self.literal) ?? .nan }

    fileprivate struct Parts {
        var isNegative: Bool
        /// Without leading and trailing zeros; zero is `0`.
        var digits: String
        var exponent: Int
    }

    /// Returns the number as `digits × 10^exponent`.
    private func parts() -> Parts {
        var digits: [UInt8] = []
        var exponent = 0
        var isFraction = false
        var rest = self.literal.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "."): isFraction = true
            case UInt8(ascii: "e"), UInt8(ascii: "E"):
                exponent += Self.exponent(rest)
                rest = rest[rest.endIndex...]
            default:
                digits.append(byte)
                if isFraction { exponent -= 1 }
            }
        }
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        let significant = digits.drop { $0 == UInt8(ascii: "0") }
        if significant.isEmpty { return Parts.zero }
        return Parts(isNegative: isNegative, digits: String(decoding: significant, as: UTF8.self), exponent: exponent)
    }

    /// Parses the exponent, bounded to ±10¹⁵: no literal has enough digits to compensate that, and sums stay within `Int`.
    private static func exponent(_ literal: Substring.UTF8View) -> Int {
        let isNegative = literal.first == UInt8(ascii: "-")
        let magnitude = literal.drop { !(UInt8(ascii: "1")...UInt8(ascii: "9") ~= $0) }
        guard !magnitude.isEmpty else { return 0 }
        let bound = 1_000_000_000_000_000
        let value = magnitude.count > 15 ? bound : Int(Substring(magnitude)) ?? bound
        return isNegative ? 0 - value : value
    }

    private static func decimal(_ significand: Decimal, _ parts: Parts) -> Decimal? {
        guard (-128...127).contains(parts.exponent) else { return nil }
        return Decimal(sign: parts.isNegative ? .minus : .plus, exponent: parts.exponent, significand: significand)
    }

    /// Returns the end of the number at `start`; `nil` if there is none.
    package static func endOfLiteral(in bytes: [UInt8], from start: Int) -> Int? {
        var position = start
        func digits() -> Bool {
            let first = position
            while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
            return position > first
        }
        func skip(_ characters: UInt8...) -> Bool {
            guard position < bytes.count, characters.contains(bytes[position]) else { return false }
            position += 1
            return true
        }
        _ = skip(UInt8(ascii: "-"))
        let isZero = position < bytes.count && bytes[position] == UInt8(ascii: "0")
        let firstDigit = position
        guard digits(), !isZero || position == firstDigit + 1 else { return nil }
        if skip(UInt8(ascii: ".")), !digits() { return nil }
        if skip(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            _ = skip(UInt8(ascii: "+"), UInt8(ascii: "-"))
            if !digits() { return nil }
        }
        return position
    }
}

extension JSONNumber.Parts {
    fileprivate static let zero = Self(isNegative: false, digits: "0", exponent: 0)
}
