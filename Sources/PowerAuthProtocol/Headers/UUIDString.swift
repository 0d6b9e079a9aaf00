import Basics

/// The string form of identifiers: 32 hexadecimal digits in groups of 8-4-4-4-12, version 1 to 5, the usual variant.
package enum UUIDString {
    private static let groups = [8, 4, 4, 4, 12]

    /// Returns whether `string` has the form. Case-insensitive.
    package static func isValid(_ string: String) -> Bool {
        let characters = Array(string.utf8)
        guard characters.count == 36 else { return false }
        var position = 0
        for (index, length) in Self.groups.enumerated() {
            if index > 0 {
                guard characters[position] == UInt8(ascii: "-") else { return false }
                position += 1
            }
            guard characters[position..<(position + length)].allSatisfy({ $0.hexadecimalValue != nil }) else {
                return false
            }
            position += length
        }
        return "12345".utf8.contains(characters[14]) && "89abAB".utf8.contains(characters[19])
    }
}
