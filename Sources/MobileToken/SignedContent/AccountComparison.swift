import Basics

package struct SignedAccount {
    package let text: String
    /// The forms in which it may be shown.
    private let forms: [AccountNumber]

    init?(_ field: DataField) {
        switch field {
        case .account(let iban, let bic):
            self.text = iban
            self.forms = [AccountNumber(iban)] + (bic.map { [AccountNumber("\(iban),\($0)")] } ?? [])
        case .anyAccount(let account):
            self.text = account
            self.forms = [AccountNumber(account)]
        default: return nil
        }
    }

    package func isShown(as account: AccountNumber) -> Bool { !account.bytes.isEmpty && self.forms.contains(account) }
}

/// An account number in one of its spellings.
///
/// White space is ignored. IBANs are equal with hyphens, in lower case, and in the Czech domestic form, `19-2000145399/0800`.
/// Everything else must match byte for byte: a letter of another alphabet, or an invisible one, makes another account.
package struct AccountNumber: Hashable {
    package let bytes: [UInt8]
    /// Indicates whether this is an International Bank Account Number with valid check digits, so that identifiers which merely
    /// look like one do not count.
    let isIBAN: Bool

    package init(_ text: String) {
        let compact: [Unicode.Scalar] = text.unicodeScalars.filter { !$0.isSpace }
        let exact = Array(String(scalars: compact).utf8)
        let joined = String(scalars: compact.filter { !$0.isDashPunctuation }).utf8.map(\.asciiUppercased)
        if let iban = Self.iban(ofDomestic: exact) {
            (self.bytes, self.isIBAN) = (iban, true)
        } else if Self.isIBAN(joined) {
            (self.bytes, self.isIBAN) = (joined, true)
        } else {
            (self.bytes, self.isIBAN) = (exact, false)
        }
    }

    private static func isIBAN(_ bytes: [UInt8]) -> Bool {
        // `RF` begins a creditor reference with the same kind of check digits.
        guard 15...34 ~= bytes.count, !bytes.starts(with: "RF".utf8) else { return false }
        let (head, rest) = (bytes.prefix(4), bytes.dropFirst(4))
        guard head.prefix(2).allSatisfy(\.isASCIICapital), head.dropFirst(2).allSatisfy(\.isASCIIDigit),
            rest.allSatisfy({ $0.isASCIICapital || $0.isASCIIDigit })
        else { return false }
        return Self.remainder(of: rest + head) == 1
    }

    /// Returns the registered length of a country's numbers, by its two letters.
    static func length(ofCountry text: String) -> Int? { Self.lengths[String(text.prefix(2))] }

    /// The ISO 13616 registry: countries by the length of their numbers.
    private static let lengths: [String: Int] = {
        let countries = [
            15: "NO", 16: "BE", 18: "DK FI FK FO GL NL SD", 19: "MK SI", 20: "AT BA EE KZ LT LU MN XK",
            21: "CH HR LI LV",
            22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ OM SO TL", 24: "AD CZ ES MD PK RO SA SE SK TN VG",
            25: "LY PT ST", 26: "IS TR", 27: "BI DJ FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
            29: "BR EG PS QA UA", 30: "JO KW MU YE", 31: "MT SC", 32: "LC", 33: "RU",
        ]
        return Dictionary(
            countries.flatMap { length, names in names.split(separator: " ").map { (String($0), length) } },
            uniquingKeysWith: max
        )
    }()

    /// Returns the number formed by letters and digits, modulo 97, as in ISO 7064.
    private static func remainder(of bytes: some Sequence<UInt8>) -> Int {
        bytes.reduce(0) { remainder, byte in
            byte.isASCIIDigit
                ? (remainder * 10 + Int(byte) - 48) % 97 : (remainder * 100 + Int(byte) - 55) % 97  // A is 10
        }
    }

    /// Returns the IBAN of a Czech account such as `19-2000145399/0800`: bank, prefix and number, padded with zeros.
    private static func iban(ofDomestic bytes: [UInt8]) -> [UInt8]? {
        let halves = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard halves.count == 2, halves[1].count == 4 else { return nil }
        let parts = halves[0].split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let number = parts.last, 2...10 ~= number.count, parts.count <= 2,
            (parts + [halves[1]]).allSatisfy({ $0.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        let prefix = parts.count == 2 ? Array(parts[0]) : []
        guard prefix.count <= 6 else { return nil }
        func filled(_ digits: [UInt8], _ width: Int) -> [UInt8] {
            Array(repeating: UInt8(ascii: "0"), count: max(0, width - digits.count)) + digits
        }
        let account = Array(halves[1]) + filled(prefix, 6) + filled(Array(number), 10)
        let check = 98 - Self.remainder(of: account + Array("CZ00".utf8))
        return Array("CZ".utf8) + filled(Array(String(check).utf8), 2) + account
    }
}
