import Basics
import ExactJSON

/// The canonical form of JSON (RFC 8785), in which one value has one digest.
enum CanonicalJSON {
    /// The reason a value has no canonical form.
    enum Failure: Error, Equatable {
        case duplicateMember
        /// A number that a `Double` does not represent exactly, so that another one would look the same.
        case inexactNumber
    }

    static func bytes(of value: JSONValue) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        try self.append(value, to: &bytes)
        return bytes
    }

    private static func append(_ value: JSONValue, to bytes: inout [UInt8]) throws(Failure) {
        switch value {
        case .null, .bool, .string:
            // As in RFC 8785 § 3.2.2.2: `\b \t \n \f \r \" \\`, other controls as `\u00xx`, all other characters unchanged.
            bytes += value.serialized()
        case .number(let number):
            bytes += try self.literal(of: number).utf8
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                try self.append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let object):
            guard object.duplicateKeys.isEmpty else { throw .duplicateMember }
            bytes.append(UInt8(ascii: "{"))
            // By UTF-16 code units, which differs from the order of UTF-8 beyond the basic plane.
            let members = object.members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes += JSONValue.string(member.key).serialized()
                bytes.append(UInt8(ascii: ":"))
                try self.append(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// Returns a number in ECMAScript's notation.
    ///
    /// A `Double` does not hold `0.1` exactly, but ECMAScript writes it so: a literal passes if the shortest form has the same
    /// decimal value.
    private static func literal(of number: JSONNumber) throws(Failure) -> String {
        let double = number.double
        guard double.isFinite else { throw .inexactNumber }
        if double == 0 {
            guard Decomposed(number.literal).digits.isEmpty else { throw .inexactNumber }  // too small for a `Double`
            return "0"
        }
        let shortest = Decomposed(double.description)
        guard shortest == Decomposed(number.literal) else { throw .inexactNumber }
        return shortest.literal
    }

    /// A decimal number: sign, digits without zeros at either end, and the point's position: `0.digits × 10^point`.
    private struct Decomposed: Equatable {
        var isNegative = false
        var digits: [UInt8] = []
        var point = 0

        init(_ literal: String) {
            var rest = literal.utf8[...]
            if rest.first == UInt8(ascii: "-") {
                self.isNegative = true
                rest.removeFirst()
            }
            let parts = rest.split { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
            let mantissa = parts.first ?? rest
            let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
            let exponent = parts.count > 1 ? Int(String(Substring(parts[1]))) ?? .max / 4 : 0
            let all = Array(whole) + Array(mantissa.dropFirst(whole.count).dropFirst())
            let leading = all.prefix { $0 == UInt8(ascii: "0") }.count
            self.digits = Array(all.dropFirst(leading))
            while self.digits.last == UInt8(ascii: "0") { self.digits.removeLast() }
            self.point = self.digits.isEmpty ? 0 : (whole.count - leading).addingSaturated(exponent)
            if self.digits.isEmpty { self.isNegative = false }
        }

        /// The notation of ECMA-262 § 6.1.6.1.20.
        var literal: String {
            let digits = String(decoding: self.digits, as: UTF8.self)
            let count = self.digits.count
            let sign = self.isNegative ? "-" : ""
            switch self.point {
            case count...21 where count <= 21:
                return sign + digits + String(repeating: "0", count: self.point - count)
            case 1..<max(count, 2) where self.point <= 21:
                return sign + digits.prefix(self.point) + "." + digits.dropFirst(self.point)
            case -5...0:
                return sign + "0." + String(repeating: "0", count: -self.point) + digits
            default:
                let exponent = self.point - 1
                let fraction = count > 1 ? "." + digits.dropFirst() : ""
                return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+")
                    + String(exponent.magnitude)
            }
        }
    }
}
