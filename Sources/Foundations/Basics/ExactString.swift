import Glibc

/// A string with byte-wise equality.
///
/// `String` equality treats the Kelvin sign as K, and composed letters as decomposed ones; its prefixes end between characters.
/// Use this type for external identifiers, names, codes and dictionary keys.
public struct ExactString: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    // Inlined into other modules, because each poll compares and looks up thousands.

    /// The string.
    public let string: String

    /// Wraps a string.
    @inlinable public init(_ string: String) { self.string = string }
    /// Wraps a literal.
    @inlinable public init(stringLiteral string: String) { self.string = string }

    /// The string itself.
    @inlinable public var description: String { self.string }

    /// Compares the bytes.
    @inlinable public static func == (one: Self, other: Self) -> Bool { one.string.isExactly(other.string) }

    /// Orders by the bytes.
    @inlinable public static func < (one: Self, other: Self) -> Bool {
        let order = one.string.comparison(with: other.string)
        return order == 0 ? one.string.utf8.count < other.string.utf8.count : order < 0
    }

    /// Hashes the bytes.
    @inlinable public func hash(into hasher: inout Hasher) {
        var string = self.string
        string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Returns the part after `prefix`; `nil` if the string does not start with it.
    public func dropping(prefix: String) -> Self? {
        guard self.string.utf8.starts(with: prefix.utf8) else { return nil }
        // Uses bytes, because the boundary may be within a character.
        return Self(String(decoding: self.string.utf8.dropFirst(prefix.utf8.count), as: UTF8.self))
    }
}

extension StringProtocol {
    /// Returns whether both strings have the same UTF-8 bytes.
    @inlinable public func isExactly(_ other: some StringProtocol) -> Bool {
        self.utf8.elementsEqual(other.utf8)
    }
}

// `memcmp` is many times faster than iterating over a string's view.
extension String {
    /// Returns whether both strings have the same UTF-8 bytes.
    @inlinable public func isExactly(_ other: String) -> Bool {
        self.utf8.count == other.utf8.count && self.comparison(with: other) == 0
    }

    /// Returns whether these are the string's UTF-8 bytes.
    @inlinable public func isExactly(_ bytes: ArraySlice<UInt8>) -> Bool {
        self.utf8.count == bytes.count && bytes.withUnsafeBytes { self.comparison(with: $0) == 0 }
    }

    /// Compares the common length; the result is negative, zero or positive.
    @usableFromInline func comparison(with other: String) -> Int32 {
        var other = other
        return other.withUTF8 { self.comparison(with: UnsafeRawBufferPointer($0)) }
    }

    @usableFromInline func comparison(with bytes: UnsafeRawBufferPointer) -> Int32 {
        var string = self
        return string.withUTF8 { own in
            guard let one = own.baseAddress, let other = bytes.baseAddress else { return 0 }
            return memcmp(one, other, min(own.count, bytes.count))
        }
    }
}

extension Unicode.Scalar {
    /// Indicates a control character (C0, DEL, C1) or byte-order mark, which are invalid in identifiers.
    public var isControlOrByteOrderMark: Bool {
        self.properties.generalCategory == .control || self == "\u{FEFF}"
    }
}
