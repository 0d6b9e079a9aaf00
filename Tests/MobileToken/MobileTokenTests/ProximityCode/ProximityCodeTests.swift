import Foundation
import MobileTokenScreens
import MobileTokenTesting
import Testing

@Suite struct ProximityCodeTests {
    private static let header = "eyJhbGciOiJub25lIiwidHlwZSI6IkpXVCJ9"

    /// A JWT in Base64 of either alphabet, padded or not.
    private static func token(_ payload: String, url: Bool = true, padded: Bool = false) -> String {
        var text = Data(payload.utf8).base64EncodedString()
        if url { text = text.replacing("+", with: "-").replacing("/", with: "_") }
        if !padded { text = text.replacing("=", with: "") }
        return "\(Self.header).\(text)"
    }

    // MARK: Links

    @Test(
        arguments: [
            ("scheme://operation?oid=6a1cb007&potp=73743194", "6a1cb007", "73743194"),
            ("scheme://operation?oid=6a1cb007&totp=73743194", "6a1cb007", "73743194"),
            ("scheme://operation?potp=73743194&oid=6a1cb007", "6a1cb007", "73743194"),
            ("scheme://operation?oid=6a1cb007", "6a1cb007", nil),
            // The first of several; totp before potp; an empty one is none.
            ("scheme://operation?oid=1&oid=2&totp=3&totp=4", "1", "3"),
            ("scheme://operation?oid=1&potp=2&totp=3", "1", "3"),
            ("scheme://operation?oid=1&potp=2&totp=", "1", "2"),
            ("scheme://operation?oid=1&totp=&totp=2", "1", nil),
            ("scheme://operation?oid=1&totp&potp=", "1", nil),
            // Scheme, host and path are not looked at.
            ("https://example.com/some/path?oid=1", "1", nil),
            ("x://?oid=1", "1", nil),
            ("My-App+1.0://?oid=1", "1", nil),
            ("my_app://o?oid=1", "1", nil),
            // A fragment is no part of a value.
            ("scheme://operation?oid=1&totp=2#fragment", "1", "2"),
            ("scheme://operation?oid=1#&totp=2", "1", nil),
            // Decoded once; a plus stays a plus.
            ("scheme://operation?oid=E%2F%2BDR%3D&totp=12345678", "E/+DR=", "12345678"),
            ("scheme://operation?oid=a+b%2520c", "a+b%20c", nil),
            ("scheme://operation?%6Fid=1", "1", nil),
            ("scheme://operation?oid=a=b", "a=b", nil),
            ("scheme://operation?oid=%C3%A9", "é", nil),
            ("scheme://operation?OID=2&oid=1", "1", nil),
            // oid before code.
            ("scheme://operation?code=abc&oid=1", "1", nil),
            // Split by bytes, never by grapheme.
            ("s://o?oid=1&\u{301}x=2&totp=3", "1", "3"),
            ("s://o?\u{301}a=1&oid=2", "2", nil),
            ("s://o?oid=\u{301}1", "\u{301}1", nil),
            ("s://\u{301}?oid=1", "1", nil),
        ] as [(String, String, String?)]
    )
    func readsLinks(link: String, operationID: String, totp: String?) {
        let expected = ProximityCode(operationID: operationID, totp: totp)
        #expect(ProximityCode(deepLink: link) == expected)
        #expect(ProximityCode(qrCode: link) == expected)
        if let url = URL(string: link) { #expect(ProximityCode(deepLink: url) == expected) }
    }

    @Test(arguments: [
        "", "abc", "operation?oid=1&potp=2", "?oid=1", "://operation?oid=1", "scheme://an-invalid-url.com",
        "scheme://operation?", "scheme://operation?oid=", "scheme://operation?oid",
        "scheme://operation?oid=&code=\(token(#"{"oid":"1"}"#))", " ", "s:o?oid=1", "s://o?o\u{0456}d=1",
        "scheme://operation?OID=1", "scheme://operation#?oid=1", "scheme://operation?totp=1",
        "scheme://operation?code=abc",
        "scheme://operation?code=", "scheme://code=", "scheme://code=abc", "scheme://oid=1",
        "scheme://operation?oid=%zz",
        "scheme://operation?oid=%FF", "scheme://operation?oid=1&totp=%", "a?b://operation?oid=1",
        "s://o?oid=%", "s://o?oid=%z", "s://o?oid=%4", "s://o?oid=a%ff",
        // Control characters.
        "s://o?oid=%00", "s://o?oid=%0A", "s://o?oid=1%0D", "s://o?oid=\u{1}1", "s://o?oid=%7F", "s://o?oid=%C2%85",
        "s://o?oid=1&totp=2%00",
    ])
    func everythingElseIsNil(text: String) {
        #expect(ProximityCode(deepLink: text) == nil)
        #expect(ProximityCode(qrCode: text) == nil)
        if let url = URL(string: text) { #expect(ProximityCode(deepLink: url) == nil) }
    }

    @Test(arguments: [
        "é", "e\u{301}", "a b", "a b%20c", "%C3%A4ä", "[1]|{}", "\u{202E}x", "a%20", "a%zz b",
    ])
    func aTextReadsTheSameAsAStringOrAsAURL(value: String) throws {
        let link = "s://o?oid=\(value)&totp=1"
        let url = try #require(URL(string: link))
        #expect(
            ProximityCode(deepLink: link).map { Array($0.operationID.utf8) }
                == ProximityCode(deepLink: url).map { Array($0.operationID.utf8) }
        )
    }

    @Test(arguments: ["\n", " ", "\r\n", "\t", "\u{A0}"]) func whiteSpaceAroundTheInputIsLeftOut(blank: String) {
        let code = ProximityCode(operationID: "1")
        #expect(ProximityCode(deepLink: "\(blank)s://o?oid=1\(blank)") == code)
        #expect(ProximityCode(qrCode: "\(blank)\(Self.token(#"{"oid":"1"}"#))\(blank)") == code)
    }

    // MARK: Tokens

    @Test(arguments: [true, false], [true, false])
    func readsTokensWhereverTheyStand(url: Bool, padded: Bool) throws {
        // The payload needs the two characters in which the alphabets differ, and padding.
        let token = Self.token(#"{"oid":"3b9edfd2>>>???","potp":"14357458"}"#, url: url, padded: padded)
        let expected = try #require(ProximityCode(operationID: "3b9edfd2>>>???", totp: "14357458"))
        #expect(ProximityCode(qrCode: token) == expected)
        #expect(ProximityCode(qrCode: token + ".") == expected)
        #expect(ProximityCode(qrCode: token + ".c2lnbmF0dXJl") == expected)
        #expect(ProximityCode(qrCode: token + ".\u{301}") == expected)
        #expect(ProximityCode(deepLink: "scheme://operation?code=\(token)") == expected)
        #expect(ProximityCode(qrCode: "scheme://operation?a=b&code=\(token)#fragment") == expected)
        #expect(ProximityCode(deepLink: "scheme://code=\(token)") == expected)
        #expect(ProximityCode(qrCode: "scheme://code=\(token)") == expected)
        for link in ["scheme://operation?code=", "scheme://code="] where url && !padded {
            #expect(ProximityCode(deepLink: try #require(URL(string: link + token))) == expected)
        }
        let encoded = token.replacing("=", with: "%3D").replacing("+", with: "%2B").replacing("/", with: "%2F")
        #expect(ProximityCode(deepLink: "scheme://operation?code=\(encoded)") == expected)
    }

    @Test(
        arguments: [
            (
                "eyJhbGciOiJub25lIiwidHlwZSI6IkpXVCJ9"
                    + ".eyJvaWQiOiIzYjllZGZkMi00ZDgyLTQ3N2MtYjRiMy0yMGZhNWM5OWM5OTMiLCJwb3RwIjoiMTQzNTc0NTgifQ==",
                "3b9edfd2-4d82-477c-b4b3-20fa5c99c993", "14357458"
            ),
            (
                "eyJhbGciOiJub25lIiwidHlwZSI6IkpXVCJ9.eyJvaWQiOiI1YWM0YjNlOC05MjZmLTQ1ZjAtYWUyOC1kMWJjN2U2YjA0OTYifQ==",
                "5ac4b3e8-926f-45f0-ae28-d1bc7e6b0496", nil
            ),
            (
                "eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.eyJvaWQiOiJMRG5JY0NjRGhjRHdHNVNLejhLeWdQeG9PbXh3dHpJc29zMEUrSFBYUHlvIiwic"
                    + "G90cCI6IjU4NTkwMDU5In0",
                "LDnIcCcDhcDwG5SKz8KygPxoOmxwtzIsos0E+HPXPyo", "58590059"
            ),
        ] as [(String, String, String?)]
    )
    func readsTokensOfRealServers(token: String, operationID: String, totp: String?) {
        #expect(ProximityCode(qrCode: token) == ProximityCode(operationID: operationID, totp: totp))
    }

    @Test(
        arguments: [
            (#"{"oid":"1","totp":"2","potp":"3"}"#, "2"), (#"{"oid":"1","totp":"","potp":"3"}"#, "3"),
            (#"{"oid":"1","totp":null,"potp":"3"}"#, "3"), (#"{"oid":"1","iat":1516239022}"#, nil),
            (#"{"oid":"1","potp":""}"#, nil),
        ] as [(String, String?)]
    )
    func theFirstOneTimeCodeThatIsNotEmptyCounts(payload: String, totp: String?) {
        #expect(ProximityCode(qrCode: Self.token(payload)) == ProximityCode(operationID: "1", totp: totp))
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #""oid""#, #"{"oid":""}"#, #"{"oid":1}"#, #"{"oid":null}"#, #"{"potp":"1"}"#,
        #"{"OID":"1"}"#,
        #"{"oid":"1","potp":5}"#, #"{"oid":"1","totp":2}"#, #"{"oid":"1\u0000"}"#, #"{"oid":"1","totp":"2\n"}"#,
        #"{"oid":"1","oid":"2"}"#, #"{"oid":"1""#, "\u{FEFF}{\"oid\":\"1\"}",
    ])
    func payloadsOfAnotherFormAreNil(payload: String) {
        #expect(ProximityCode(qrCode: Self.token(payload)) == nil)
    }

    @Test func tokensOfAnotherFormAreNil() throws {
        let payload = Self.token(#"{"oid":"12"}"#).split(separator: ".")[1]
        #expect(ProximityCode(qrCode: "\(Self.header).\(payload)") != nil)
        for token in [
            ".\(payload)", "\(Self.header).", "\(Self.header)..", "..", ".", "\(payload)", "a.\(payload).c.d",
            "\(Self.header).1\(payload)", "\(Self.header).\(payload)=====", "\(Self.header).\(payload)=a",
            "\(Self.header).\(payload) x", "\(Self.header).=\(payload)", "\(Self.header).é", " ",
        ] {
            #expect(ProximityCode(qrCode: token) == nil, "\(token)")
        }
        let invalid = Data([0x7B, 0x22, 0xFF, 0x22]).base64EncodedString()
        #expect(ProximityCode(qrCode: "\(Self.header).\(invalid)") == nil)
    }

    @Test func anyTextGivesACodeOrNil() {
        var random = SeededGenerator()
        let good = "scheme://operation?oid=1%20&totp=2&code=" + Self.token(#"{"oid":"12","totp":"3"}"#, padded: true)
        for start in [good, String(good.dropFirst(21))] {
            for _ in 0..<2_000 {
                var scalars = Array(start.unicodeScalars)
                for _ in 0...Int.random(in: 0...3, using: &random) {
                    let index = Int.random(in: 0..<scalars.count, using: &random)
                    switch Int.random(in: 0...2, using: &random) {
                    case 0: scalars[index] = Unicode.Scalar(UInt16.random(in: 0..<0xD800, using: &random)) ?? " "
                    case 1: scalars.remove(at: index)
                    default:
                        scalars.insert(
                            Array("?&=#%.:/+".unicodeScalars).randomElement(using: &random) ?? " ",
                            at: index
                        )
                    }
                }
                let text = String(String.UnicodeScalarView(scalars))
                #expect(ProximityCode(qrCode: text)?.operationID.isEmpty != true)
                #expect(ProximityCode(deepLink: text)?.operationID.isEmpty != true)
            }
        }
    }
}
