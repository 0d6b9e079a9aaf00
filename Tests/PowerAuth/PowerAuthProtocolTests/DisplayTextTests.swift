import Basics
import ExactJSON
import Testing

@Suite struct DisplayTextTests {
    @Test(arguments: [
        ("Žluťoučký kůň 🐎 ❤️ 日本", "Žluťoučký kůň 🐎 ❤️ 日本"),
        ("a\u{1B}[2Jb", #"a\u{1B}[2Jb"#),
        ("\u{1B}]0;title\u{7}", #"\u{1B}]0;title\u{7}"#),
        ("one\r\ntwo\tthree\r", #"one\r\ntwo\tthree\r"#),
        ("\0\u{7F}\u{9B}31m", #"\u{0}\u{7F}\u{9B}31m"#),
        ("evil\u{202E}gpj\u{2066}x\u{2069}\u{200F}\u{61C}", #"evil\u{202E}gpj\u{2066}x\u{2069}\u{200F}\u{61C}"#),
        ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#),
        (
            "z\u{200B}\u{200D}\u{2060}\u{FEFF}\u{AD}\u{3164}\u{E0041}",
            #"z\u{200B}\u{200D}\u{2060}\u{FEFF}\u{AD}\u{3164}\u{E0041}"#
        ),
        ("\r\u{301}", "\\r\u{301}"),
    ])
    func whatIsNotPlainlyVisibleIsEscaped(text: String, shown: String) {
        #expect(DisplayText.escaped(text) == shown)
        #expect(DisplayText.escaped(text).unicodeScalars.allSatisfy { !DisplayText.isUnsafe($0) })
    }

    @Test func longStringsAreCutAndSayByHowMuch() {
        #expect(DisplayText.escaped("abcdef", limit: 6) == "abcdef")
        #expect(DisplayText.escaped("abcdefg", limit: 6) == "abcdef… (1 more)")
        #expect(DisplayText.escaped(String(repeating: "e\u{301}", count: 1_000)).unicodeScalars.count < 320)
    }

    @Test func JSONStillMeansTheSame() throws {
        let value: JSONValue = ["k\u{85}": "a\u{202E}b\u{E0041}\u{2028}\n\u{1B}ž"]
        let shown = DisplayText.escaped(json: String(decoding: value.serialized(), as: UTF8.self))
        #expect(shown.unicodeScalars.allSatisfy { !DisplayText.isUnsafe($0) })
        #expect(try JSONValue(parsing: shown) == value)
    }
}

@Suite struct ExactStringTests {
    @Test(arguments: [("é", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}"), ("a", "a\0"), ("Å", "\u{212B}")])
    func onlyTheSameBytesAreTheSameText(one: String, other: String) throws {
        #expect(ExactString(one) == ExactString(one))
        #expect(ExactString(one) != ExactString(other))
        #expect([ExactString(one): 1][ExactString(other)] == nil)
        #expect(JSONValue.string(one) != .string(other))
        let object = JSONObject([.init(key: one, value: 1), .init(key: other, value: 2)])
        #expect(object.duplicateKeys.isEmpty)
        #expect(object[one] == 1)
        #expect(object[other] == 2)
        #expect(JSONValue.object([one: 1]) != .object([other: 1]))
        let document = try JSONDocument(parsing: JSONValue.object(object).serialized())
        #expect(document.root[one]?.number?.int64 == 1)
    }

    @Test func anEscapedNameIsMatchedExactlyToo() throws {
        let document = try JSONDocument(parsing: Array(#"{"\u212Aey":1,"k\u0065y":2}"#.utf8))
        #expect(document.root["Key"] == nil)
        #expect(document.root["key"]?.number?.int64 == 2)
    }

    @Test func valuesHaveALimit() {
        let zeros = Array(("[0" + String(repeating: ",0", count: 99) + "]").utf8)
        #expect(throws: JSONError.self) { try JSONValue(parsing: zeros, limits: JSONLimits(maximumValueCount: 50)) }
        #expect(throws: Never.self) { try JSONValue(parsing: zeros, limits: JSONLimits(maximumValueCount: 101)) }
    }
}
