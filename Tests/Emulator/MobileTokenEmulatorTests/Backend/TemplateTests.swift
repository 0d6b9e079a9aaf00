import EmulatorMessages
import ExactJSON
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

    @Test func valuesKeepTheirDigits() throws {
        let placeholders = Placeholders(
            parameters: ["amount": "2199.40", "name": "${amount} @{t}", "flag": true],
            texts: ["t": "for ${name}"]
        )
        let filled = try placeholders.fill(["a": "${amount:number}", "b": ["@{t}!", "${flag}"], "c": 1])
        #expect(
            filled == [
                "a": .number(try #require(JSONNumber(literal: "2199.40"))), "b": ["for 2199.40 @{t}!", "true"], "c": 1,
            ]
        )
    }

    /// "text default", "… escaped", "… nested", "… recursive value", "… unknown" of `mobile.jsonl`.
    @Test(arguments: [
        ("${nope}", "${nope}"), ("${nope:-other}", "other"), ("${v:-other}", "value"), ("$${v}", "${v}"),
        ("${${v}}", "${${v}}"), ("${again}", "value"), ("@{text}", "@{text}"),
    ])
    func placeholdersAreFilledAsRealServersFillThem(template: String, filled: String) throws {
        let placeholders = Placeholders(parameters: ["v": "value", "again": "${v}"])
        #expect(try placeholders.fill(template) == filled)
        // Without any parameter nothing is filled: "text plain".
        #expect(try Placeholders(parameters: [:]).fill("${v:-other}") == "${v:-other}")
    }

    @Test func aMissingTextAndAValueInItselfAreErrors() {
        let placeholders = Placeholders(parameters: ["a": "${b}", "b": "${a}"], texts: [:])
        for template in ["@{missing}", "${a}"] {
            #expect(throws: DocumentMistake.self) { try placeholders.fill(.string(template)) }
        }
    }

    private static let form = """
        {"name": "form", "data": "A1*N${v}", "parameters": {"v": "of nobody"},
         "allowedSignatureType": {"type": "2FA", "variants": ["possession_biometry", "possession_knowledge"]},
         "formData": {"title": "T ${v}", "message": "M", "resultTexts": {"success": "S ${v}"}, "attributes": [
           {"type": "AMOUNT", "id": "a", "label": "L ${v}", "amount": "${n:number}", "currency": "${c}"},
           {"type": "KEY_VALUE", "id": "k", "label": "K", "value": "${v}"}, {"type": "HEADING", "id": "h", "label": "H"},
           {"type": "HOLOGRAM", "id": "u", "label": "U", "value": "${v}"}, {"type": "HOLOGRAM", "id": "x", "label": "X"},
           {"type": "PARTY_INFO", "id": "p", "label": "P", "partyInfo": {"name": "${missing}"}},
           {"type": "ALERT", "id": "t", "label": "A", "alertType": "nonsense"}]},
         "ui": {"flipButtons": true, "zz": 1, "preApprovalScreens": [],
           "preApprovalScreen": {"type": "QR_SCAN", "heading": "${v}", "message": "m"},
           "postApprovalScreen": {"type": "MERCHANT_REDIRECT", "heading": "h", "message": "m", "payload": {"more": null}}}}
        """

    /// "text quotes", "attr … without parameter …", "attr HOLOGRAM …", "ui pre qr without proximity", "ui post redirect no countdown".
    @Test func aFormIsWhatRealServersMakeOfIt() throws {
        var fixture = try BackendFixture { configuration in
            (configuration.templates, configuration.profile) = ([Self.form], .init(.v1_9))
        }
        let device = try fixture.deviceWithToken()
        _ = try fixture.operation("form", ["parameters": ["v": #"Žluť "x"/\#("\\")"#]])
        let shown = try #require(device.operations(in: &fixture).first)
        let form = shown["formData"]
        #expect(form?["title"]?.string == #"T \u017Dlu\u0165 \"x\"\/\\"#)
        #expect(form?["resultTexts"]?["success"] == #"S Žluť "x"/\#("\\")"#)
        #expect(
            form?["attributes"] == [
                ["type": "KEY_VALUE", "id": "k", "label": "K", "value": #"Žluť "x"/\#("\\")"#],
                ["type": "HEADING", "id": "h", "label": "H", "level": 0],
                ["type": "KEY_VALUE", "id": "u", "label": "U", "value": #"Žluť "x"/\#("\\")"#],
                ["type": "PARTY_INFO", "id": "p", "label": "P", "partyInfo": [:]],
                ["type": "ALERT", "id": "t", "label": "A", "alertType": "INFO"],
            ]
        )
        let screen: JSONValue = [
            "type": "MERCHANT_REDIRECT", "heading": "h", "message": "m", "payload": ["countdown": 0],
        ]
        #expect(shown["ui"] == ["flipButtons": true, "postApprovalScreen": screen])
        let factors: JSONValue = ["type": "2FA", "variants": ["possession_knowledge", "possession_biometry"]]
        #expect(shown["allowedSignatureType"] == factors)
    }

    /// "config ui bad enum: list" and "attr HEADING level 'x'": one operation that cannot be shown spoils the list.
    @Test(arguments: [
        (#""ui": {"preApprovalScreen": {"type": "NOPE"}}"#, "", "500 ERR_CONFIG"),
        (#""ui": {"postApprovalScreen": {"type": "NOPE"}}"#, "", "500 ERR_CONFIG"),
        (#""ui": {}"#, #"{"type": "HEADING", "id": "h", "label": "H", "level": "${v}"}"#, "500 ERROR_GENERIC"),
    ])
    func aBrokenTemplateSpoilsTheWholeList(ui: String, attribute: String, outcome: String) throws {
        let broken = #"""
            {"name": "broken", "data": "A2", "allowedSignatureType": {"type": "1FA", "variants": []}, \#(ui),
             "formData": {"title": "t", "message": "m", "attributes": [\#(attribute)]}}
            """#
        var fixture = try BackendFixture { $0.templates = [broken] }
        let device = try fixture.deviceWithToken()
        _ = try fixture.operation("login")
        _ = try fixture.operation("broken", ["parameters": ["v": "x"]])
        #expect(device.sendWithToken("/api/auth/token/app/operation/list", in: &fixture).outcome == outcome)
    }

    private static let model = "com.wultra.security.powerauth.lib.mtoken.model.entity"

    /// "config ui bad enum: detail" and "config post unknown type: list" word for word; the others follow from the reader's rules.
    @Test(arguments: [
        (
            #"{"preApprovalScreen":{"type":"NOPE","heading":"h","message":"m","items":[]}}"#,
            """
            Cannot deserialize value of type `\(model).PreApprovalScreen$ScreenType` from String "NOPE": not one of the values \
            accepted for Enum class: [QR_SCAN, WARNING, INFO]
            """,
            32, #"PreApprovalScreen["type"]"#
        ),
        (
            #"{"postApprovalScreen":{"type":"NOPE","heading":"h","message":"m","payload":{}}}"#,
            """
            Could not resolve type id 'NOPE' as a subtype of `\(model).PostApprovalScreen`: known type ids = [GENERIC, \
            MERCHANT_REDIRECT, REVIEW] (for POJO property 'postApprovalScreen')
            """,
            33, ""
        ),
        (
            #"{"postApprovalScreen":{"heading":"h"}}"#,
            """
            Could not resolve subtype of [simple type, class \(model).PostApprovalScreen]: missing type id property 'type' (for POJO \
            property 'postApprovalScreen')
            """,
            39, ""
        ),
        (
            #"{"flipButtons":false,"preApprovalScreen":{"type":1,"items":["a",{}]}}"#,
            "Cannot deserialize value of type `java.lang.String` from Object value (token `JsonToken.START_OBJECT`)",
            72, #"PreApprovalScreen["items"]->java.util.ArrayList[1]"#
        ),
    ])
    func aScreenThatRealServersDoNotReadIsNamedAsThere(ui: String, words: String, column: Int, chain: String) throws {
        let refused = #expect(throws: Refusal.self) { try StoredUI.check(JSONValue(parsing: ui)) }
        let property = ui.contains("preApprovalScreen") ? "preApprovalScreen" : "postApprovalScreen"
        let owner = chain.isEmpty ? "" : "->\(Self.model)."
        let place =
            " at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: \(column)]"
        #expect(
            refused?.message == """
                Invalid JSON structure for the configuration: \(words)
                \(place) (through reference chain: \(Self.model).UiExtensions["\(property)"]\(owner)\(chain))
                """
        )
        #expect(refused?.status == 500 && refused?.code == "ERR_CONFIG")
    }

    /// As "push platform ' ios'", "push platform 0", "inbox list size text" and "id number": one reader reads them all.
    @Test func aScreenIsReadAsLenientlyAsARequest() throws {
        let ui: JSONObject = [
            "flipButtons": "TRUE", "blockApprovalOnCall": 0,
            "preApprovalScreen": ["type": " INFO", "heading": 5, "message": true], "templates": 5,
        ]
        try StoredUI.check(.object(ui))
        let shown = ShownUI(profile: .init(.v1_9), hasProximityCode: false).shown(ui)
        let screen: JSONValue = ["type": "INFO", "heading": "5", "message": "true"]
        let expected: JSONObject = [
            "flipButtons": true, "blockApprovalOnCall": false, "preApprovalScreen": screen, "templates": 5,
        ]
        #expect(shown == expected)
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
        // A parameter that is missing stays as it is written, and the journal tells of it: "text plain" of `mobile.jsonl`.
        let reply = fixture.cloud("POST", "/v2/operations", ["userId": "a", "template": "login"])
        #expect(reply.json["data"] == "A1*T${who}")
        #expect(reply.inspection.warnings.map(\.message) == ["missing: 'parameters.who'"])
        #expect(try fixture.operation("login", ["parameters": ["who": "you"]]).data == "A1*Tyou")
    }

    @Test(arguments: [
        "", "{}", #"{"name":"x"}"#,
        #"{"name":"x","data":"A1","formData":{"title":"t","message":"m"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"3FA","variants":["possession"]},"formData":{"title":"t","message":"m"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"2FA","variants":[]},"formData":{"title":"t","message":"m"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"1FA","variants":["possession"]},"formData":{"title":"t"}}"#,
        #"{"name":"x","data":"A1","allowedSignatureType":{"type":"1FA","variants":["possession"]},"formData":{"title":"@{t}","message":"m"}}"#,
        #"{"name":"x","data":"A1","expiresIn":0,"allowedSignatureType":{"type":"1FA","variants":["possession"]},"formData":{"title":"t","message":"m"}}"#,
    ])
    func brokenTemplatesStopTheServerFromStarting(text: String) {
        #expect(throws: DocumentMistake.self) { try BackendFixture { $0.templates = [text] } }
    }
}
