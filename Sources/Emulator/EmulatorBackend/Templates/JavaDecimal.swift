/// A decimal number in the notation of Java's `BigDecimal`, with every digit.
struct JavaDecimal: CustomStringConvertible {
    let isNegative: Bool
    /// The ASCII digits without leading zeros; at least one.
    private let digits: [UInt8]
    /// The number of fraction digits; negative for omitted trailing zeros.
    private let scale: Int

    /// The maximum length of a number written out, which a few bytes could exceed.
    private static var mostDigits: Int { 100_000 }

    /// Reads a number with optional sign, point and exponent. Digits of any script are accepted.
    init?(_ text: String) {
        var rest = text.unicodeScalars[...]
        func sign() -> Bool? { ["+": false, "-": true][rest.first ?? " "] }
        func digits() -> [UInt8] {
            var digits: [UInt8] = []
            while let scalar = rest.first, scalar.properties.numericType == .decimal,
                let value = scalar.properties.numericValue
            {
                digits.append(UInt8(ascii: "0") + UInt8(value))
                rest.removeFirst()
            }
            return digits
        }
        let isNegative = sign()
        if isNegative != nil { rest.removeFirst() }
        var unscaled = digits()
        var scale = 0
        if rest.first == "." {
            rest.removeFirst()
            let fraction = digits()
            (unscaled, scale) = (unscaled + fraction, fraction.count)
        }
        guard !unscaled.isEmpty else { return nil }
        if rest.first == "e" || rest.first == "E" {
            rest.removeFirst()
            let isBehind = sign()
            if isBehind != nil { rest.removeFirst() }
            guard let exponent = Int(String(decoding: digits(), as: UTF8.self)), exponent <= Self.mostDigits else {
                return nil
            }
            scale += isBehind == true ? exponent : -exponent
        }
        guard rest.isEmpty, unscaled.count <= Self.mostDigits else { return nil }
        self.digits = Array(
            unscaled.drop { $0 == UInt8(ascii: "0") }.isEmpty
                ? [UInt8(ascii: "0")] : unscaled.drop { $0 == UInt8(ascii: "0") }
        )
        self.scale = scale
        self.isNegative = isNegative == true && self.digits != [UInt8(ascii: "0")]
    }

    /// Returns the digits before and after the separator; excess digits are cut off.
    func digits(behindSeparator bounds: ClosedRange<Int>) -> (integer: [UInt8], fraction: [UInt8]) {
        let zero = UInt8(ascii: "0")
        let plain = self.digits == [zero] ? [zero] : self.digits + Array(repeating: zero, count: max(0, -self.scale))
        let behind = max(0, self.scale)
        let padded = Array(repeating: zero, count: max(0, behind + 1 - plain.count)) + plain
        var fraction = Array(padded.suffix(behind).prefix(bounds.upperBound))
        while fraction.count > bounds.lowerBound, fraction.last == zero { fraction.removeLast() }
        while fraction.count < bounds.lowerBound { fraction.append(zero) }
        return (Array(padded.dropLast(behind)), fraction)
    }

    /// The number in Java's notation: `1949.00`, and `1E+3` or `1E-18` if that is shorter.
    var description: String {
        let sign = self.isNegative ? "-" : ""
        let exponent = self.digits.count - 1 - self.scale
        if self.scale >= 0, exponent >= -6 {
            let (integer, fraction) = self.digits(behindSeparator: self.scale...self.scale)
            let point = fraction.isEmpty ? "" : "."
            return sign + String(decoding: integer, as: UTF8.self) + point + String(decoding: fraction, as: UTF8.self)
        }
        let rest = self.digits.count > 1 ? "." + String(decoding: self.digits.dropFirst(), as: UTF8.self) : ""
        let mark = exponent < 0 ? "E" : "E+"
        return sign + String(decoding: self.digits.prefix(1), as: UTF8.self) + rest + mark + String(exponent)
    }
}
