import Basics

extension [UInt8] {
    /// Appends bytes after their number, which takes four bytes, most significant first.
    mutating func appendWithLength(_ bytes: some Collection<UInt8>) {
        self += UInt32(bytes.count).bigEndianBytes
        self += bytes
    }

    /// Joins parts, each after its length, so that no two lists of parts give the same bytes. A missing part is an empty one.
    static func withLengths(_ parts: [UInt8]...) -> [UInt8] {
        parts.reduce(into: []) { $0.appendWithLength($1) }
    }
}
