/// Bytes as characters of ASCII. Text from outside is looked at byte by byte: a `Character` may hold any number of them.
extension UInt8 {
    /// Indicates whether this is one of the digits `0` to `9`.
    @inlinable public var isASCIIDigit: Bool { (0x30...0x39).contains(self) }

    /// Indicates whether this is one of the letters `A` to `Z`.
    @inlinable public var isASCIICapital: Bool { (0x41...0x5A).contains(self) }

    /// Indicates whether this is one of the letters `A` to `Z` and `a` to `z`.
    @inlinable public var isASCIILetter: Bool { self.isASCIICapital || (0x61...0x7A).contains(self) }

    /// Indicates whether this is a letter or a digit of ASCII.
    @inlinable public var isASCIILetterOrDigit: Bool { self.isASCIILetter || self.isASCIIDigit }

    /// The small letter for a capital one, and any other byte itself.
    @inlinable public var asciiLowercased: UInt8 { self.isASCIICapital ? self | 0x20 : self }

    /// The capital letter for a small one, and any other byte itself.
    @inlinable public var asciiUppercased: UInt8 { (0x61...0x7A).contains(self) ? self & 0xDF : self }

    /// The value of an ASCII hexadecimal digit, of either case; `nil` for any other byte.
    @inlinable public var hexadecimalValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }

    /// Indicates whether the name of an HTTP header field may hold it.
    @inlinable public var isHTTPNameCharacter: Bool {
        switch self {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true  // !#$%&'*+-.^_`|~
        default: self.isASCIILetterOrDigit
        }
    }

    /// Indicates whether the value of an HTTP header field may hold it: everything but control characters other than the tab.
    @inlinable public var isHTTPValueCharacter: Bool { (self >= 0x20 && self != 0x7F) || self == 0x09 }
}

extension Int {
    /// Creates the integer that ASCII digits and nothing else stand for; `Int(_:)` would take a sign.
    ///
    /// - Returns: `nil` for no digits, for anything else among them, and for more than fit.
    @inlinable public init?(asciiDigits digits: some Collection<UInt8>) {
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        self.init(String(decoding: digits, as: UTF8.self))
    }
}

extension StringProtocol {
    /// Returns whether both strings are the same but for the case of ASCII letters, as the names of header fields are
    /// compared.
    @inlinable public func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        self.utf8.elementsEqual(other.utf8) { $0 == $1 || $0.asciiLowercased == $1.asciiLowercased }
    }
}
