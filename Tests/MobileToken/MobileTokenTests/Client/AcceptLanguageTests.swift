import MobileToken
import PowerAuth
import Testing

@Suite struct AcceptLanguageTests {
    @Test(arguments: ["en", "cs", "zh-Hant", "*", "cs, en;q=0.8, *;q=0.1", "en ; q=1.000", "de;q=0"])
    func languagesAreAccepted(text: String) throws {
        #expect(try MobileTokenClient.AcceptLanguage(text).description == text)
    }

    /// Row `money CZK en-GB` and its like: with a region, an amount gets the region's currency.
    @Test(arguments: [
        ("en-GB", "en"), ("zh-Hant-TW", "zh-Hant"), ("cs-CZ, en-US;q=0.8", "cs, en;q=0.8"), ("es-419", "es"),
        ("de-AT ;q=1", "de;q=1"),
        ("en-u-cu-jpy", "en"),
    ])
    func aRegionIsNotAskedFor(text: String, sent: String) throws {
        #expect(try MobileTokenClient.AcceptLanguage(text).description == sent)
    }

    @Test(arguments: [
        "", " ", ",", "0.8", "en\r\nX-Header: 1", "en\n", "en\t", "čeština", "en\u{301}", "en_GB", "\"en\"", "en\u{0}",
        String(repeating: "en,", count: 100) + "en",
    ])
    func anythingElseIsRefused(text: String) {
        let error = #expect(throws: MobileTokenError.self) { try MobileTokenClient.AcceptLanguage(text) }
        #expect(error?.code == .invalidLanguage)
    }
}
