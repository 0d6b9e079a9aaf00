import Basics
import SignedContent

extension UserOperation.Attribute.Money {
    /// Indicates whether each formatted string of the server names the number and the currency.
    ///
    /// Servers write the currency of the reader's country beside another currency's number: 5 000 JPY as `$5,000`.
    var isNamedByItsTexts: Bool {
        guard let amount, let currency, let number = FormattedMoney(self.amountFormatted), number.names.isEmpty,
            number.stands(for: amount), CurrencyNames.isName(self.currencyFormatted, of: currency)
        else { return false }
        guard let valueFormatted else { return true }
        guard let value = FormattedMoney(valueFormatted) else { return false }
        return !value.names.isEmpty && value.stands(for: amount)
            && value.names.allSatisfy { CurrencyNames.isName($0, of: currency, beside: self.currencyFormatted) }
    }

    /// The amount for people: the server's string if it names the number and the currency, otherwise both in plain form.
    package var text: String {
        let theirs = self.valueFormatted ?? "\(self.amountFormatted) \(self.currencyFormatted)"
        guard let amount, let currency, !self.isNamedByItsTexts else { return theirs }
        return "\(amount.plainText ?? self.amountFormatted) \(currency) (the server's text is another: \(theirs))"
    }
}

extension SignedAmount {
    /// Returns whether an attribute has this amount; `10.0` equals `10`.
    func isShown(as money: UserOperation.Attribute.Money) -> Bool {
        money.amount == self.amount && money.currency?.uppercased().isExactly(self.currency) == true
    }
}
