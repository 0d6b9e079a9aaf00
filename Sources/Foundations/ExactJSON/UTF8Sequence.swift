/// The sequences of strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
package enum UTF8Sequence {
    /// Returns the length of the sequence at `offset`, which must be within the bytes; `nil` if it is invalid.
    package static func length(in bytes: [UInt8], at offset: Int) -> Int? {
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch bytes[offset] {
        case 0x00...0x7F: return 1
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard offset + length <= bytes.count, second ~= bytes[offset + 1] else { return nil }
        for next in bytes[(offset + 2)..<(offset + length)] where next & 0xC0 != 0x80 { return nil }
        return length
    }
}
