extension [UInt8] {
    /// Appends a number in big-endian order.
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { self += $0 }
    }

    /// Appends the length of `bytes` in four big-endian bytes, then `bytes`.
    mutating func appendWithLength(_ bytes: some Collection<UInt8>) {
        self.appendBigEndian(UInt32(bytes.count))
        self += bytes
    }

    /// Returns `parts` with length prefixes, so that different lists have different encodings. A missing part is empty.
    static func withLengths(_ parts: [UInt8]...) -> [UInt8] {
        var bytes: Self = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + MemoryLayout<UInt32>.size + $1.count })
        for part in parts { bytes.appendWithLength(part) }
        return bytes
    }
}
