import Basics

/// An account that gets signed.
struct SignedAccount {
    /// The account as it is in the data.
    let text: String
    /// The ways to show it, without blanks.
    private let forms: [[UInt8]]

    init?(_ field: OfflineOperationData.Field) {
        switch field {
        case .account(let iban, let bic):
            self.text = iban
            self.forms = [Array(iban.utf8)] + (bic.map { [Array("\(iban),\($0)".utf8)] } ?? [])
        case .anyAccount(let account):
            self.text = account
            self.forms = [ShownAccount(account).bytes]
        default: return nil
        }
    }

    func isShown(as account: ShownAccount) -> Bool { !account.bytes.isEmpty && self.forms.contains(account.bytes) }
}

/// What an attribute shows, without the blanks that make an account easier to read. Everything else must be the same byte for
/// byte: a letter of another alphabet, or one that is not seen at all, makes another account.
struct ShownAccount {
    let bytes: [UInt8]

    init(_ text: String) {
        let blanks: Set<Unicode.Scalar> = [" ", "\u{A0}", "\u{202F}"]
        self.bytes = Array(String(String.UnicodeScalarView(text.unicodeScalars.filter { !blanks.contains($0) })).utf8)
    }

    /// Whether this is an International Bank Account Number with the right check digits, so that an identifier that merely
    /// looks like one is not taken for an account.
    var isIBAN: Bool {
        guard 15...34 ~= self.bytes.count else { return false }
        let (head, rest) = (self.bytes.prefix(4), self.bytes.dropFirst(4))
        guard head.prefix(2).allSatisfy(\.isASCIICapital), head.dropFirst(2).allSatisfy(\.isASCIIDigit),
            rest.allSatisfy({ $0.isASCIICapital || $0.isASCIIDigit })
        else { return false }
        let remainder = (rest + head).reduce(0) { remainder, byte in
            byte.isASCIIDigit
                ? (remainder * 10 + Int(byte) - 48) % 97 : (remainder * 100 + Int(byte) - 55) % 97  // A is 10
        }
        return remainder == 1
    }
}

extension UInt8 {
    fileprivate var isASCIICapital: Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self }
}
