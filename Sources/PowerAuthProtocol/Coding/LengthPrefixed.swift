import Basics

extension [UInt8] {
    /// Appends the number of `bytes`, in four bytes, most significant first, and then `bytes`.
    mutating func appendWithLength(_ bytes: some Collection<UInt8>) {
        self += UInt32(bytes.count).bigEndianBytes
        self += bytes
    }

    /// Returns `parts`, each after its length, so that no two lists of parts give the same bytes. A missing part is empty.
    static func withLengths(_ parts: [UInt8]...) -> [UInt8] {
        parts.reduce(into: []) { $0.appendWithLength($1) }
    }
}
