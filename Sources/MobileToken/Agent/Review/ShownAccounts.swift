import Basics
import Foundation

/// The accounts that a text for people names, however they are spelled and whatever stands around them.
///
/// A person takes `IBAN: cz65-0800-…` for an account, so a policy must not overlook it. What looks like an account and cannot be
/// compared is reported as well: no signed account is the same.
struct ShownAccounts {
    let numbers: [AccountNumber]

    init(in text: String) {
        // Wide digits become digits; what is not seen is left out, since a person does not see it.
        let visible = Array(text.precomposedStringWithCompatibilityMapping.unicodeScalars)
            .filter { !$0.properties.isDefaultIgnorableCodePoint }
        let words = Word.words(in: visible)
        self.numbers = Self.ibans(in: words) + Self.domesticAccounts(in: visible)
    }

    /// Returns what begins with a word, has the form of an IBAN, and ends with a word.
    private static func ibans(in words: [Word]) -> [AccountNumber] {
        words.indices.compactMap { start in
            var candidate = Word()
            var longest: AccountNumber?
            for word in words[start...] {
                candidate.append(word)
                guard candidate.scalars.count <= 34 else { break }
                guard candidate.looksLikeIBAN else { continue }
                let number = AccountNumber(candidate.string)
                // With a letter of another alphabet the check digits tell nothing.
                if number.isIBAN || candidate.isOfOtherAlphabet { longest = number }
            }
            return longest
        }
    }

    /// Returns the numbers before a slash and the four digits of a bank, such as `19-2000145399/0800`. A short number without a
    /// prefix may be a month.
    private static func domesticAccounts(in text: [Unicode.Scalar]) -> [AccountNumber] {
        let compact = text.filter { !$0.properties.isWhitespace }
        return compact.indices.filter { compact[$0] == "/" }.compactMap { slash in
            let bank = compact[(slash + 1)...].prefix(while: \.isASCIIDigit)
            let head = compact[..<slash].suffix(17).reversed().prefix { $0.isASCIIDigit || $0.isDash }.reversed()
            guard bank.count == 4, head.count(where: \.isASCIIDigit) >= 5 else { return nil }
            let number = head.map { $0.isDash ? "-" : $0 }.drop { $0 == "-" }
            return AccountNumber(String(String.UnicodeScalarView(number + ["/"] + bank)))
        }
    }
}

/// Letters and digits without anything between them.
private struct Word {
    private(set) var scalars: [Unicode.Scalar] = []

    var string: String { String(String.UnicodeScalarView(self.scalars)) }
    var isOfOtherAlphabet: Bool { self.scalars.contains { !$0.isASCII } }

    /// Indicates whether there are two letters, two digits and enough others, at least ten of them digits.
    var looksLikeIBAN: Bool {
        guard 15...34 ~= self.scalars.count else { return false }
        return self.scalars.prefix(2).allSatisfy { !$0.isASCIIDigit }
            && self.scalars[2].isASCIIDigit && self.scalars[3].isASCIIDigit
            && self.scalars.count(where: \.isASCIIDigit) >= 10
    }

    mutating func append(_ word: Self) { self.scalars += word.scalars }

    static func words(in text: [Unicode.Scalar]) -> [Self] {
        text.split { !$0.isASCIIDigit && !$0.properties.isAlphabetic }.map { scalars in
            var word = Self()
            word.scalars = scalars.map { $0.isASCII ? Unicode.Scalar(UInt8($0.value).asciiUppercased) : $0 }
            let prefix = "IBAN".unicodeScalars
            if word.scalars.starts(with: prefix) { word.scalars.removeFirst(prefix.count) }
            return word
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isASCIIDigit: Bool { "0"..."9" ~= self }
    fileprivate var isDash: Bool { self.properties.generalCategory == .dashPunctuation }
}
