import Basics

/// The fields of a `PowerAuth …` header, split as servers do. The trimmed value starts with the word `PowerAuth` and a space.
/// Fields `name="value"` follow in any order, with anything between them; the last with a name counts. A value starts after all
/// quotes that follow the equals sign, and ends before the next quote, or without one before the next whitespace. Values are
/// neither trimmed nor unescaped.
package struct HeaderFields {
    private static let scheme = Array("PowerAuth ".utf8)

    private var values: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] = []

    /// Parses a header; `nil` has no fields.
    package init(parsing value: String?) {
        let trimmed = Array((value ?? "").utf8).trimming { $0 <= 0x20 }
        guard trimmed.starts(with: Self.scheme) else { return }
        self.scan(trimmed.dropFirst(Self.scheme.count))
    }

    /// The value of a field, or `nil`.
    package subscript(_ name: String) -> String? {
        let field = self.values.last { $0.name.count == name.utf8.count && $0.name.elementsEqual(name.utf8) }
        return field.map { String(decoding: $0.value, as: UTF8.self) }
    }

    private mutating func scan(_ bytes: ArraySlice<UInt8>) {
        var position = bytes.startIndex
        while position < bytes.endIndex {
            let nameEnd = bytes[position...].firstIndex { !$0.isWordCharacter } ?? bytes.endIndex
            guard nameEnd < bytes.endIndex else { return }
            guard nameEnd > position, bytes[nameEnd] == UInt8(ascii: "="),
                let value = Self.valueRange(in: bytes, after: nameEnd + 1)
            else {
                position = nameEnd + 1
                continue
            }
            self.values.append((bytes[position..<nameEnd], bytes[value]))
            position = bytes[value.upperBound...].firstIndex { $0 != UInt8(ascii: "\"") } ?? bytes.endIndex
        }
    }

    private static func valueRange(in bytes: ArraySlice<UInt8>, after start: Int) -> Range<Int>? {
        let quote = UInt8(ascii: "\"")
        let begin = bytes[start...].firstIndex { $0 != quote } ?? bytes.endIndex
        if begin > start, let end = bytes[begin...].firstIndex(of: quote) { return begin..<end }
        let end = bytes[begin...].firstIndex { $0.isWhitespace } ?? bytes.endIndex
        if begin < end { return begin..<end }
        // Only quotes: the last one is the value, which is refused later.
        return begin > start ? (begin - 1)..<begin : nil
    }
}

extension UInt8 {
    fileprivate var isWordCharacter: Bool { self.isASCIILetterOrDigit || self == UInt8(ascii: "_") }

    fileprivate var isWhitespace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
