import ExactJSON
import Foundation
import MobileToken
import Testing

/// Operations whose texts say what gets signed, in the languages of the world: none of them leaves a doubt.
@Suite struct HonestOperationTests {
    private typealias Made = ReviewedOperation

    private static let amounts = ["1", "20", "999.95", "1949", "12345.5", "1234567.89", "0.5", "250000000"]
        .compactMap { Decimal(string: $0) }
    private static let currencies = [
        "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HUF", "ILS", "INR", "JPY", "KRW", "KWD", "MXN",
        "NOK", "PLN", "RON", "SEK", "THB", "TRY", "UAH", "USD", "ZAR",
    ]
    /// Without the languages in which ICU writes groups of two digits or with letters between them.
    private static let locales = Locale.availableIdentifiers.filter {
        !$0.contains("_") && !["tok", "gez"].contains($0)
    }
    .map(Locale.init(identifier:))

    /// Texts with numbers that are neither amounts nor accounts.
    private static let texts = [
        "Invoice 2026-1234 of 28.11.2026", "Order no. 12 345, 3 items", "Call +420 777 123 456 or 800 123 456",
        "From 192.168.100.200 at 14.30", "Reference RF18 5390 0754 7034", "Version 1.10.2, 12/2026, 50 %", "Room 101",
        "3f2c0d1e-4ad2-4b1c-9d3e-1234567890ab", "VS 2026112801, KS 0308", "24 h, 7 days, 100 km, 5 GB, 10 MB/s",
        "Visa **** 1234, 12/29", "2 for 1", "Top 10 of all", "https://example.com/pay?id=20260101&n=3", "1st of 3",
        "All 3 devices, try 2 times", "Prague 1, 110 00", "Chip-Karte 12 34 56", "A4 & B5 <b>ok</b>",
    ]

    @Test func anAmountIsItselfInEveryLanguage() throws {
        var count = 0
        for currency in Self.currencies {
            for locale in Self.locales {
                let amount = Self.amounts[count % Self.amounts.count].rounded(to: currency)
                let format = Decimal.FormatStyle.Currency(code: currency).locale(locale)
                let value = amount.formatted(format.precision(.fractionLength(0...3)))
                let symbol = (0 as Decimal).formatted(format.precision(.fractionLength(0))).filter { !$0.isNumber }
                let attribute = Made.amount(
                    .number(try #require(JSONNumber(amount))),
                    .string(currency),
                    [
                        "amountFormatted": .string(
                            amount.formatted(.number.locale(locale).precision(.fractionLength(0...3)))
                        ),
                        "currencyFormatted": .string(symbol.trimmingCharacters(in: .whitespaces)),
                        "valueFormatted": .string(value),
                    ]
                )
                let review = try Made.review([attribute, Made.account], data: "A1*A\(amount)\(currency)*I\(Made.iban)")
                #expect(review.doubts == [], "\(locale.identifier) \(currency) \(value)")
                count += 1
            }
        }
        #expect(count > 4_000)
    }

    @Test func numbersInTextsAreNoAmountsAndNoAccounts() throws {
        for text in Self.texts {
            let note: JSONValue = ["type": "NOTE", "id": "n", "label": "Note", "note": .string(text)]
            let doubts = try Made.review([Made.amount(), Made.account, note, Made.keyValue(text, id: "x")]).doubts
            #expect(doubts == [], "\(text)")
        }
    }

    @Test(arguments: [
        "Pay 10 CZK", "10,00 Kč", "CZK 10.00", "10 korun", "10,- Kč",
        "Zaplaťte 10,00 Kč na účet CZ55 0800 0000 0012 3456 7899.",
        "Amount: 10.00 CZK (ten crowns)", "10Kč", "-10,00 Kč", "Kč 10", "10 czk to 1234567899/0800",
        "<b>10&nbsp;CZK</b>",
        "Invoice 2026 10 CZK", "10 CZK/month", "VS 2026, 10 CZK", "\u{661}\u{660} CZK",
    ]) func theSignedAmountMayBeInATextInAnyForm(text: String) throws {
        let note: JSONValue = ["type": "NOTE", "id": "n", "label": "Note", "note": .string(text)]
        #expect(try Made.review([Made.amount(), Made.account, note]).doubts == [])
    }
}

extension Decimal {
    /// The amount as far as the currency has it.
    fileprivate func rounded(to currency: String) -> Decimal {
        var (value, result) = (self, Decimal())
        NSDecimalRound(&result, &value, ["JPY", "KRW"].contains(currency) ? 0 : 2, .up)
        return result
    }
}
