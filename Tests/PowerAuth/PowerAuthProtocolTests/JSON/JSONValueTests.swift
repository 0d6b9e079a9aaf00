import ExactJSON
import Foundation
import Testing

@Suite struct JSONValueTests {
    // MARK: Numbers

    @Test(arguments: [
        "0", "-0", "100", "100.00", "2199.40", "965165234082.23", "1234567890123456789", "-9223372036854775808",
        "0.123456789012345678", "1234567890123456789.123456789012345678", "99999999999999999999999999999999999999",
        "1e3", "1.5E-7", "0.00", "1E+2",
    ])
    func numbersKeepTheirDigits(literal: String) throws {
        let number = try #require(try JSONValue(parsing: literal).number)
        #expect(number.literal == literal)
        #expect(number.decimal == Decimal(string: literal))
        #expect(JSONValue.number(number).serialized() == Array(literal.utf8))
    }

    @Test func decimalsAreExactOrNil() throws {
        func decimal(_ literal: String) throws -> Decimal? { try #require(JSONNumber(literal: literal)).decimal }
        #expect(try decimal("2199.40")?.description == "2199.4")
        #expect(try decimal("0.1")! + decimal("0.2")! == decimal("0.3")!)
        // 39 digits do not fit; zeros on either side are no digits.
        #expect(try decimal("999999999999999999999999999999999999999") == nil)
        #expect(try decimal("0.100000000000000000000000000000000000001") == nil)
        #expect(try decimal("1.00000000000000000000000000000000000000000") == 1)
        #expect(try decimal("0.00000000000000000000000000000000000000000000001") == Decimal(string: "1e-47"))
        #expect(try decimal("1e128") == nil)
        #expect(try decimal("1e-129") == nil)
        #expect(try decimal("1e99999999999999999999") == nil)
        #expect(try decimal("0e99999999999999999999") == 0)
        #expect(try decimal("-0.000") == 0)
    }

    @Test(
        arguments: [
            ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("9223372036854775808", nil),
            ("5.0", 5),
            ("5e2", 500), ("0.5e1", 5), ("-0", 0), ("-1.50e2", -150), ("5.5", nil), ("1e19", nil), ("1e-1", nil),
            ("1e999999999999999999999", nil), ("0e999999999999999999999", 0),
        ] as [(String, Int64?)]
    )
    func wholeNumbersAreExactOrNil(literal: String, value: Int64?) throws {
        #expect(try #require(JSONNumber(literal: literal)).int64 == value)
    }

    @Test(arguments: ["", " 1", "1 ", "01", "1.", ".1", "+1", "1e", "abc", "NaN", "1,5", "--1", "٣"])
    func onlyNumbersAreLiterals(text: String) {
        #expect(JSONNumber(literal: text) == nil)
    }

    @Test func numbersComeFromSwiftValues() {
        #expect(JSONNumber(UInt64.max).literal == "18446744073709551615")
        #expect(JSONNumber(Decimal(string: "0.10")!)?.literal == "0.1")
        #expect(JSONNumber(Decimal.nan) == nil)
        #expect(JSONNumber(Double.infinity) == nil)
        #expect(JSONNumber(0.5)?.double == 0.5)
    }

    // MARK: Objects

    @Test func objectsAreEqualInAnyOrder() {
        let one: JSONValue = ["a": 1, "b": [2, 3]]
        let other: JSONValue = ["b": [2, 3], "a": 1]
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        #expect(one != ["a": 1, "b": [3, 2]])
        #expect(one != ["a": 1])
        #expect(JSONValue.object(["a": 1, "a": 2]) != .object(["a": 2, "a": 1]))
    }

    @Test func membersAreSetInPlaceAndRemoved() {
        var object: JSONObject = ["a": 1, "b": 2]
        object["a"] = 3
        object["c"] = 4
        #expect(JSONValue.object(object).serialized() == Array(#"{"a":3,"b":2,"c":4}"#.utf8))
        object["a"] = nil
        #expect(object.keys == ["b", "c"])
    }

    @Test func lookingInsideNeverFails() {
        let value: JSONValue = ["list": [1, "two", nil, true, 1.5]]
        #expect(value["list"]?[0]?.int64 == 1)
        #expect(value["list"]?[1]?.string == "two")
        #expect(value["list"]?[2]?.isNull == true)
        #expect(value["list"]?[3]?.bool == true)
        #expect(value["list"]?[4]?.decimal == 1.5)
        #expect(value["list"]?[5] == nil)
        #expect(value["list"]?[-1] == nil)
        #expect(value["list"]?["x"] == nil)
        #expect(value[0] == nil)
    }

    // MARK: Writing

    @Test func writesOnlyTheEscapesThatMustBe() throws {
        let value: JSONValue = "\" \\ / \n \t \r \u{08} \u{0C} \u{01} \u{1F} \u{7F} é 😀 \u{2028}"
        let text = "\"\\\" \\\\ / \\n \\t \\r \\b \\f \\u0001 \\u001f \u{7F} é 😀 \u{2028}\""
        #expect(String(decoding: value.serialized(), as: UTF8.self) == text)
        #expect(try JSONValue(parsing: value.serialized()) == value)
    }

    @Test func writesWhatItRead() throws {
        let text = #"{"b":[1.50,-0,1E+2],"a":{"b":null,"b":false},"":""}"#
        #expect(String(decoding: try JSONValue(parsing: text).serialized(), as: UTF8.self) == text)
    }

    // MARK: Codable

    private struct Custom: Codable, Equatable {
        var amount: Decimal
        var when: Date
        var nested: [String: Int]
        var rest: JSONValue?
    }

    @Test func decodesTypesWithEveryDigit() throws {
        let json = try JSONValue(
            parsing: #"""
                {"amount":1234567890123456789.123456789012345678,"when":"2018-07-02T16:43:13.5+02:00","nested":{"a":1},
                "rest":{"x":[true,null,"s",0.1]}}
                """#
        )
        let custom = try json.decode(Custom.self)
        #expect(custom.amount == Decimal(string: "1234567890123456789.123456789012345678"))
        #expect(custom.when.timeIntervalSince1970 == 1_530_542_593.5)
        #expect(custom.rest == ["x": [true, nil, "s", 0.1]])
        let incomplete: JSONValue = ["amount": 1]
        #expect(throws: DecodingError.self) { try incomplete.decode(Custom.self) }
        let withoutOffset: JSONValue = ["amount": 1, "when": "2018-07-02T16:43:13", "nested": [:]]
        #expect(throws: DecodingError.self) { try withoutOffset.decode(Custom.self) }
        #expect(try json.decode(JSONValue.self) == json)
    }

    @Test func encodesTypes() throws {
        let when = Date(timeIntervalSince1970: 1_530_542_593)
        let custom = Custom(amount: Decimal(string: "0.10")!, when: when, nested: ["b": 2, "a": 1], rest: nil)
        #expect(
            try JSONValue(encoding: custom)
                == ["amount": 0.1, "when": "2018-07-02T14:43:13+0000", "nested": ["a": 1, "b": 2]]
        )
    }

    @Test func passesThroughOtherCoders() throws {
        let value: JSONValue = ["a": [1, -2.5, "x", true, nil], "b": ["c": 123_456_789_012_345_678]]
        #expect(try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value)) == value)
        let long = JSONValue.number(try #require(JSONNumber(literal: String(repeating: "9", count: 50))))
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(long) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(JSONObject.self, from: Data("[1]".utf8)) }
    }
}
