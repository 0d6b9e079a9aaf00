/// Decimal digits derived from a hash, short enough for people to compare or type.
package enum DecimalCode {
    /// The possible numbers of digits for one factor of an offline signature.
    package static let componentLengths = 4...8

    /// Returns the last four bytes of `hash` as a big-endian number without its top bit, modulo 10ⁿ, zero-padded.
    package static func string(of hash: ArraySlice<UInt8>, digits: Int) -> String {
        let number = hash.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        return String(unsafeUninitializedCapacity: digits) { string in
            var rest = number
            for index in (0..<digits).reversed() {
                string[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return digits
        }
    }

    /// Returns the digits for each factor of an offline signature, joined by `-`.
    ///
    /// - Parameters:
    ///   - components: 32 bytes per factor.
    ///   - length: The number of digits per factor, 4 to 8.
    static func string(ofComponents components: [UInt8], length: Int) -> String {
        precondition(Self.componentLengths.contains(length), "4 to 8 digits")
        return stride(from: 0, to: components.count, by: 32).map { start in
            Self.string(of: components[start..<(start + 32)], digits: length)
        }.joined(separator: "-")
    }
}
