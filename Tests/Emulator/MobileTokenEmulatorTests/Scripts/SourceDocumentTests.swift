import APIDescriptions
import EmulatorMessages
import ExactJSON
import Testing

/// Mistakes in documents that people write are found by their lines.
@Suite struct SourceDocumentTests {
    private static let schema = Schema.object([
        .optional("orders", .list(of: .object([.required("userId", .word), .optional("more", .open())]))),
        .optional("name", .word),
    ])

    @Test(arguments: [
        ("{\n  \"nam\": \"x\"\n}", "line 2: 'nam' is not known here; did you mean 'name'?"),
        (
            "{\n  \"orders\": [\n    {\"userId\": \"a\"},\n    {\"userId\": 5}\n  ]\n}",
            "line 4: 'orders[1].userId' is not a string"
        ),
        ("{\n\n\"orders\": [\n{\n\"more\": {}}]}", "line 4: 'orders[0].userId' is missing"),
        ("{\"name\": \"a\",\n\"orders\": [],\n\"name\": \"b\"}", "line 3: 'name' is given twice"),
        ("{\"orders\": [{\"userId\": \"a\", \"more\": {\"x\": 1,\n\"x\": 2}}]}", "line 2: 'x' is given twice"),
        (
            "{\"orders\": [{\"userId\": \"a\", \"more\": [{\"x\": 1,\n\"x\": 2}]}]}",
            "line 1: 'orders[0].more' is not an object"
        ),
        ("\n\n[]", "line 3: The body is not an object"),
        ("{\n\"name\": \"a\",\n}", "line 3: JSON: unexpected character at byte 15"),
        ("", "line 1: JSON: unexpected end at byte 0"),
    ])
    func aMistakeHasTheLineOnWhichItBegins(text: String, message: String) {
        let error = #expect(throws: DocumentMistake.self) {
            try SourceDocument(parsing: Array(text.utf8), as: Self.schema)
        }
        #expect(error?.description == message)
    }

    @Test func aPlaceThatIsNotThereHasTheLineOfWhatLeadsThere() throws {
        let document = try JSONDocument(parsing: Array("{\"a\":\n[1,\n2]}".utf8))
        #expect(document.line(at: []) == 1 && document.line(at: [0]) == 1)
        #expect(document.line(at: [0, 1]) == 3)
        #expect(document.line(at: [0, 7]) == 1 && document.line(at: [5]) == 1 && document.line(at: [0, 0, 0]) == 2)
    }
}
