import ExactJSON
import Foundation
import MobileToken
import PowerAuth
import TestSupport
import Testing

/// "How outside input is read", section "Operations (JSON)" and the three rules above it.
@Suite struct OperationStatements {
    private static func list(_ operations: JSONValue...) throws -> OperationList {
        try OperationList(response: ServerJSON.list(operations))
    }

    private static func isInvalidResponse(_ answer: [UInt8]) -> Bool {
        do throws(MobileTokenError) {
            _ = try OperationList(response: answer)
            return false
        } catch {
            return error.code == .invalidResponse
        }
    }

    private static func one(_ json: JSONValue) throws -> UserOperation? { try Self.list(json).operations.first }

    private static func attribute(_ json: JSONValue) throws -> (UserOperation.Attribute?, issues: [String]) {
        let operation = try UserOperation(parsing: ServerJSON.operation(attributes: json))
        return (operation.formData.attributes.first, operation.issuePaths)
    }

    /// The sample with one attribute, from a text that no `JSONValue` can hold.
    private static func attribute(text: String) throws -> (UserOperation.Attribute?, issues: [String]) {
        let whole = String(decoding: ServerJSON.operation.serialized(), as: UTF8.self)
        let json = whole.replacing(#""attributes":[]"#, with: #""attributes":[\#(text)]"#)
        let operation = try UserOperation(parsing: [UInt8](json))
        return (operation.formData.attributes.first, operation.issuePaths)
    }

    private static func isUnknown(_ attribute: UserOperation.Attribute?) -> Bool {
        if case .unknown? = attribute?.content { true } else { false }
    }

    private static let required: [[String]] = [
        ["id"], ["name"], ["data"], ["operationCreated"], ["operationExpires"], ["allowedSignatureType", "type"],
        ["formData", "title"], ["formData", "message"],
    ]

    private static func without(_ path: [String], _ value: JSONValue?) -> JSONValue {
        path.count == 1
            ? ServerJSON.operation.with(path[0], value) : ServerJSON.operation.with(path[0], path[1], value)
    }

    private static let known: JSONValue = ["type": "KEY_VALUE", "id": "1", "label": "L", "value": "v"]

    private static let statements: [Statement] = [
        Statement("required members: missing, null or of another type: the operation is an issue, the rest stands") {
            try Self.required.allSatisfy { path in
                try ([nil, .null, 5, [], [:]] as [JSONValue?]).allSatisfy { value in
                    let list = try Self.list(Self.without(path, value), ServerJSON.operation.with("id", "2"))
                    return list.operations.map(\.id) == ["2"] && list.issues.count == 1
                        && list.issues[0].path == "responseObject[0].\(path.joined(separator: "."))"
                }
            }
        },
        Statement("a required member given twice is one of the same") {
            let list = try Self.list(ServerJSON.operation.repeating("data", "other"))
            return list.operations.isEmpty && list.issues.map(\.reason) == [.repeated]
        },
        Statement("status missing or null: pending") {
            try [nil, JSONValue.null].allSatisfy { status in
                try Self.one(ServerJSON.operation.with("status", status))?.status == .pending
            }
        },
        Statement("status unknown: kept with its text; never pending, never authorizable") {
            try ["pending", "Pending", "", "P\u{415}NDING"].allSatisfy { text in
                let operation = try Self.one(ServerJSON.operation.with("status", .string(text)))
                return operation?.status == .unknown(text) && operation?.isAuthorizable == false
            }
        },
        Statement("a status that is no string decides nothing: the operation is an issue") {
            try Self.list(ServerJSON.operation.with("status", 5)).issues.map(\.path) == ["responseObject[0].status"]
        },
        Statement("allowedSignatureType.type unknown: issue") {
            try ["3FA", "2fa", ""].allSatisfy { type in
                let json = ServerJSON.operation.with("allowedSignatureType", "type", .string(type))
                let list = try Self.list(json)
                return list.operations.isEmpty && list.issues.count == 1
            }
        },
        Statement("variant unknown among known ones: left out and reported") {
            let variants: JSONValue = ["possession_magic", "possession", nil]
            let json = ServerJSON.operation.with("allowedSignatureType", "variants", variants)
            let operation = try Self.one(json)
            return operation?.allowedSignatureType.variants == [.possession]
                && operation?.issuePaths.map { $0.suffix(11) } == ["variants[0]", "variants[2]"]
        },
        Statement("no variant left: not authorizable") {
            let json = ServerJSON.operation.with("allowedSignatureType", "variants", ["possession_magic"])
            return try Self.one(json)?.isAuthorizable == false
        },
        Statement("dates: ISO 8601 with an offset (Z, +0000, +00:00, fraction or not)") {
            try ["Z", "+0000", "+00:00", ".5Z", ".123456+01:00"].allSatisfy { end in
                try Self.one(ServerJSON.operation.with("operationCreated", .string("2018-08-08T12:30:42\(end)"))) != nil
            }
        },
        Statement("a date without an offset or as a number: issue") {
            try (["2018-08-08T12:30:42", 1_533_731_442, "2018-08-08", "now"] as [JSONValue]).allSatisfy { date in
                try Self.list(ServerJSON.operation.with("operationExpires", date)).issues.count == 1
            }
        },
        Statement("attributes missing or null: empty, no issue") {
            try [nil, JSONValue.null].allSatisfy { attributes in
                let operation = try Self.one(ServerJSON.operation.with("formData", "attributes", attributes))
                return operation?.formData.attributes.isEmpty == true && operation?.issues.isEmpty == true
            }
        },
        Statement("attributes of another type: empty and reported") {
            let operation = try UserOperation(parsing: ServerJSON.operation.with("formData", "attributes", [:]))
            return operation.formData.attributes.isEmpty && operation.issuePaths == ["formData.attributes"]
        },
        Statement("attribute of unknown type (exact, case matters), with id and label: unknown, raw, no issue") {
            try ["FUTURE", "key_value", "\u{212A}EY_VALUE"].allSatisfy { type in
                let json = Self.known.with("type", .string(type))
                let (attribute, issues) = try Self.attribute(json)
                return attribute?.content == .unknown(type: type, json: json) && issues.isEmpty
            }
        },
        Statement("attribute of a known type that lacks a required member: unknown with what there is, reported") {
            let json = Self.known.with("value", nil)
            let (attribute, issues) = try Self.attribute(json)
            return attribute?.content == .unknown(type: "KEY_VALUE", json: json)
                && issues == ["formData.attributes[0].value"]
        },
        Statement("an attribute without type: the same") {
            let (attribute, issues) = try Self.attribute(Self.known.with("type", nil))
            return Self.isUnknown(attribute) && issues == ["formData.attributes[0].type"]
        },
        Statement("an attribute that lacks both id and label, is null or a string: dropped, reported") {
            try ([["type": "KEY_VALUE", "value": "v"], nil, "text"] as [JSONValue]).allSatisfy { json in
                let (attribute, issues) = try Self.attribute(json)
                return attribute == nil && issues.count == 1
            }
        },
        Statement("unknown alertType: as an attribute that does not decode") {
            let json: JSONValue = [
                "type": "ALERT", "id": "1", "label": "L", "alertType": "DANGER", "message": "M",
            ]
            let (attribute, issues) = try Self.attribute(json)
            return Self.isUnknown(attribute) && issues == ["formData.attributes[0].alertType"]
        },
        Statement("half a surrogate pair in what is shown: the member alone is unreadable") {
            let (attribute, issues) = try Self.attribute(
                text: #"{"type":"FUTURE","id":"1","label":"L","a":"\ud800","b":["x","\udc00"],"c":1}"#
            )
            let json: JSONValue = ["type": "FUTURE", "id": "1", "label": "L", "b": ["x"], "c": 1]
            return attribute?.content == .unknown(type: "FUTURE", json: json)
                && issues == ["formData.attributes[0].a", "formData.attributes[0].b[1]"]
        },
        Statement("half a surrogate pair in a known attribute: unknown with the rest, reported once") {
            let (attribute, issues) = try Self.attribute(
                text: #"{"type":"KEY_VALUE","id":"1","label":"L","value":"\ud800"}"#
            )
            let json = Self.known.with("value", nil)
            return attribute?.content == .unknown(type: "KEY_VALUE", json: json)
                && issues == ["formData.attributes[0].value"]
        },
        Statement("half a surrogate pair in what decides: the operation is an issue") {
            let text = String(decoding: ServerJSON.list([ServerJSON.operation]), as: UTF8.self)
            let broken = text.replacing("A1*A100CZK", with: #"A1\ud800"#)
            return try OperationList(response: [UInt8](broken)).issues.map(\.path) == ["responseObject[0].data"]
        },
        Statement("paths in issues point into what was received, repetitions included") {
            let (first, second) = (ServerJSON.operation, ServerJSON.operation.with("name", "login"))
            let list = try Self.list([:], first, second)
            return list.operations.isEmpty && list.issues.map(\.path) == [0, 2, 1].map { "responseObject[\($0)].id" }
        },
        Statement("… on every way a list is read: alone, and to be recognized") {
            let answer = ServerJSON.list([[:], ServerJSON.operation, ServerJSON.operation.with("name", "login")])
            let (first, comparison) = try OperationList.read(answer)
            let second = try OperationList(response: answer)
            let paths = [0, 2, 1].map { "responseObject[\($0)].id" }
            return first.issues.map(\.path) == paths && second.issues.map(\.path) == paths
                && comparison.match(answer) != nil
        },
        Statement("identifiers are compared exactly: another form of the same letter is another identifier") {
            let (one, other) = (ServerJSON.operation.with("id", "é"), ServerJSON.operation.with("id", "e\u{301}"))
            let list = try Self.list(one, other)
            return list.operations.count == 2 && list.issues.isEmpty && list.operations[0] != list.operations[1]
        },
        Statement("data are compared exactly: another form of the same letter is a change") {
            let (one, other) = (ServerJSON.operation.with("data", "é"), ServerJSON.operation.with("data", "e\u{301}"))
            return try UserOperation(parsing: one) != UserOperation(parsing: other)
        },
        Statement("at most 10 000 operations") {
            let operations = (0..<10_001).map { ServerJSON.operation.with("id", .string("\($0)")) }
            let allowed = try OperationList(response: ServerJSON.list(Array(operations.dropLast())))
            return allowed.operations.count == 10_000 && Self.isInvalidResponse(ServerJSON.list(operations))
        },
        Statement("100 issues kept and the rest counted") {
            let list = try OperationList(response: ServerJSON.list([JSONValue](repeating: 1, count: 250)))
            return list.issues.count == 100 && list.omittedIssueCount == 150
        },
        Statement("an optional member of the wrong type (originalUrl: 5): nil, reported") {
            let json: JSONValue = [
                "type": "IMAGE", "id": "1", "label": "L", "thumbnailUrl": "t", "originalUrl": 5,
            ]
            let (attribute, issues) = try Self.attribute(json)
            return attribute?.content == .image(thumbnailURL: "t", originalURL: nil)
                && issues == ["formData.attributes[0].originalUrl"]
        },
        Statement("one result text a number: nil, reported") {
            let json = ServerJSON.operation.with("formData", "resultTexts", ["success": "s", "failure": 5])
            let operation = try UserOperation(parsing: json)
            return operation.formData.resultTexts == OperationForm.ResultTexts(success: "s")
                && operation.issuePaths == ["formData.resultTexts.failure"]
        },
        Statement("resultTexts, ui of the wrong type: nil, reported") {
            let json = ServerJSON.operation.with("formData", "resultTexts", 5).with("ui", "none")
            let operation = try UserOperation(parsing: json)
            return operation.formData.resultTexts == nil && operation.ui == nil
                && operation.issuePaths == ["formData.resultTexts", "ui"]
        },
        Statement("amounts: JSON numbers to Decimal with every digit") {
            let text =
                #"{"type":"AMOUNT","id":"1","label":"L","amount":1234567890123456789.123456789012345678,"#
                + #""currency":"EUR"}"#
            guard case .amount(let money)? = try Self.attribute(text: text).0?.content else { return false }
            return money.amount == Decimal(string: "1234567890123456789.123456789012345678")
                && money.amountFormatted == "1234567890123456789.123456789012345678"
        },
        Statement("an amount as a string is no amount: unknown, reported") {
            let json: JSONValue = ["type": "AMOUNT", "id": "1", "label": "L", "amount": "1.50", "currency": "EUR"]
            let (attribute, issues) = try Self.attribute(json)
            return Self.isUnknown(attribute) && issues == ["formData.attributes[0].amount"]
        },
        Statement("fallback for a missing amountFormatted: the digits as sent") {
            let text = #"{"type":"AMOUNT","id":"1","label":"L","amount":2199.40,"currency":"CZK"}"#
            guard case .amount(let money)? = try Self.attribute(text: text).0?.content else { return false }
            return money.amountFormatted == "2199.40" && money.currencyFormatted == "CZK"
        },
        Statement("currentTimestamp unreadable: nil; the list stands") {
            let list = try OperationList(response: ServerJSON.list([ServerJSON.operation], timestamp: "noon"))
            return list.currentTimestamp == nil && list.operations.count == 1
                && list.issues.map(\.path) == ["currentTimestamp"]
        },
        Statement("the whole list not a list: invalidResponse") {
            ([nil, "list", [:], 5] as [JSONValue]).allSatisfy { Self.isInvalidResponse(ServerJSON.object($0)) }
        },
        Statement("nothing that is signed is rewritten: the JSON is kept as it came") {
            let text = String(decoding: ServerJSON.operation.serialized(), as: UTF8.self).replacing(
                "\":",
                with: "\" :\t"
            )
            let spaced = [UInt8](#"{"status":"OK","responseObject":[\#(text)]}"#)
            return try OperationList(response: spaced).operations.first?.json == [UInt8](text)
        },
    ]

    @Test(arguments: Self.statements) func holds(_ statement: Statement) throws {
        #expect(try statement.holds(), "\(statement)")
    }
}
