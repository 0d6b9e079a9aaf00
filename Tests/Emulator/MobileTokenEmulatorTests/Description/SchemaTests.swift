import APIDescriptions
import ExactJSON
import Testing

@Suite struct SchemaTests {
    private static let order = Schema.object(
        "Order",
        [
            .required("userId", .word), .optional("kind", .oneOf(["LARGE", "SMALL"])),
            .optional("count", .integer(1...9)),
            .optional("items", .list(of: .object([.required("name", .word)]))), .optional("more", .open()),
            .optional("labels", .object([], others: .string)), .optional("flag", .boolean),
            .optional("share", .number(0...1)),
        ]
    )

    @Test(arguments: [
        (#"{"userId":"a"}"#, nil),
        (#"{"userId":"a","kind":null,"items":[],"more":{"x":[1]},"labels":{"a":"b"},"share":0.5}"#, nil),
        (#"{}"#, "'userId' is missing"),
        (#"{"userId":""}"#, "'userId' is missing"),
        (#"{"userId":null}"#, "'userId' is not a string"),
        (#"{"usrId":"a"}"#, "'usrId' is not known here; did you mean 'userId'?"),
        (
            #"{"zzzzzzzzzz":"a"}"#,
            "'zzzzzzzzzz' is not known here: there are userId, kind, count, items, more, labels, flag, share"
        ),
        (#"{"userId":"a","userId":"b"}"#, "'userId' is given twice"),
        (#"{"userId":"a","kind":"small"}"#, "'kind' is none of LARGE, SMALL"),
        (#"{"userId":"a","kind":"SMALL\u0301"}"#, "'kind' is none of LARGE, SMALL"),
        (#"{"userId":"a","count":0}"#, "'count' is not 1 to 9"),
        (#"{"userId":"a","count":1.5}"#, "'count' is not a whole number"),
        (#"{"userId":"a","count":99999999999999999999}"#, "'count' is not a whole number"),
        (#"{"userId":"a","items":{}}"#, "'items' is not a list"),
        (
            #"{"userId":"a","items":[{"name":"x"},{"nam":"y"}]}"#,
            "'items[1].nam' is not known here; did you mean 'name'?"
        ),
        (#"{"userId":"a","labels":{"x":1}}"#, "'labels.x' is not a string"),
        (#"{"userId":"a","more":[]}"#, "'more' is not an object"),
        (#"{"userId":"a","flag":"true"}"#, "'flag' is not true or false"),
        (#"{"userId":"a","share":2}"#, "'share' is not 0.0 to 1.0"),
        (#"{"userId":"a","share":1e999}"#, "'share' is not 0.0 to 1.0"),
        (#"[]"#, "The body is not an object"),
    ])
    func whatIsWrongIsSaidByName(json: String, objection: String?) throws {
        #expect(try Self.order.objection(to: JSONValue(parsing: json)) == objection)
    }

    @Test func aTolerantReaderIsToldWhatItIgnored() throws {
        let members: [Schema.Member] = [.required("userId", .word), .optional("items", .list(of: Self.order))]
        let schema = Schema.named("Order", .tolerant(.object(members)))
        let given = try JSONValue(parsing: #"{"userID":"b","userId":"a","items":[{"userId":"x","odd":1}],"zzz":{}}"#)
        let (known, unknown) = schema.withoutUnknown(given)
        #expect(known.object?.keys == ["userId", "items"])
        #expect(unknown.map(\.name) == ["userID", "zzz"] && unknown.map(\.suggestion) == ["userId", nil])
        // Objects that stand deeper are checked as strictly as ever, and so is every call that does not ask for leniency.
        #expect(schema.mistake(in: known)?.member == "items[0].odd")
        #expect(schema.objection(to: given) == "'userID' is not known here; did you mean 'userId'?")
        #expect(schema.withoutUnknown("text").known == "text")
    }

    @Test func aNameOfAnyLengthIsRefusedInFewWords() throws {
        let name = String(repeating: "userId", count: 100_000)
        let objection = try #require(Self.order.objection(to: .object(JSONObject([.init(key: name, value: 1)]))))
        #expect(objection.utf8.count < 300)
    }

    @Test func itsJSONSchemaSaysTheSame() throws {
        let json = Schema.object([.required("id", .word, "Which."), .optional("kind", .oneOf(["A"]))]).json
        #expect(
            JSONValue.object(json)
                == [
                    "type": "object", "required": ["id"],
                    "properties": [
                        "id": ["type": "string", "minLength": 1, "description": "Which."],
                        "kind": ["type": ["string", "null"], "enum": ["A", .null]],
                    ],
                    "additionalProperties": false,
                ]
        )
        #expect(JSONValue.object(Self.order.json) == ["$ref": "#/components/schemas/Order"])
        #expect(Schema.list(of: Self.order).namedForms.map(\.name) == ["Order"])
    }
}
