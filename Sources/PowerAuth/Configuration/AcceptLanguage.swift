import Basics

/// The languages in which the server is asked to present operations and messages, as `Accept-Language` names them.
public struct AcceptLanguage: Sendable, Hashable, CustomStringConvertible {
    /// English, the default.
    public static let english = AcceptLanguage(unchecked: "en")

    /// The value of the header.
    public let description: String

    private init(unchecked text: String) {
        self.description = text
    }

    /// Creates a preference from one language or several, such as `cs`, `en-GB` or `cs, en;q=0.8, *;q=0.1`.
    ///
    /// - Throws: `invalidLanguage` for anything that the header's grammar (RFC 9110) does not allow.
    public init(_ text: String) throws(MobileTokenError) {
        let ranges = text.split(separator: ",", omittingEmptySubsequences: false)
        guard text.utf8.count <= 256, ranges.allSatisfy(Self.isWeightedRange) else {
            throw MobileTokenError(.invalidLanguage, "Not a list of languages, such as \"en\" or \"cs, en;q=0.8\"")
        }
        self.description = text
    }

    private static func isWeightedRange(_ text: Substring) -> Bool {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        guard let range = parts.first, self.isRange(self.trimmed(range)) else { return false }
        switch parts.count {
        case 1: return true
        case 2: return self.isWeight(self.trimmed(parts[1]))
        default: return false
        }
    }

    /// Returns whether this is `*`, or a language of letters followed by subtags of letters and digits, each of one to
    /// eight characters.
    private static func isRange(_ text: Substring) -> Bool {
        if text == "*" { return true }
        let tags = text.split(separator: "-", omittingEmptySubsequences: false)
        return tags.enumerated().allSatisfy { index, tag in
            (1...8).contains(tag.utf8.count)
                && tag.utf8.allSatisfy { $0.isASCIILetter || index > 0 && $0.isASCIIDigit }
        }
    }

    /// Returns whether this is `q=` and a number from 0 to 1 with at most three decimals.
    private static func isWeight(_ text: Substring) -> Bool {
        let name = text.utf8.prefix(2)
        guard name.elementsEqual("q=".utf8) || name.elementsEqual("Q=".utf8) else { return false }
        let parts = text[name.endIndex...].split(separator: ".", omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "1", parts.count <= 2 else { return false }
        guard parts.count == 2 else { return true }
        let digits = UInt8(ascii: "0")...UInt8(ascii: whole == "1" ? "0" : "9")
        return parts[1].utf8.count <= 3 && parts[1].utf8.allSatisfy { digits.contains($0) }
    }

    private static func trimmed(_ text: Substring) -> Substring { text.trimming { $0 == " " } }
}
