import Basics

/// An account that gets signed.
struct SignedAccount {
    /// The account as it is in the data.
    let text: String
    /// The ways to show it.
    private let forms: [AccountNumber]

    init?(_ field: OfflineOperation.SignedData.Field) {
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

    func isShown(as account: AccountNumber) -> Bool { !account.bytes.isEmpty && self.forms.contains(account) }
}

/// An account, in one of the spellings of the same number.
///
/// Blanks never count. An International Bank Account Number is the same with hyphens and in lower case, and so is the Czech
/// domestic form of one, `19-2000145399/0800`. Everything else must be the same byte for byte: a letter of another alphabet, or
/// one that is not seen at all, makes another account.
struct AccountNumber: Hashable {
    let bytes: [UInt8]
    /// Indicates whether this is an International Bank Account Number with the right check digits, so that an identifier that
    /// merely looks like one is not taken for an account.
    let isIBAN: Bool

    init(_ text: String) {
        let compact = text.unicodeScalars.filter { !$0.properties.isWhitespace }
        let exact = Array(String(compact).utf8)
        let joined = String(compact.filter { $0.properties.generalCategory != .dashPunctuation }).utf8
            .map(\.asciiUppercased)
        if let iban = Self.iban(ofDomestic: exact) {
            (self.bytes, self.isIBAN) = (iban, true)
        } else if Self.isIBAN(joined) {
            (self.bytes, self.isIBAN) = (joined, true)
        } else {
            (self.bytes, self.isIBAN) = (exact, false)
        }
    }

    private static func isIBAN(_ bytes: [UInt8]) -> Bool {
        // `RF`: a reference for creditors, with check digits of the same kind.
        guard 15...34 ~= bytes.count, !bytes.starts(with: "RF".utf8) else { return false }
        let (head, rest) = (bytes.prefix(4), bytes.dropFirst(4))
        guard head.prefix(2).allSatisfy(\.isASCIICapital), head.dropFirst(2).allSatisfy(\.isASCIIDigit),
            rest.allSatisfy({ $0.isASCIICapital || $0.isASCIIDigit })
        else { return false }
        return Self.remainder(of: rest + head) == 1
    }

    /// Returns the number that the letters and digits stand for, modulo 97, as ISO 7064 has it.
    private static func remainder(of bytes: some Sequence<UInt8>) -> Int {
        bytes.reduce(0) { remainder, byte in
            byte.isASCIIDigit
                ? (remainder * 10 + Int(byte) - 48) % 97 : (remainder * 100 + Int(byte) - 55) % 97  // A is 10
        }
    }

    /// Returns the IBAN of a Czech account such as `19-2000145399/0800`: bank, prefix and number, filled up with zeros.
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
