import Basics
import ExactJSON
import PowerAuthProtocol

/// The text in the lines of an offline QR code. Strings are taken apart by scalars: to a `String`, CR and LF together are
/// one character, and so is a letter with the mark behind it.
enum OfflineText {
    /// Returns `string` written so that it stays in its line and, where there is one, in its field.
    ///
    /// A line break becomes the escape `\n`, whether LF or CR LF. A lone CR stays: it ends no line.
    ///
    /// - Parameter separator: The character that ends a field in an operation's data; `nil` for text without fields.
    static func escaped(_ string: String, separator: Unicode.Scalar? = nil) -> String {
        var escaped = String.UnicodeScalarView()
        var rest = string.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\r" where rest.first == "\n": break  // the line feed is next
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\\", separator: escaped.append(contentsOf: ["\\", scalar])
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Returns the reason for which the data of an operation cannot stand in a QR code that a device accepts; `nil` when they
    /// can.
    ///
    /// A letter and one or two digits, then at most five fields, each after a `*`. Amounts, accounts and dates have a form.
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

    /// Returns the parts between separators that are not escaped, the first `limit` of them: data of nothing but separators
    /// would otherwise become an array for each.
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
