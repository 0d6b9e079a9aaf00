import ExactJSON
import Testing

@Suite(.timeLimit(.minutes(5))) struct JSONParsingTests {
    @Test(
        arguments: [
            ("null", JSONValue.null),
            (" \t\r\n true ", true),
            ("false", false),
            ("0", 0),
            ("-12", -12),
            (#""""#, ""),
            ("[]", []),
            ("{}", [:]),
            ("[1, [2, []], {}]", [1, [2, []], [:]]),
            (#"{"a":{"b":[null]},"c":"d"}"#, ["a": ["b": [nil]], "c": "d"]),
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{08}\u{0C}\n\r\t"),
            (#""\u0041\u00e9\u20AC""#, "Aé€"),
            (#""\ud83d\ude00""#, "😀"),
            (#""Žluťoučký 名前 😀""#, "Žluťoučký 名前 😀"),
        ] as [(String, JSONValue)]
    )
    func readsEveryKindOfValue(text: String, value: JSONValue) throws {
        #expect(try JSONValue(parsing: text) == value)
    }

    @Test(arguments: [
        ("", JSONError.Reason.unexpectedEnd, 0),
        ("   ", .unexpectedEnd, 3),
        ("nul", .unexpectedEnd, 3),
        ("nulL", .unexpectedCharacter, 3),
        ("True", .unexpectedCharacter, 0),
        ("1 2", .unexpectedCharacter, 2),
        ("[1,]", .unexpectedCharacter, 3),
        ("[,1]", .unexpectedCharacter, 1),
        ("[1 2]", .unexpectedCharacter, 3),
        ("[1", .unexpectedEnd, 2),
        ("]", .unexpectedCharacter, 0),
        ("[}", .unexpectedCharacter, 1),
        ("{]", .unexpectedCharacter, 1),
        (#"{"a"}"#, .unexpectedCharacter, 4),
        (#"{"a":}"#, .unexpectedCharacter, 5),
        (#"{"a":1,}"#, .unexpectedCharacter, 7),
        (#"{a:1}"#, .unexpectedCharacter, 1),
        (#"{1:1}"#, .unexpectedCharacter, 1),
        (#"{"a":1 "b":2}"#, .unexpectedCharacter, 7),
        (#"{"a":1"#, .unexpectedEnd, 6),
        ("'a'", .unexpectedCharacter, 0),
        ("// a", .unexpectedCharacter, 0),
        ("NaN", .unexpectedCharacter, 0),
        ("Infinity", .unexpectedCharacter, 0),
        ("+1", .unexpectedCharacter, 0),
        (".5", .unexpectedCharacter, 0),
        ("01", .invalidNumber, 0),
        ("-", .invalidNumber, 0),
        ("-01", .invalidNumber, 0),
        ("1.", .invalidNumber, 0),
        ("1.e5", .invalidNumber, 0),
        ("1e", .invalidNumber, 0),
        ("1e+", .invalidNumber, 0),
        ("0x10", .unexpectedCharacter, 1),
        (#""abc"#, .unexpectedEnd, 4),
        (#""\x""#, .invalidEscape, 1),
        (#""\u12G4""#, .invalidEscape, 1),
        (#""\u12"#, .invalidEscape, 1),
        (#""\"#, .invalidEscape, 1),
        ("\"a\nb\"", .controlCharacter, 2),
        ("\"\u{0}\"", .controlCharacter, 1),
        ("\u{FEFF}1", .unexpectedCharacter, 0),
        (#"["a",{"b":"\ud800"}]"#, .unpairedSurrogate, 10),
        (#""\ud800\u0041""#, .unpairedSurrogate, 0),
        (#""\udc00""#, .unpairedSurrogate, 0),
        (#"{"\ud800":1}"#, .unpairedSurrogate, 1),
    ])
    func namesTheMistakeAndItsPlace(text: String, reason: JSONError.Reason, offset: Int) {
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }

    @Test(
        arguments: [
            [0x80], [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE2, 0x82],
            [0xED, 0xA0, 0x80], [0xEF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
        ] as [[UInt8]]
    )
    func refusesWhatIsNotUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22] + bytes + [0x22]) }
        // Also where the document ends inside the sequence.
        #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22] + bytes) }
    }

    @Test(arguments: ["\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}"])
    func takesTheFirstAndLastCharactersOfEachLength(character: String) throws {
        #expect(try JSONValue(parsing: "\"\(character)\"").string == character)
    }

    @Test func refusesANestingBombAtItsLimit() throws {
        let deepest = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        #expect(throws: Never.self) { try JSONValue(parsing: deepest) }
        for bomb in [String(repeating: "[", count: 1_000_000), String(repeating: #"{"a":"#, count: 300_000)] {
            let error = #expect(throws: JSONError.self) { try JSONValue(parsing: bomb) }
            #expect(error?.reason == .tooDeep)
        }
        #expect(JSONLimits(maximumDepth: 1_000_000).maximumDepth == 512)
    }

    @Test func refusesMoreBytesThanAllowed() throws {
        let limits = JSONLimits(maximumByteCount: 4)
        #expect(throws: Never.self) { try JSONValue(parsing: "[12]", limits: limits) }
        let error = #expect(throws: JSONError.self) { try JSONValue(parsing: "[123]", limits: limits) }
        #expect(error?.reason == .tooLarge)
    }

    @Test func takesALongString() throws {
        let text = String(repeating: "é\\n", count: 400_000)
        #expect(try JSONValue(parsing: "\"\(text)\"").string?.utf8.count == 1_200_000)
    }

    @Test func keepsTheOrderOfMembersAndReportsRepeatedNames() throws {
        let object = try #require(try JSONValue(parsing: #"{"b":1,"a":2,"\u0062":3,"c":4,"b":5}"#).object)
        #expect(object.keys == ["b", "a", "b", "c", "b"])
        #expect(object.duplicateKeys == ["b"])
        #expect(object["b"] == 5)
        #expect(object["d"] == nil)
    }

    @Test func viewsTellARepeatedNameFromAnAbsentOne() throws {
        let root = try JSONDocument(parsing: Array(#"{"a":1,"\u0061":2,"b":null}"#.utf8)).root
        guard case .repeated = root.member("a") else {
            Issue.record("an escaped name is the same name")
            return
        }
        #expect(root["a"] == nil)
        #expect(root["b"]?.isNull == true)
        #expect(root["c"] == nil)
        #expect(root["b"]?["x"] == nil)
    }

    @Test func viewsGiveTheBytesAsWritten() throws {
        let root = try JSONDocument(parsing: Array(#" { "a" : [ 1.50 , "x\n" ] } "#.utf8)).root
        #expect(String(decoding: root.bytes, as: UTF8.self) == #"{ "a" : [ 1.50 , "x\n" ] }"#)
        let elements = try #require(root["a"]).elements.map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(elements == ["1.50", #""x\n""#])
    }
}
