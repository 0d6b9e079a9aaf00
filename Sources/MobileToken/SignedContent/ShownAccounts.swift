import Basics

/// The accounts in a string for people, in any spelling and context.
///
/// A person takes `IBAN: cz65-0800-…` for an account, so a policy must not overlook it. Lookalikes that cannot be compared are
/// included; they equal no signed account.
struct ShownAccounts {
    let numbers: [AccountNumber]

    init(in text: VisibleText) {
        guard text.signs.mayHaveAccount else {
            self.numbers = []
            return
        }
        let scalars = text.typed
        let words = Word.words(in: scalars)
        // A person reads the letter O as a zero where digits belong.
        let typed = Self.ibans(in: words.map(\.withDigitsForLetters)).filter(\.isIBAN)
        self.numbers = Self.ibans(in: words) + typed + Self.domesticAccounts(in: scalars)
    }

    /// The maximum length of an International Bank Account Number.
    private static let longest = 34

    /// Returns strings in the form of an IBAN, at the start of a word or attached to one.
    private static func ibans(in words: [Word]) -> [AccountNumber] {
        words.indices.flatMap { index in
            let word = words[index]
            return (0...max(0, word.scalars.count - 4)).compactMap { offset -> AccountNumber? in
                guard word.beginsIBAN(at: offset) else { return nil }
                let first = word.dropping(offset).prefix(Self.longest + 1)
                return Self.iban(in: [first] + words[(index + 1)...].prefix(Self.longest), isGlued: offset > 0)
            }
        }
    }

    /// Returns the number that starts at the first word, with its country's length if that is fixed.
    private static func iban(in words: [Word], isGlued: Bool) -> AccountNumber? {
        guard let first = words.first else { return nil }
        let length = AccountNumber.length(ofCountry: first.string)
        var candidate = Word()
        var longest: AccountNumber?
        for word in words {
            candidate.append(word)
            if let length, candidate.scalars.count >= length {
                let number = AccountNumber(candidate.prefix(length).string)
                let isWhole = !isGlued && candidate.scalars.count == length
                return number.isIBAN || (isWhole && candidate.hasOnlyDigits) ? number : nil
            }
            guard candidate.scalars.count <= Self.longest else { break }
            guard !isGlued, candidate.looksLikeIBAN else { continue }
            let number = AccountNumber(candidate.string)
            // With a letter of another alphabet, the check digits mean nothing.
            if candidate.isOfOtherAlphabet || (length == nil && number.isIBAN) { longest = number }
        }
        return longest
    }

    /// Returns the numbers before a slash and a bank's four digits, such as `19-2000145399/0800`. A short number without a prefix
    /// may be a month.
    private static func domesticAccounts(in text: [Unicode.Scalar]) -> [AccountNumber] {
        text.indices.filter { text[$0] == "/" }.compactMap { slash in
            let behind = text[(slash + 1)...].drop { $0 == " " }
            guard let bank = Self.bank(in: behind) else { return nil }
            let head = text[..<slash].reversed().prefix { $0.isASCIIDigit || $0.isDash || $0 == " " }.prefix(32)
                .reversed()
            let parts = head.map { $0.isDash ? "-" : $0 }.split(separator: " ").map { Array($0) }
            guard parts.joined().count(where: \.isASCIIDigit) >= 5 else { return nil }
            let numbers = parts.indices.map { first in
                let number = parts[first...].joined().drop { $0 == "-" }
                return AccountNumber(String(scalars: number + ["/"] + bank))
            }
            // A preceding number, such as a year, makes it too long.
            return numbers.first(where: \.isIBAN) ?? numbers.last
        }
    }

    /// Returns four digits, which may contain spaces.
    private static func bank(in text: ArraySlice<Unicode.Scalar>) -> [Unicode.Scalar]? {
        var bank: [Unicode.Scalar] = []
        for part in text.prefix(while: { $0.isASCIIDigit || $0 == " " }).split(separator: " ") where bank.count < 4 {
            bank += part
        }
        return bank.count == 4 ? bank : nil
    }
}

/// A run of letters and digits.
private struct Word {
    private(set) var scalars: [Unicode.Scalar] = []

    var string: String { String(scalars: self.scalars) }
    var isOfOtherAlphabet: Bool { self.scalars.contains { !$0.isASCII } }
    var hasOnlyDigits: Bool { self.scalars.dropFirst(2).allSatisfy(\.isASCIIDigit) }

    /// Indicates whether it has two letters, two digits and enough other characters, at least ten of them digits.
    var looksLikeIBAN: Bool {
        15...34 ~= self.scalars.count && self.beginsIBAN(at: 0) && self.scalars.count(where: \.isASCIIDigit) >= 10
    }

    /// The word with digits instead of similar letters, except for the two letters of a country at its start.
    var withDigitsForLetters: Self {
        let country = self.beginsIBAN(at: 0) ? 2 : 0
        return Self(scalars: self.scalars.prefix(country) + self.scalars.dropFirst(country).map(\.readAsDigit))
    }

    func beginsIBAN(at offset: Int) -> Bool {
        offset + 4 <= self.scalars.count
            && self.scalars[offset + 2].isASCIIDigit && self.scalars[offset + 3].isASCIIDigit
            && !self.scalars[offset].isASCIIDigit && !self.scalars[offset + 1].isASCIIDigit
    }

    func dropping(_ count: Int) -> Self { Self(scalars: Array(self.scalars.dropFirst(count))) }
    func prefix(_ count: Int) -> Self { Self(scalars: Array(self.scalars.prefix(count))) }

    mutating func append(_ word: Self) { self.scalars += word.scalars }

    static func words(in text: [Unicode.Scalar]) -> [Self] {
        text.split { !$0.isASCIIDigit && !$0.isLetter }.map { scalars in
            let word = Self(scalars: scalars.map { $0.isASCII ? Unicode.Scalar(UInt8($0.value).asciiUppercased) : $0 })
            return word.scalars.starts(with: "IBAN".unicodeScalars) ? word.dropping(4) : word
        }
    }
}
