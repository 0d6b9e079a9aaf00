import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The notation of amounts in a language, as the real servers have it: the digits stay those of the operation.
struct MonetaryFormat {
    private let groupSeparator: String
    private let decimalSeparator: String
    private let symbolComesFirst: Bool
    private let symbols: [ExactString: String]

    private static let english = Self(
        groupSeparator: ",",
        decimalSeparator: ".",
        symbolComesFirst: true,
        symbols: ["EUR": "€", "USD": "$", "GBP": "£"]
    )
    private static let czech = Self(
        groupSeparator: "\u{A0}",
        decimalSeparator: ",",
        symbolComesFirst: false,
        symbols: ["CZK": "Kč", "EUR": "€", "USD": "US$", "GBP": "£"]
    )
    private static let german = Self(
        groupSeparator: ".",
        decimalSeparator: ",",
        symbolComesFirst: false,
        symbols: ["EUR": "€", "USD": "$", "GBP": "£"]
    )

    /// The languages that have rules here; English has them for the rest.
    static let languages = ["en", "cs", "de"]

    init(language: String) {
        self =
            switch language {
            case "cs": .czech
            case "de": .german
            default: .english
            }
    }

    private init(
        groupSeparator: String,
        decimalSeparator: String,
        symbolComesFirst: Bool,
        symbols: [ExactString: String]
    ) {
        self.groupSeparator = groupSeparator
        self.decimalSeparator = decimalSeparator
        self.symbolComesFirst = symbolComesFirst
        self.symbols = symbols
    }

    /// `2199.4` as `2,199.40`; a number with an exponent stays as it is written.
    func amount(_ number: JSONNumber) -> String {
        guard !number.literal.contains(where: { $0 == "e" || $0 == "E" }) else { return number.literal }
        let parts = number.literal.split(separator: ".", omittingEmptySubsequences: false)
        let sign = number.literal.utf8.first == UInt8(ascii: "-") ? "-" : ""
        let digits = Array(parts[0].utf8.dropFirst(sign.utf8.count))
        let starts = [0] + Array(stride(from: (digits.count - 1) % 3 + 1, to: digits.count, by: 3))
        let groups = zip(starts, starts.dropFirst() + [digits.count]).map { start, end in
            String(decoding: digits[start..<end], as: UTF8.self)
        }
        let fraction = parts.count > 1 ? String(parts[1]) : ""
        let padding = String(repeating: "0", count: max(0, 2 - fraction.count))
        return sign + groups.joined(separator: self.groupSeparator) + self.decimalSeparator + fraction + padding
    }

    /// The symbol that is known in the language, or the code.
    func currency(_ code: String) -> String {
        self.symbols[ExactString(code)] ?? code
    }

    /// Amount and currency together: `€2,199.40`, `CZK 2,199.40`, `2 199,40 Kč`.
    func value(_ number: JSONNumber, _ code: String) -> String {
        let symbol = self.currency(code)
        guard self.symbolComesFirst else { return self.amount(number) + "\u{A0}" + symbol }
        return symbol.isExactly(code) ? "\(code)\u{A0}\(self.amount(number))" : symbol + self.amount(number)
    }

    /// Adds the `…Formatted` members that an attribute lacks.
    func completing(_ attribute: JSONValue) -> JSONValue {
        guard case .object(var members) = attribute else { return attribute }
        switch members["type"]?.string {
        case "AMOUNT":
            self.complete(&members, prefix: nil)
        case "AMOUNT_CONVERSION":
            self.complete(&members, prefix: "source")
            self.complete(&members, prefix: "target")
        default:
            return attribute
        }
        return .object(members)
    }

    private func complete(_ members: inout JSONObject, prefix: String?) {
        func name(_ rest: String) -> String {
            guard let prefix else { return rest.prefix(1).lowercased() + rest.dropFirst() }
            return prefix + rest
        }
        guard let amount = members[name("Amount")]?.number, let code = members[name("Currency")]?.string else { return }
        let formatted = [
            ("AmountFormatted", self.amount(amount)),
            ("CurrencyFormatted", self.currency(code)),
            ("ValueFormatted", self.value(amount, code)),
        ]
        for (member, string) in formatted where members[name(member)] == nil {
            members[name(member)] = .string(string)
        }
    }
}
