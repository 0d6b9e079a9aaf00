/// Strings from outside, made fit for terminals and logs.
///
/// A server's string may hold escape sequences that steer a terminal, line ends that forge a log entry, and marks that
/// reorder or hide what surrounds them. The raw string stays where it was received; only what is shown goes through here.
public enum DisplayText {
    /// The number of Unicode scalars of a string that are shown by default.
    public static let defaultLimit = 300

    /// Returns `string` on one line, with everything that is not plainly visible escaped, and cut at `limit` scalars.
    ///
    /// Control characters (C0, DEL, C1), line and paragraph separators, bidirectional marks and isolates, and zero-width
    /// characters become `\n`, `\r`, `\t` or `\u{…}`. A string that is cut ends with the number of scalars that are missing.
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

    /// Returns serialized JSON with the same characters escaped. They can only stand inside its strings, so the JSON keeps its
    /// meaning.
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

    /// Returns whether a character could change how those around it are shown, or be invisible itself.
    public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E: return false
        // Variation selectors choose between the pictures of one character; emoji have them.
        case 0xFE00...0xFE0F: return false
        default: break
        }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
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
