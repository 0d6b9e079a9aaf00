import APIDescriptions
import ExactJSON
import Testing

/// A call that is described once: a server reads what a client writes.
@Suite struct EndpointTests {
    private struct Part: Described, Equatable {
        var name: String?
        var limit: Int

        static let fields = FieldTable(
            "Part",
            Part.init(name:limit:),
            .optional("name", \.name, .string),
            .preset("limit", \.limit, .integer(1...10), or: 5)
        )
    }

    private static let description = RouteDescription("Orders.", access: .open, refusals: [400])

    private static let order = Endpoint(
        "POST /shops/{shop}/orders/{id}",
        takes: Call.segment("shop"),
        Call.segment("id"),
        Call.query(Part.fields),
        Call.body(Part.form),
        gives: Form<[String]>.list(of: .string),
        description
    )

    private static let renew = Endpoint(
        "POST /renew",
        takes: Call.body(Part.form, or: Part(limit: 7)),
        gives: Form.done,
        description
    )

    @Test func aServerReadsWhatAClientWrites() throws {
        let (query, body) = (Part(name: "1", limit: 2), Part(name: nil, limit: 3))
        let call = Self.order.call(("main", "7", query, body))
        #expect(call.arguments == ["shop": "main", "id": "7"])
        #expect(call.query.map { "\($0.name)=\($0.value)" } == ["name=1", "limit=2"])
        #expect(call.body == ["limit": 3])
        let input = try Self.order.input(call)
        #expect(input.0 == "main" && input.1 == "7" && input.2 == query && input.3 == body)
        #expect(Self.order.output.json(["a"]) == ["a"])
    }

    @Test func theSegmentsOfThePathAreNamed() {
        #expect(Self.order.arguments(["main", "7"]) == ["shop": "main", "id": "7"])
    }

    @Test(arguments: [
        ("limit", "11", "'limit' is not 1 to 10"), ("limit", "many", "'limit' is not a whole number"),
        ("limt", "1", "'limt' is not known here; did you mean 'limit'?"),
    ])
    func whatIsWrongInTheQueryIsNamed(name: String, value: String, message: String) {
        var call = Self.order.call(("main", "7", Part(limit: 1), Part(limit: 1)))
        call.query = [(name, value)]
        let mistake = #expect(throws: Schema.Objection.self) { try Self.order.input(call) }
        #expect(mistake?.message == message)
    }

    @Test func aQueryIsRefusedWhereNoneIsTaken() {
        let mistake = #expect(throws: Schema.Objection.self) { try Self.renew.input(Call(query: [("limit", "1")])) }
        #expect(mistake?.message == "'limit' is not known here")
    }

    private struct Filter: Described, Equatable {
        var color: String?

        static let fields = FieldTable("Filter", Filter.init(color:), .optional("color", \.color, .word))
    }

    @Test func twoTablesShareAQuery() throws {
        let list = Endpoint(
            "GET /orders",
            takes: Call.query(Filter.fields, Part.fields),
            gives: Form.done,
            Self.description
        )
        #expect(list.description.query.map(\.name) == ["color", "name", "limit"])
        let call = list.call((Filter(color: "red"), Part(name: "a", limit: 2)))
        let (filter, part) = try list.input(call)
        #expect(filter == Filter(color: "red") && part == Part(name: "a", limit: 2))
        let wrong = [
            ("colour", "red", "'colour' is not known here; did you mean 'color'?"),
            ("limit", "11", "'limit' is not 1 to 10"),
            ("color", "", "'color' is empty"),
        ]
        for (name, value, message) in wrong {
            let mistake = #expect(throws: Schema.Objection.self) { try list.input(Call(query: [(name, value)])) }
            #expect(mistake?.message == message)
        }
    }

    @Test func aBodyMayBeLeftOutWhereTheCallSaysSo() throws {
        #expect(try Self.renew.input(Call()) == Part(limit: 7))
        #expect(Self.renew.description.request?.isRequired == false)
        #expect(throws: Schema.Objection.self) {
            try Self.order.input(Self.order.call(("", "", Part(limit: 1), Part(limit: 0))))
        }
        #expect(Self.order.description.query.map(\.name) == ["name", "limit"])
    }
}
