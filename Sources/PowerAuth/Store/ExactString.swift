/// A string that equals only itself, byte for byte.
///
/// `String` compares by canonical equivalence and looks at whole characters: "é" equals "e" followed by U+0301, and a
/// combining character joins whatever stands before it. Names that are kept somewhere are compared and taken apart by
/// their bytes instead, so that each comes back as it went in.
package struct ExactString: Hashable, Comparable, Sendable {
    /// The string.
    package let string: String

    /// Takes a string as it is.
    package init(_ string: String) { self.string = string }

    package static func == (one: Self, other: Self) -> Bool { one.string.utf8.elementsEqual(other.string.utf8) }

    package static func < (one: Self, other: Self) -> Bool {
        one.string.utf8.lexicographicallyPrecedes(other.string.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in self.string.utf8 { hasher.combine(byte) }
        hasher.combine(0xFF as UInt8)  // which is never part of a string
    }

    /// What follows `prefix`, or `nil` when the string begins otherwise.
    func dropping(prefix: String) -> ExactString? {
        guard self.string.utf8.starts(with: prefix.utf8) else { return nil }
        // By way of the bytes, since the boundary may lie within a character.
        return ExactString(String(decoding: self.string.utf8.dropFirst(prefix.utf8.count), as: UTF8.self))
    }
}

extension ExactString: ExpressibleByStringLiteral, CustomStringConvertible {
    package init(stringLiteral string: String) { self.init(string) }

    package var description: String { self.string }
}
