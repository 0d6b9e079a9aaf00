import Glibc

/// A string that equals another only when both are the same bytes.
///
/// `==` of `String` takes the Kelvin sign for a K and a composed letter for a decomposed one, and its prefixes end between
/// whole characters. Strings from outside are compared byte by byte instead: identifiers, names, codes, and the keys of
/// dictionaries of them.
public struct ExactString: Hashable, Comparable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    // Each poll compares and looks up thousands of these: all of it is inlined into the modules that do.

    /// The string.
    public let string: String

    /// Wraps a string.
    @inlinable public init(_ string: String) { self.string = string }
    /// Wraps a literal.
    @inlinable public init(stringLiteral string: String) { self.string = string }

    /// The string itself.
    @inlinable public var description: String { self.string }

    /// Returns whether both are the same bytes.
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

    /// Returns the part after `prefix`; `nil` when the string begins otherwise.
    public func dropping(prefix: String) -> Self? {
        guard self.string.utf8.starts(with: prefix.utf8) else { return nil }
        // Through the bytes, since the boundary may lie within a character.
        return Self(String(decoding: self.string.utf8.dropFirst(prefix.utf8.count), as: UTF8.self))
    }
}

extension StringProtocol {
    /// Returns whether both strings are the same UTF-8 bytes.
    @inlinable public func isExactly(_ other: some StringProtocol) -> Bool {
        self.utf8.elementsEqual(other.utf8)
    }
}

// `memcmp` is many times as fast as going through the bytes of a string's view, one by one.
extension String {
    /// Returns whether both strings are the same UTF-8 bytes.
    @inlinable public func isExactly(_ other: String) -> Bool {
        self.utf8.count == other.utf8.count && self.comparison(with: other) == 0
    }

    /// Returns whether its UTF-8 bytes are these.
    @inlinable public func isExactly(_ bytes: ArraySlice<UInt8>) -> Bool {
        self.utf8.count == bytes.count && bytes.withUnsafeBytes { self.comparison(with: $0) == 0 }
    }

    /// Below, at or above 0, as the first difference in what both have says.
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
    /// Indicates whether this is a control character (C0, DEL, C1) or the byte-order mark, which no identifier has.
    public var isControlOrByteOrderMark: Bool {
        self.properties.generalCategory == .control || self == "\u{FEFF}"
    }
}
