/// The kind of value that a name promises, of an attribute or of a parameter.
package enum NamedKind {
    case amount, account

    /// Creates the kind that a name's end tells, as that of `operation.amount` and `creditorAccount` does; `nil` for other names.
    package init?(_ name: String) {
        let ends = { (word: String) in
            name.utf8.suffix(word.utf8.count).elementsEqual(word.utf8) { $0 | 0x20 == $1 }
        }
        if ends("amount") {
            self = .amount
        } else if ends("account") || ends("iban") {
            self = .account
        } else {
            return nil
        }
    }
}
