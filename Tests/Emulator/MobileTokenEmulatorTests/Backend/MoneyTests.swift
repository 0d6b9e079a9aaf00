import ExactJSON
import Testing

@testable import EmulatorBackend

/// Numbers and languages as amounts are written with them. `RecordingTests` has the amounts themselves.
@Suite struct MoneyTests {
    /// "money not a number 'abc'" and its like.
    @Test(arguments: ["abc", "1,5", "1 000", "", " 5", "0x10", "NaN", "1949.00 CZK", "1_000", "1d", "-", "1e"])
    func whatIsNoNumberIsShownAsItIs(text: String) {
        let members = MonetaryFormat.members(text, "CZK", for: .english) { $0 }
        #expect(members["Amount"] == nil && members["AmountFormatted"] == .string(text))
        #expect(members["ValueFormatted"] == .string(text + " CZK") && members["CurrencyFormatted"] == "CZK")
    }

    /// The number as it is sent beside its notation.
    @Test(arguments: [
        ("1949.00", "1949.00"), ("1e3", "1E+3"), ("1E-3", "0.001"), ("0.000000000000000001", "1E-18"), ("-0", "0"),
        ("00012.50", "12.50"), ("+5", "5"), (".5", "0.5"), ("5.", "5"), ("\u{663}", "3"), ("1e99999", "1E+99999"),
    ])
    func numbersKeepTheirDigits(text: String, literal: String) { #expect(JavaDecimal(text)?.description == literal) }

    /// "language … Accept-Language …": the highest weight counts, and a weight that cannot be read does not.
    @Test(
        arguments: [
            (nil, "en"), ("", "en"), ("cs;q=0.5, de", "de"), ("de;q=0, cs", "cs"), ("fr;q=1, cs;q=0.9", "fr"),
            (" cs", "cs"),
            (",cs", "cs"), ("cs,", "cs"), ("cs;q=1.5", "en"), ("cs;q=abc", "en"), ("*", ""), ("c", ""), ("x-cs", ""),
            ("cs_CZ", ""), ("garbage!!", ""), ("CS", "cs"), ("en-US,en;q=0.9,cs;q=0.8", "en"), ("zh-Hant-TW", "zh"),
        ] as [(String?, String)]
    )
    func theLanguageOfAReaderIsReadAsRealServersReadIt(field: String?, language: String) {
        #expect(ReaderLocale(acceptLanguage: field).language == language)
    }
}
