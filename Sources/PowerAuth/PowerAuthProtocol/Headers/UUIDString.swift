import Basics

/// The form of identifiers: 32 hexadecimal digits grouped 8-4-4-4-12, UUID version 1 to 5 of the usual variant.
package enum UUIDString {
    /// Returns whether `string` has the form. Case-insensitive.
    package static func isValid(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { characters in
            characters.count == 36
                && characters.indices.allSatisfy { Self.isAllowed(characters[$0], at: $0) }
        }
    }

    private static func isAllowed(_ character: UInt8, at position: Int) -> Bool {
        switch position {
        case 8, 13, 18, 23: character == UInt8(ascii: "-")
        case 14: UInt8(ascii: "1")...UInt8(ascii: "5") ~= character
        case 19: "89abAB".utf8.contains(character)
        default: character.hexadecimalValue != nil
        }
    }
}
