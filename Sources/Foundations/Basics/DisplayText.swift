/// Escapes external strings for terminals and logs.
///
/// A server's string may contain escape sequences that control a terminal, line ends that forge log entries, and marks that
/// reorder or hide text. Received strings stay unchanged; only displayed ones are escaped.
public enum DisplayText {
    /// The default number of Unicode scalars to show.
    public static let defaultLimit = 300

    /// Returns `string` on one line, with invisible characters escaped, truncated at `limit` scalars.
    ///
    /// Control characters (C0, DEL, C1), line and paragraph separators, bidirectional marks and isolates, and zero-width
    /// characters become `\n`, `\r`, `\t` or `\u{…}`. A truncated string ends with the number of missing scalars.
    public static func escaped(_ string: some StringProtocol, limit: Int = Self.defaultLimit) -> String {
        var shown = ""
        var rest = string.unicodeScalars[...]
        var count = 0
        while count < limit, let scalar = rest.popFirst() {
            self.append(scalar, to: &shown)
            count += 1
        }
        return rest.isEmpty ? shown : shown + "… (\(rest.count) more)"
    }

    /// Escapes the same characters in serialized JSON. They only occur in its strings, so the meaning stays.
    public static func escaped(json: some StringProtocol) -> String {
        var shown = ""
        for scalar in json.unicodeScalars {
            guard self.isUnsafe(scalar) else {
                shown.unicodeScalars.append(scalar)
                continue
            }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                shown += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return shown
    }

    /// Returns whether a character may change how its neighbors are displayed, or may be invisible.
    public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E: return false
        // Variation selectors choose between pictures of a character, such as emoji.
        case 0xFE00...0xFE0F: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns whether a character is blank although it is neither a space nor ignorable. Unicode has no property for these, only
    /// names such as `EGYPTIAN HIEROGLYPH FULL BLANK`. U+FFFC represents a missing object.
    public static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value > 0x7E else { return false }
        let words = (scalar.properties.name ?? "").utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "-") }
        return scalar == "\u{FFFC}" || scalar == "\u{16FE4}"
            || words.contains { word in Self.blankWords.contains { word.elementsEqual($0.utf8) } }
    }

    private static let blankWords = ["BLANK", "NULL", "JOINER"]

    /// Returns whether a character is written from right to left. Neighboring digits move with it.
    public static func isRightToLeft(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x590...0x8FF, 0xFB1D...0xFDFF, 0xFE70...0xFEFF, 0x1_0800...0x1_0FFF, 0x1_E800...0x1_EFFF:
            scalar.properties.numericType == nil && scalar.properties.generalCategory != .nonspacingMark
        default: false
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to shown: inout String) {
        switch scalar {
        case "\n": shown += "\\n"
        case "\r": shown += "\\r"
        case "\t": shown += "\\t"
        case _ where self.isUnsafe(scalar): shown += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
        default: shown.unicodeScalars.append(scalar)
        }
    }
}
