import Basics

/// The fields of a `PowerAuth …` header, split the way the servers split them.
///
/// The value begins, after blanks at its ends are cut off, with the word `PowerAuth` and a blank. Then fields
/// `name="value"` follow in any order, with anything between them; the last of the same name counts. A value begins
/// after all quotes that follow the equals sign, and ends before the next quote; where no quote follows, before the next
/// whitespace. Nothing is trimmed or unescaped.
package struct HeaderFields {
    private static let scheme = Array("PowerAuth ".utf8)

    private var values: [String: String] = [:]

    package init(parsing text: String?) {
        let trimmed = Array((text ?? "").utf8).trimming { $0 <= 0x20 }
        guard trimmed.starts(with: Self.scheme) else { return }
        self.scan(trimmed.dropFirst(Self.scheme.count))
    }

    /// A value, or `nil` when there is no such field.
    package subscript(_ name: String) -> String? { self.values[name] }

    private mutating func scan(_ text: ArraySlice<UInt8>) {
        var position = text.startIndex
        while position < text.endIndex {
            let nameEnd = text[position...].firstIndex { !$0.isWordCharacter } ?? text.endIndex
            guard nameEnd < text.endIndex else { return }
            guard nameEnd > position, text[nameEnd] == UInt8(ascii: "="),
                let value = Self.valueRange(in: text, after: nameEnd + 1)
            else {
                position = nameEnd + 1
                continue
            }
            let name = String(decoding: text[position..<nameEnd], as: UTF8.self)
            self.values[name] = String(decoding: text[value], as: UTF8.self)
            position = text[value.upperBound...].firstIndex { $0 != UInt8(ascii: "\"") } ?? text.endIndex
        }
    }

    private static func valueRange(in text: ArraySlice<UInt8>, after start: Int) -> Range<Int>? {
        let quote = UInt8(ascii: "\"")
        let begin = text[start...].firstIndex { $0 != quote } ?? text.endIndex
        if begin > start, let end = text[begin...].firstIndex(of: quote) { return begin..<end }
        let end = text[begin...].firstIndex { $0.isWhitespace } ?? text.endIndex
        if begin < end { return begin..<end }
        // Nothing but quotes: the last of them is the value, and refused later because it is none.
        return begin > start ? (begin - 1)..<begin : nil
    }
}

extension UInt8 {
    fileprivate var isWordCharacter: Bool { self.isASCIILetterOrDigit || self == UInt8(ascii: "_") }

    fileprivate var isWhitespace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}
