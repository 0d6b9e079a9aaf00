import Basics
import Testing

@Suite struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b+c", "a%20b%2Bc"), ("é\u{0}%", "%C3%A9%00%25"),
        ("a\u{301}", "a%CC%81"),
    ])
    func allButTheUnreservedIsEncoded(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decodeForm(encoded.utf8) == Array(text.utf8))
    }

    @Test func whatIsLeftCanBeChosen() {
        #expect(PercentEncoding.encode("a/b~", leaving: "/") == "a/b%7E")
    }

    @Test(arguments: [
        ("a+b", "a b"), ("%41%4a%4A", "AJJ"), ("%", nil), ("%4", nil), ("%4g", nil), ("%%41", nil), ("a%4", nil),
    ])
    func aFormIsDecodedOrNotAtAll(text: String, decoded: String?) {
        #expect(PercentEncoding.decodeForm(text.utf8) == decoded.map { Array($0.utf8) })
    }
}
