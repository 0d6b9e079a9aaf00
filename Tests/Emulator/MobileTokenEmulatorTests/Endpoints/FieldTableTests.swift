import APIDescriptions
import ExactJSON
import Foundation
import Testing

/// One table of a struct's fields: what is read, refused, written and described follows from it.
@Suite struct FieldTableTests {
    private enum Size: String, CaseIterable, Sendable { case large, small }

    private struct Item: Described, Equatable {
        var name: String

        static let fields = FieldTable("Item", Item.init(name:), .required("name", \.name, .word, example: "pen"))
    }

    private struct Order: Described, Equatable {
        var userID: String
        var size: Size?
        var count: Int
        var items: [Item]
        var due: Date?

        static let fields = FieldTable(
            "Order",
            Order.init(userID:size:count:items:due:checked:),
            .required("userId", \.userID, .word, "The customer.", example: "alice"),
            .optional("size", \.size, .cases()),
            .preset("count", \.count, .integer(1...9), or: 1, example: 2, unit: .steps),
            .preset("items", \.items, .list(of: .described), or: []),
            .optional("due", \.due, .date),
            .optional("checked", \.checked, .boolean)
        )

        private var checked: Bool? { nil }

        /// Refuses what its members do not show one by one.
        init(
            userID: String,
            size: Size?,
            count: Int,
            items: [Item],
            due: Date?,
            checked: Bool?
        ) throws(Schema.Objection) {
            guard size != .small || count == 1 else { throw .init(member: "count", hint: "is too many") }
            (self.userID, self.size, self.count, self.items, self.due) = (userID, size, count, items, due)
        }
    }

    private struct Delivery: Described {
        var order: Order

        static let fields = FieldTable("Delivery", Delivery.init(order:), .required("order", \.order, .described))
    }

    private static func read(_ json: String) throws -> Order { try Order(json: JSONValue(parsing: json)) }

    @Test func membersThatAreLeftOutHaveTheirDefaults() throws {
        let order = try Self.read(#"{"userId":"alice","size":null}"#)
        #expect(order.size == nil && order.count == 1 && order.items.isEmpty && order.due == nil)
    }

    @Test func whatWasWrittenIsReadAsTheSameAgain() throws {
        let json = #"{"userId":"a","size":"large","count":2,"items":[{"name":"x"}],"due":"2026-03-01T08:00:00.250Z"}"#
        let order = try Self.read(json)
        #expect(order.items == [Item(name: "x")] && order.size == .large)
        #expect(order.json == (try JSONValue(parsing: json)))
        #expect(try Order(json: order.json) == order)
    }

    @Test(arguments: [
        (#"{}"#, "'userId' is missing"),
        (#"{"userId":"a","size":"huge"}"#, "'size' is none of large, small"),
        (#"{"userId":"a","count":10}"#, "'count' is not 1 to 9"),
        (#"{"userId":"a","items":[{"name":"x"},{"name":""}]}"#, "'items[1].name' is missing"),
        (#"{"userId":"a","items":[{"name":"x","name":"y"}]}"#, "'items[0].name' is given twice"),
        (#"{"userId":"a","itms":[]}"#, "'itms' is not known here; did you mean 'items'?"),
        (#"{"userId":"a","due":"tomorrow"}"#, "'due' is not an ISO 8601 date"),
        (#"{"userId":"a","size":"small","count":2}"#, "'count' is too many"),
        (#"[]"#, "The body is not an object"),
    ])
    func theFirstMistakeIsNamed(json: String, message: String) throws {
        let mistake = #expect(throws: Schema.Objection.self) { try Self.read(json) }
        #expect(mistake?.message == message)
    }

    @Test func aMistakeIsFoundByItsPlace() throws {
        let json = try JSONValue(parsing: #"{"order":{"userId":"a","due":"tomorrow"}}"#)
        let mistake = #expect(throws: Schema.Objection.self) { try Delivery(json: json) }
        #expect(mistake?.member == "order.due" && mistake?.place == [0, 1])
        let other = try JSONValue(parsing: #"{"order":{"userId":"a","size":"small","count":2}}"#)
        let rule = #expect(throws: Schema.Objection.self) { try Delivery(json: other) }
        #expect(rule?.member == "order.count" && rule?.place == [0])
    }

    @Test func theDescriptionSaysWhatTheTableSays() {
        let properties = Order.fields.form.schema.strict.json["properties"]
        #expect(Order.schema.json == ["$ref": "#/components/schemas/Order"])
        #expect(
            properties?["userId"] == [
                "type": "string", "minLength": 1, "description": "The customer.", "examples": ["alice"],
            ]
        )
        #expect(properties?["count"]?["x-unit"] == "steps" && properties?["count"]?["type"] == ["integer", "null"])
        #expect(Order.schema.example == ["userId": "alice", "count": 2, "items": [["name": "pen"]]])
    }
}
