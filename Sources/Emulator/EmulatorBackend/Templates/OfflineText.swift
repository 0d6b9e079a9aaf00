import Basics
import ExactJSON

/// The text of an offline QR code's lines. Strings are split by scalars: to a `String`, CR and LF together are one character, and
/// so is a letter with its combining mark.
enum OfflineText {
    /// Returns `string` escaped so that it stays within its line and, if there are fields, its field.
    ///
    /// A line break, LF or CR LF, becomes the escape `\n`. A lone CR stays: it ends no line.
    ///
    /// - Parameter separator: The character that ends a field in an operation's data; `nil` for text without fields.
    static func escaped(_ string: String, separator: Unicode.Scalar? = nil) -> String {
        var escaped = String.UnicodeScalarView()
        var rest = string.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r" where rest.first == "\n": break  // the line feed is next
            // Appended individually: `append(contentsOf:)` copies the existing content.
            case "\n":
                escaped.append("\\")
                escaped.append("n")
            case "\\", separator:
                escaped.append("\\")
                escaped.append(scalar)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Returns the reason why an operation's data do not fit a QR code that devices accept; `nil` if they do.
    ///
    /// The form is a letter and one or two digits, then at most five fields, each after a `*`. Amounts, accounts and dates have
    /// their own forms.
    static func objection(toData data: String) -> String? {
        guard !data.unicodeScalars.contains(where: \.isControlOrByteOrderMark) else {
            return "the data have control characters"
        }
        let parts = self.fields(Array(data.utf8), limit: 7)
        guard let head = parts.first, self.isHead(head) else {
            return "the data do not begin with a capital and a number of one or two digits"
        }
        guard parts.count <= 6 else { return "the data have more than five fields" }
        guard let field = parts.dropFirst().first(where: { !self.isField($0) }) else { return nil }
        return "'\(String(decoding: field, as: UTF8.self))' is not what its letter says"
    }

    /// Returns the first `limit` parts between unescaped separators, so that data of only separators stay cheap.
    private static func fields(_ bytes: [UInt8], limit: Int) -> [[UInt8]] {
        var fields: [[UInt8]] = []
        var field: [UInt8] = []
        var rest = bytes[...]
        while fields.count < limit, let byte = rest.popFirst() {
            if byte == UInt8(ascii: "*") {
                fields.append(field)
                field = []
                continue
            }
            field.append(byte)
            guard byte == UInt8(ascii: "\\"), let next = rest.first else { continue }
            guard next == UInt8(ascii: "\\") || next == UInt8(ascii: "*") else { continue }
            field.append(next)
            rest.removeFirst()
        }
        return fields.count < limit ? fields + [field] : fields
    }

    private static func isHead(_ bytes: [UInt8]) -> Bool {
        bytes.first?.isASCIICapital == true && (2...3).contains(bytes.count)
            && bytes.dropFirst().allSatisfy(\.isASCIIDigit)
    }

    private static func isField(_ bytes: [UInt8]) -> Bool {
        let value = bytes.dropFirst()
        switch bytes.first {
        case UInt8(ascii: "A"): return self.isAmount(value)
        case UInt8(ascii: "I"): return self.isAccount(value)
        case UInt8(ascii: "D"): return self.isDate(value)
        default: return true
        }
    }

    private static func isAmount(_ bytes: ArraySlice<UInt8>) -> Bool {
        let number = bytes.dropLast(3)
        let unsigned = number.first == UInt8(ascii: "-") ? number.dropFirst() : number
        let parts = unsigned.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return bytes.suffix(3).allSatisfy(\.isASCIILetter) && parts.count <= 2
            && parts.contains { !$0.isEmpty } && parts.allSatisfy { $0.allSatisfy(\.isASCIIDigit) }
    }

    private static func isAccount(_ bytes: ArraySlice<UInt8>) -> Bool {
        let parts = bytes.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard let iban = parts.first, !iban.isEmpty, parts.count <= 2 else { return false }
        return parts.allSatisfy { $0.allSatisfy { $0.isASCIIDigit || $0.isASCIICapital } }
    }

    private static func isDate(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard bytes.count == 8, let number = Int(asciiDigits: bytes) else { return false }
        return ISO8601.daysSince1970(year: number / 10_000, month: number / 100 % 100, day: number % 100) != nil
    }
}
