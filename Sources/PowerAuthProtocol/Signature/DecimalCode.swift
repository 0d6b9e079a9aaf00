/// Decimal digits made of a hash, short enough for people to compare or type.
enum DecimalCode {
    /// The last four bytes as a big-endian number without its top bit, modulo 10ⁿ, with leading zeros.
    static func text(of hash: ArraySlice<UInt8>, digits: Int) -> String {
        Self.text(of: hash.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF, digits: digits)
    }

    /// A number modulo 10ⁿ, with leading zeros.
    static func text(of number: UInt32, digits: Int) -> String {
        let modulus = (0..<digits).reduce(1 as UInt64) { power, _ in power * 10 }
        let text = String(UInt64(number) % modulus)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }
}
