/// A string that equals another only when both are the same bytes.
///
/// `==` of `String` holds the Kelvin sign for a K and a composed letter for a decomposed one. What comes from outside is
/// matched byte by byte: identifiers, names, codes, and the keys of dictionaries made of them.
package struct ExactText: Hashable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }

    package static func == (one: Self, other: Self) -> Bool { one.text.isExactly(other.text) }

    package func hash(into hasher: inout Hasher) {
        var text = self.text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension StringProtocol {
    /// Returns whether both strings are the same bytes of UTF-8.
    package func isExactly(_ other: some StringProtocol) -> Bool {
        self.utf8.elementsEqual(other.utf8)
    }
}

extension Unicode.Scalar {
    /// Whether this is a control character (C0, DEL, C1) or the byte-order mark, which no identifier has.
    package var isControlOrByteOrderMark: Bool {
        self.properties.generalCategory == .control || self == "\u{FEFF}"
    }
}
