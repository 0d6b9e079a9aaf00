import Basics

extension [UInt8] {
    /// Appends the bytes of a number, most significant first.
    mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { self += $0 }
    }

    /// Appends the number of `bytes`, in four bytes, most significant first, and then `bytes`.
    mutating func appendWithLength(_ bytes: some Collection<UInt8>) {
        self.appendBigEndian(UInt32(bytes.count))
        self += bytes
    }

    /// Returns `parts`, each after its length, so that no two lists of parts give the same bytes. A missing part is empty.
    static func withLengths(_ parts: [UInt8]...) -> [UInt8] {
        var bytes: Self = []
        bytes.reserveCapacity(parts.reduce(0) { $0 + MemoryLayout<UInt32>.size + $1.count })
        for part in parts { bytes.appendWithLength(part) }
        return bytes
    }
}
