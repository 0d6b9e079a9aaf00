import SignedContent

/// The strings that approvers may read, compared with the data that they sign.
///
/// The server's texts may show every parameter, signed or not.
struct ReadableValues {
    private let data: DataFields

    /// - Parameter data: The data to sign. In another form than the documented one, they sign no amount and no account.
    init(signing data: String) {
        self.data = (try? DataFields(parsing: Array(data.utf8)[...], amounts: .anyJSONOrJava)) ?? .none
    }

    /// Returns the part of a string that deceives, as a noun; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - name: The parameter's name. Templates show `amount`, `account` and `iban` as such.
    ///   - isSigned: Indicates whether the data contain the string. Then it deceives only if the data sign another amount or account.
    func deception(in string: String, named name: String = "", isSigned: Bool = false) -> String? {
        let visible = VisibleText(string)
        let kind = isSigned ? nil : NamedKind(name)
        if kind == .amount {
            let number = FormattedMoney(string)
            guard self.data.amounts.contains(where: { number?.stands(for: $0.amount) == true }) else {
                return "an amount"
            }
        }
        if kind == .account {
            let number = AccountNumber(string)
            guard self.data.accounts.contains(where: { $0.isShown(as: number) }) else { return "an account" }
        }
        if !isSigned || !self.data.amounts.isEmpty, !Self.isIdentifier(string), !self.data.signAmounts(in: visible) {
            return "an amount"
        }
        if !isSigned || !self.data.accounts.isEmpty, !self.data.signAccounts(in: visible) { return "an account" }
        return nil
    }

    /// Returns whether a string is a digest or a UUID, in which `12cad` is no amount.
    private static func isIdentifier(_ string: String) -> Bool {
        string.utf8.count >= 16 && string.unicodeScalars.allSatisfy { $0.properties.isASCIIHexDigit || $0 == "-" }
    }
}
