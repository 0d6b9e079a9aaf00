import MobileToken
import PowerAuth
import Testing

@Suite struct AcceptLanguageTests {
    @Test(arguments: ["en", "cs", "en-GB", "zh-Hant-TW", "*", "cs, en;q=0.8, *;q=0.1", "en ; q=1.000", "de;q=0"])
    func languagesAreAccepted(text: String) throws {
        #expect(try AcceptLanguage(text).description == text)
    }

    @Test(arguments: [
        "", " ", ",", "en,", "e n", "en\r\nX-Header: 1", "čeština", "en;q=2", "en;q=1.5", "en;q=0.1234", "en;q",
        "en;q=",
        "en;level=1", "en;q=1;q=1", "toolonglanguage", "en--GB", "1en", "*-GB", "en\u{0}",
        String(repeating: "en,", count: 100) + "en",
    ])
    func anythingElseIsRefused(text: String) {
        let error = #expect(throws: MobileTokenError.self) { try AcceptLanguage(text) }
        #expect(error?.code == .invalidLanguage)
    }
}
