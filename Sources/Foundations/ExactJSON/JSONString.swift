import Basics

/// The escapes of JSON strings.
enum JSONString {
    /// Returns the character for the byte after a backslash; `nil` for `u` and invalid escapes.
    static func unescaped(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): character
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Parses four hexadecimal digits at `offset`; `nil` if there are none.
    static func hexadecimal(in bytes: [UInt8], at offset: Int) -> UInt16? {
        guard offset + 4 <= bytes.count else { return nil }
        var value: UInt16 = 0
        for byte in bytes[offset..<(offset + 4)] {
            guard let digit = byte.hexadecimalValue else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    /// Unescapes a scanned string; `nil` for half a surrogate pair.
    static func unescaped(_ range: Range<Int>, of bytes: [UInt8]) -> String? {
        var unescaped: [UInt8] = []
        unescaped.reserveCapacity(range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            let byte = bytes[position]
            guard byte == UInt8(ascii: "\\") else {
                unescaped.append(byte)
                position += 1
                continue
            }
            if let character = self.unescaped(bytes[position + 1]) {
                unescaped.append(character)
                position += 2
            } else {
                guard let (scalar, length) = self.escapedScalar(in: bytes, at: position) else { return nil }
                unescaped.append(contentsOf: String(scalar).utf8)
                position += length
            }
        }
        return String(decoding: unescaped, as: UTF8.self)
    }

    /// Parses a `\u` escape or a pair of them, and returns the character with the escape's length.
    private static func escapedScalar(in bytes: [UInt8], at offset: Int) -> (Unicode.Scalar, length: Int)? {
        guard let first = self.hexadecimal(in: bytes, at: offset + 2) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (scalar, 6) }
        guard UTF16.isLeadSurrogate(first), offset + 12 <= bytes.count, bytes[offset + 6] == UInt8(ascii: "\\"),
            bytes[offset + 7] == UInt8(ascii: "u"), let second = self.hexadecimal(in: bytes, at: offset + 8),
            UTF16.isTrailSurrogate(second)
        else { return nil }
        let value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        return Unicode.Scalar(value).map { ($0, 12) }
    }

    /// Appends a quoted string with the necessary escapes.
    static func append(_ string: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { utf8 in
            // Copies whole runs, because most strings need no escapes. A loop, because debug builds do not specialize
            // `firstIndex(where:)`, which took a tenth of the tests' time.
            var start = 0
            for index in 0..<utf8.count where self.mustBeEscaped(utf8[index]) {
                bytes.append(contentsOf: utf8[start..<index])
                self.appendEscaped(utf8[index], to: &bytes)
                start = index + 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x00..<0x20:
            bytes += "u00".utf8
            bytes += [Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 15)]
        default: bytes.append(byte)
        }
    }

    private static func mustBeEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C  // quotes and backslashes
    }
}
