/// The kind of value that a name promises, of an attribute or of a parameter.
package enum NamedKind {
    case amount, account

    /// Creates the kind that a name's end tells, as that of `operation.amount` and `creditorAccount` does; `nil` for other names.
    package init?(_ name: String) {
        let reversed = name.utf8.map { $0 | 0x20 }.reversed()
        let ends = { (word: String) in reversed.starts(with: word.utf8.reversed()) }
        if ends("amount") {
            self = .amount
        } else if ends("account") || ends("iban") {
            self = .account
        } else {
            return nil
        }
    }
}
