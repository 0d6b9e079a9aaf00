/// Decimal digits made of a hash, short enough for people to compare or type.
enum DecimalCode {
    /// The last four bytes as a big-endian number without its top bit, modulo 10ⁿ, with leading zeros.
    static func text(of hash: ArraySlice<UInt8>, digits: Int) -> String {
        Self.text(of: hash.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF, digits: digits)
    }

    /// A number modulo 10ⁿ, with leading zeros.
    static func text(of number: UInt32, digits: Int) -> String {
        String(unsafeUninitializedCapacity: digits) { text in
            var rest = number
            for index in (0..<digits).reversed() {
                text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            return digits
        }
    }
}
