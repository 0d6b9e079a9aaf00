import EmulatorMessages
import PowerAuthProtocol
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct TemplateTests {
    @Test(
        arguments: [
            ("", []), ("plain", [.literal("plain")]), ("${a}", [.parameter("a")]),
            ("x${a}@{b}y", [.literal("x"), .parameter("a"), .text("b"), .literal("y")]), ("${a", [.literal("${a")]),
            ("$a @b $", [.literal("$a @b $")]), ("${${a}}", [.parameter("${a"), .literal("}")]),
        ] as [(String, [Placeholders.Part])]
    )
    func placeholdersAreFound(text: String, parts: [Placeholders.Part]) {
        #expect(Placeholders.parts(of: text) == parts)
    }

    @Test func valuesAreFilledOnceAndKeepTheirDigits() throws {
        let placeholders = Placeholders(
            parameters: ["amount": "2199.40", "name": "${amount} @{t}", "flag": true],
            texts: ["t": "for ${name}"]
        )
        let filled = try placeholders.fill(["a": "${amount:number}", "b": ["@{t}!", "${flag}"], "c": 1])
        #expect(
            filled == [
                "a": .number(try #require(JSONNumber(literal: "2199.40"))), "b": ["for ${amount} @{t}!", "true"],
                "c": 1,
            ]
        )
    }

    @Test(arguments: ["${missing}", "@{missing}", "${list}", "${text:number}"])
    func whatCannotBeFilledIsAnError(template: String) {
        let placeholders = Placeholders(parameters: ["list": [1], "text": "x"], texts: [:])
        #expect(throws: DocumentMistake.self) { try placeholders.fill(.string(template)) }
    }

    @Test func templatesOfTheConfigurationJoinAndReplaceTheBuiltInOnes() throws {
        let own = #"""
            {"name": "login", "data": "A1*T${who}",
             "allowedSignatureType": {"type": "1FA", "variants": ["possession"]},
             "formData": {"title": "Hello ${who}", "message": "m"}}
            """#
        var fixture = try BackendFixture { $0.templates = [own] }
        let summary = try #require(fixture.backend.templates.first { $0.name == "login" })
        #expect(summary.title == "Hello ${who}")
        #expect(summary.parameters == ["who"])
        let request: JSONValue = ["userId": "a", "template": "login"]
        #expect(fixture.cloud("POST", "/v2/operations", request).outcome == "400 ERROR_REQUEST")
        #expect(try fixture.operation("login", ["parameters": ["who": "you"]]).data == "A1*Tyou")
    }

    @Test(arguments: [
        "", "{}", #"{"name":"x"}"#,
        #"{"name":"x","data":"A1","formData":{"title":"t","message":"m"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"3FA","variants":["possession"]},"formData":{"title":"t","message":"m"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"1FA","variants":[]},"formData":{"title":"t","message":"m"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"1FA","variants":["possession"]},"formData":{"title":"t"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"1FA","variants":["possession"]},"formData":{"title":"@{t}","message":"m"}}"#,
        #"{"name":"x","data":"A1","expiresIn":0,"allowedSignatureType":{"type":"1FA","variants":["possession"]},"formData":{"title":"t","message":"m"}}"#,
    ])
    func brokenTemplatesStopTheServerFromStarting(text: String) {
        #expect(throws: DocumentMistake.self) { try BackendFixture { $0.templates = [text] } }
    }

    @Test(arguments: [
        ("0", "en", "0.00"), ("-1234", "en", "-1,234.00"), ("999.5", "cs", "999,50"),
        ("1234567.891", "de", "1.234.567,891"), ("1e3", "en", "1e3"),
        ("12345678901234567890.10", "en", "12,345,678,901,234,567,890.10"),
    ])
    func amountsKeepEveryDigit(literal: String, language: String, text: String) throws {
        let number = try #require(JSONNumber(literal: literal))
        #expect(MonetaryFormat(language: language).amount(number) == text)
    }
}
