/// Bytes as ASCII characters. External text is examined by bytes, because a `Character` may consist of any number of them.
extension UInt8 {
    /// Indicates a digit from `0` to `9`.
    @inlinable public var isASCIIDigit: Bool { (0x30...0x39).contains(self) }

    /// Indicates a letter from `A` to `Z`.
    @inlinable public var isASCIICapital: Bool { (0x41...0x5A).contains(self) }

    /// Indicates a letter from `A` to `Z` or `a` to `z`.
    @inlinable public var isASCIILetter: Bool { self.isASCIICapital || (0x61...0x7A).contains(self) }

    /// Indicates an ASCII letter or digit.
    @inlinable public var isASCIILetterOrDigit: Bool { self.isASCIILetter || self.isASCIIDigit }

    /// The lower-case form of a capital letter; otherwise the byte itself.
    @inlinable public var asciiLowercased: UInt8 { self.isASCIICapital ? self | 0x20 : self }

    /// The capital form of a lower-case letter; otherwise the byte itself.
    @inlinable public var asciiUppercased: UInt8 { (0x61...0x7A).contains(self) ? self & 0xDF : self }

    /// The value of a hexadecimal digit of either case; `nil` for other bytes.
    @inlinable public var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }

    /// Indicates a valid character of an HTTP header field's name.
    @inlinable public var isHTTPNameCharacter: Bool {
        switch self {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true  // !#$%&'*+-.^_`|~
        default: self.isASCIILetterOrDigit
        }
    }

    /// Indicates a valid character of an HTTP header field's value: no control character except the tab.
    @inlinable public var isHTTPValueCharacter: Bool { (self >= 0x20 && self != 0x7F) || self == 0x09 }
}

extension Int {
    /// Creates an integer from ASCII digits, without a sign; `nil` for no digits, other characters, and overflow.
    @inlinable public init?(asciiDigits digits: some Collection<UInt8>) {
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        self.init(String(decoding: digits, as: UTF8.self))
    }
}

extension StringProtocol {
    /// Returns whether both strings are equal except for the case of ASCII letters, like names of header fields.
    @inlinable public func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        guard self.utf8.count == other.utf8.count else { return false }
        // Most strings have their bytes at hand, which are compared ten times faster than by a view's indices.
        let answer = self.utf8.withContiguousStorageIfAvailable { one in
            other.utf8.withContiguousStorageIfAvailable { one.equalsIgnoringASCIICase($0) }
        }
        return (answer ?? nil) ?? self.utf8.equalsIgnoringASCIICase(other.utf8)
    }
}

extension Collection<UInt8> {
    @inlinable func equalsIgnoringASCIICase(_ other: some Collection<UInt8>) -> Bool {
        self.elementsEqual(other) { $0 == $1 || $0.asciiLowercased == $1.asciiLowercased }
    }

    /// Returns whether a string of ASCII without capitals is somewhere in it, in whatever case.
    @inlinable public func contains(lowercased part: String) -> Bool {
        guard let first = part.utf8.first else { return true }
        return self.indices.contains { index in
            self[index].asciiLowercased == first
                && self[index...].prefix(part.utf8.count).elementsEqual(part.utf8) { $0.asciiLowercased == $1 }
        }
    }
}
