import ExactJSON
import Foundation
import MobileToken
import Testing

@Suite struct OperationAttributeTests {
    private func read(_ attributes: JSONValue...) throws -> UserOperation {
        try UserOperation(parsing: ServerJSON.operation.with("formData", "attributes", .array(attributes)))
    }

    private func read(parsing attribute: String) throws -> UserOperation {
        try self.read(JSONValue(parsing: attribute))
    }

    // MARK: Every type

    @Test func readsTheSimpleTypes() throws {
        let operation = try self.read(
            ["type": "KEY_VALUE", "id": "1", "label": "To", "value": "238400856/0300"],
            ["type": "NOTE", "id": "2", "label": "Note", "note": "Utility"],
            ["type": "HEADING", "id": "3", "label": "Details"],
            [
                "type": "IMAGE", "id": "4", "label": "Image", "thumbnailUrl": "https://a/t",
                "originalUrl": "https://a/o",
            ],
            ["type": "IMAGE", "id": "5", "label": "Image", "thumbnailUrl": "https://a/t"],
            [
                "type": "PARTY_INFO", "id": "6", "label": "App",
                "partyInfo": ["logoUrl": "https://l", "name": "Tesco", "description": "D", "websiteUrl": "https://w"],
            ],
            ["type": "ALERT", "id": "7", "label": "Mind", "alertType": "WARNING", "title": "T", "message": "M"],
            ["type": "ALERT", "id": "8", "label": "Mind", "alertType": "SUCCESS", "message": "M"]
        )
        #expect(
            operation.formData.attributes == [
                UserOperation.Attribute(id: "1", label: "To", content: .keyValue("238400856/0300")),
                UserOperation.Attribute(id: "2", label: "Note", content: .note("Utility")),
                UserOperation.Attribute(id: "3", label: "Details", content: .heading()),
                UserOperation.Attribute(
                    id: "4",
                    label: "Image",
                    content: .image(thumbnailURL: "https://a/t", originalURL: "https://a/o")
                ),
                UserOperation.Attribute(
                    id: "5",
                    label: "Image",
                    content: .image(thumbnailURL: "https://a/t", originalURL: nil)
                ),
                UserOperation.Attribute(
                    id: "6",
                    label: "App",
                    content: .partyInfo(
                        .init(logoURL: "https://l", name: "Tesco", description: "D", websiteURL: "https://w")
                    )
                ),
                UserOperation.Attribute(
                    id: "7",
                    label: "Mind",
                    content: .alert(.init(kind: .warning, title: "T", message: "M"))
                ),
                UserOperation.Attribute(id: "8", label: "Mind", content: .alert(.init(kind: .success, message: "M"))),
            ]
        )
        #expect(operation.issues.isEmpty)
    }

    @Test func readsAmounts() throws {
        let operation = try self.read(
            parsing: #"""
                {"type":"AMOUNT","id":"a","label":"Amount","amount":965165234082.23,"currency":"CZK",
                "amountFormatted":"965 165 234 082,23","currencyFormatted":"Kč","valueFormatted":"965 165 234 082,23 Kč"}
                """#
        )
        #expect(
            operation.formData.attributes.first?.content
                == .amount(
                    .init(
                        amount: Decimal(string: "965165234082.23"),
                        currency: "CZK",
                        amountFormatted: "965 165 234 082,23",
                        currencyFormatted: "Kč",
                        valueFormatted: "965 165 234 082,23 Kč"
                    )
                )
        )
    }

    @Test(
        arguments: [
            ("2199.40", nil), ("100", nil), ("100.00", nil), ("0.123456789012345678", nil),
            ("1234567890123456789", nil), ("1234567890123456789.123456789012345678", nil),
            ("-5.10", nil), ("0.1", nil),
            // Number 10: an exponent is shown as the number that it makes.
            ("1e3", "1000"), ("1E+2", "100"), ("0E-8", "0"), ("-0.0", "0"), ("1e-8", "0.00000001"),
            ("1e38", "1" + String(repeating: "0", count: 38)),
        ] as [(String, String?)]
    )
    func amountsKeepEveryDigit(literal: String, shown: String?) throws {
        let operation = try self.read(
            parsing: #"{"type":"AMOUNT","id":"a","label":"A","amount":\#(literal),"currency":"CZK"}"#
        )
        guard case .amount(let money) = operation.formData.attributes.first?.content else {
            Issue.record("no amount")
            return
        }
        #expect(money.amount == Decimal(string: literal))
        #expect(money.amountFormatted == shown ?? literal)
        #expect(money.currencyFormatted == "CZK")
        #expect(money.valueFormatted == nil)
        #expect(operation.issues.isEmpty)
    }

    @Test func readsConversionsOfOldAndNewServers() throws {
        let operation = try self.read(
            parsing: #"""
                {"type":"AMOUNT_CONVERSION","id":"c","label":"C","dynamic":true,"sourceAmount":1.26,"sourceCurrency":"ETC",
                "targetAmountFormatted":"1,710.98","targetCurrencyFormatted":"USD","targetValueFormatted":"1,710.98 USD"}
                """#
        )
        #expect(
            operation.formData.attributes.first?.content
                == .amountConversion(
                    source: .init(
                        amount: Decimal(string: "1.26"),
                        currency: "ETC",
                        amountFormatted: "1.26",
                        currencyFormatted: "ETC"
                    ),
                    target: .init(
                        amount: nil,
                        currency: nil,
                        amountFormatted: "1,710.98",
                        currencyFormatted: "USD",
                        valueFormatted: "1,710.98 USD"
                    ),
                    isDynamic: true
                )
        )
        #expect(operation.issues.isEmpty)
    }

    @Test func aFormattedAmountOfTheWrongTypeIsReplacedByTheDigits() throws {
        let operation = try self.read(
            parsing: #"{"type":"AMOUNT","id":"a","label":"A","amount":1.50,"amountFormatted":1,"currency":"CZK"}"#
        )
        guard case .amount(let money) = operation.formData.attributes.first?.content else {
            Issue.record("no amount")
            return
        }
        #expect(money.amountFormatted == "1.50")
        #expect(operation.issuePaths == ["formData.attributes[0].amountFormatted"])
    }

    // MARK: Lists that are none

    @Test(arguments: [nil, .null] as [JSONValue?])
    func noAttributesAreNoIssue(value: JSONValue?) throws {
        let operation = try UserOperation(parsing: ServerJSON.operation.with("formData", "attributes", value))
        #expect(operation.formData.attributes.isEmpty && operation.issues.isEmpty)
    }

    @Test(arguments: ["text", 5, [:], true] as [JSONValue])
    func attributesThatAreNoListAreReported(value: JSONValue) throws {
        let operation = try UserOperation(parsing: ServerJSON.operation.with("formData", "attributes", value))
        #expect(operation.formData.attributes.isEmpty)
        #expect(operation.issuePaths == ["formData.attributes"])
    }

    // MARK: Unknown and broken ones

    @Test(arguments: ["FUTURE", "amount", "Key_Value", "", "KEY_VALUE ", "\u{212A}EY_VALUE"])
    func anUnknownTypeKeepsItsMembersAndIsNoIssue(type: String) throws {
        let json: JSONValue = ["type": .string(type), "id": "1", "label": "L", "value": "v", "more": [1, nil]]
        let operation = try self.read(json)
        #expect(
            operation.formData.attributes == [
                UserOperation.Attribute(id: "1", label: "L", content: .unknown(type: type, json: json))
            ]
        )
        #expect(operation.issues.isEmpty)
    }

    @Test(
        arguments: [
            (["type": "KEY_VALUE", "id": "1", "label": "L"], "value"),
            (["type": "KEY_VALUE", "id": "1", "label": "L", "value": 5], "value"),
            (["type": "NOTE", "id": "1", "label": "L", "note": nil], "note"),
            (["type": "IMAGE", "id": "1", "label": "L"], "thumbnailUrl"),
            (["type": "PARTY_INFO", "id": "1", "label": "L"], "partyInfo"),
            (["type": "ALERT", "id": "1", "label": "L", "alertType": "DANGER", "message": "M"], "alertType"),
            (["type": "ALERT", "id": "1", "label": "L", "message": "M"], "alertType"),
            (["type": "AMOUNT", "id": "1", "label": "L"], "amount"),
            (["type": "AMOUNT", "id": "1", "label": "L", "amount": 1], "currency"),
            (["type": "AMOUNT", "id": "1", "label": "L", "amount": "1.00", "currency": "CZK"], "amount"),
            (
                ["type": "AMOUNT", "id": "1", "label": "L", "amount": "1", "currency": "CZK", "amountFormatted": "1"],
                "amount"
            ),
            (
                ["type": "AMOUNT", "id": "1", "label": "L", "amount": 1, "currency": 5, "currencyFormatted": "Kč"],
                "currency"
            ),
            (["type": "AMOUNT_CONVERSION", "id": "1", "label": "L", "sourceAmount": 1], "sourceCurrency"),
            (["id": "1", "label": "L", "value": "v"], "type"),
            (["type": nil, "id": "1", "label": "L"], "type"),
            (["type": 5, "id": "1", "label": "L"], "type"),
        ] as [(JSONValue, String)]
    )
    func whatDoesNotHaveItsTypesFormIsKeptAsUnknownAndReported(json: JSONValue, member: String) throws {
        let operation = try self.read(["type": "HEADING", "id": "0", "label": "before"], json)
        #expect(operation.formData.attributes.count == 2)
        let attribute = try #require(operation.formData.attributes.last)
        #expect(attribute.id == json["id"]?.string)
        #expect(attribute.label == json["label"]?.string)
        #expect(attribute.content == .unknown(type: json["type"]?.string, json: json))
        #expect(operation.issuePaths == ["formData.attributes[1].\(member)"])
    }

    @Test func anAmountThatNoDecimalHoldsIsRefused() throws {
        let digits = String(repeating: "9", count: 39)
        let operation = try self.read(
            parsing: #"{"type":"AMOUNT","id":"a","label":"A","amount":\#(digits),"currency":"CZK"}"#
        )
        guard case .unknown(type: "AMOUNT", let json) = operation.formData.attributes.first?.content else {
            Issue.record("an amount that was not read exactly")
            return
        }
        #expect(json["amount"]?.number?.literal == digits)
        #expect(operation.issuePaths == ["formData.attributes[0].amount"])
    }

    @Test(
        arguments: [nil, "text", 5, [], [:], ["type": "KEY_VALUE", "value": "v"], ["id": 1, "label": 2]] as [JSONValue]
    )
    func whatHasNeitherIdentifierNorLabelIsDroppedAndReported(json: JSONValue) throws {
        let heading: JSONValue = ["type": "HEADING", "id": "1", "label": "L"]
        let operation = try self.read(json, heading)
        #expect(operation.formData.attributes == [UserOperation.Attribute(id: "1", label: "L", content: .heading())])
        #expect(operation.issues.count == 1)
        #expect(operation.issuePaths.first?.hasPrefix("formData.attributes[0]") == true)
        #expect(operation.issues.first?.path.isEmpty == false)
    }

    @Test func anOptionalMemberOfTheWrongTypeIsNilAndReported() throws {
        let operation = try self.read(
            ["type": "IMAGE", "id": "1", "label": "L", "thumbnailUrl": "t", "originalUrl": 5],
            ["type": "ALERT", "id": "2", "label": "L", "alertType": "INFO", "message": "M", "title": false],
            [
                "type": "PARTY_INFO", "id": "3", "label": "L",
                "partyInfo": ["logoUrl": "l", "name": "n", "description": "d", "websiteUrl": [:]],
            ],
            ["type": "AMOUNT", "id": "4", "label": "L", "amount": 1, "currency": "CZK", "valueFormatted": 1]
        )
        #expect(operation.formData.attributes[0].content == .image(thumbnailURL: "t", originalURL: nil))
        #expect(operation.formData.attributes[1].content == .alert(.init(kind: .info, message: "M")))
        #expect(
            operation.issuePaths == [
                "formData.attributes[0].originalUrl", "formData.attributes[1].title",
                "formData.attributes[2].partyInfo.websiteUrl", "formData.attributes[3].valueFormatted",
            ]
        )
    }

    /// Of half a surrogate pair no string can be made: the member alone is unreadable, and told once.
    @Test(
        arguments: [
            (
                #"{"type":"FUTURE","id":"1","label":"L","a":"\ud800","b":["x","\udc00"],"c":1}"#,
                ["type": "FUTURE", "id": "1", "label": "L", "b": ["x"], "c": 1], ["a", "b[1]"]
            ),
            (
                #"{"type":"KEY_VALUE","id":"1","label":"L","value":"\ud800"}"#,
                ["type": "KEY_VALUE", "id": "1", "label": "L"], ["value"]
            ),
        ] as [(String, JSONValue, [String])]
    )
    func aTextThatNoStringCanHoldIsNoText(attribute: String, rest: JSONValue, members: [String]) throws {
        let whole = String(decoding: ServerJSON.operation.serialized(), as: UTF8.self)
        let json = whole.replacing(#""attributes":[]"#, with: #""attributes":[\#(attribute)]"#)
        let operation = try UserOperation(parsing: [UInt8](json))
        #expect(operation.formData.attributes.first?.content == .unknown(type: rest["type"]?.string, json: rest))
        #expect(operation.issuePaths == members.map { "formData.attributes[0].\($0)" })
    }

    @Test func aMemberGivenTwiceIsNotRead() throws {
        let json: JSONValue = ["type": "KEY_VALUE", "id": "1", "label": "L", "value": "v"]
        let operation = try self.read(json.repeating("value", "w"))
        #expect(operation.issues.map(\.reason) == [.repeated])
        guard case .unknown = operation.formData.attributes.first?.content else {
            Issue.record("one of two values was chosen")
            return
        }
    }
}
