import ExactJSON
import Foundation
import MobileToken
import PowerAuth
import Testing

@Suite struct UserOperationTests {
    /// Returns the issue that an operation is refused for.
    private static func issue(_ body: () throws -> UserOperation) -> DecodingIssue? {
        let error = #expect(throws: MobileTokenError.self) { try body() }
        #expect(error?.code == .invalidResponse)
        return error?.underlying as? DecodingIssue
    }

    @Test func readsEveryMember() throws {
        let json = ServerJSON.operation.with("statusReason", "because")
            .with("formData", "resultTexts", ["success": "Done", "failure": "Failed", "reject": "Rejected"])
        let operation = try UserOperation(parsing: json)
        #expect(operation.id == "930febe7-f350-419a-8bc0-c8883e7f71e3")
        #expect(operation.name == "authorize_payment")
        #expect(operation.data == "A1*A100CZK*Q238400856/0300**D20170629*NUtility Bill Payment - 05/2017")
        #expect(operation.status == .pending)
        #expect(operation.statusReason == "because")
        #expect(operation.created.timeIntervalSince1970 == 1_533_731_442)
        #expect(operation.expires.timeIntervalSince1970 == 1_533_731_743)
        #expect(operation.allowedSignatureType.kind == .twoFactors)
        #expect(operation.allowedSignatureType.variants == [.possessionKnowledge, .possessionBiometry])
        #expect(operation.formData.title == "Potvrzení platby")
        #expect(operation.formData.message == "Dobrý den, prosíme o potvrzení následující platby:")
        #expect(
            operation.formData.resultTexts
                == OperationForm.ResultTexts(success: "Done", failure: "Failed", reject: "Rejected")
        )
        #expect(operation.formData.attributes.isEmpty)
        #expect(operation.ui == nil)
        #expect(operation.issues.isEmpty)
    }

    // MARK: What a decision rests on

    static let required: [[String]] = [
        ["id"], ["name"], ["data"], ["operationCreated"], ["operationExpires"], ["allowedSignatureType"],
        ["allowedSignatureType", "type"], ["formData"], ["formData", "title"], ["formData", "message"],
    ]

    static func operation(_ path: [String], _ value: JSONValue?) -> JSONValue {
        path.count == 1
            ? ServerJSON.operation.with(path[0], value) : ServerJSON.operation.with(path[0], path[1], value)
    }

    @Test(arguments: required, [nil, .null, 5, true, [], [:]] as [JSONValue?])
    func aRequiredMemberMissingOrOfAnotherTypeRefusesTheOperation(path: [String], value: JSONValue?) {
        let issue = Self.issue { try UserOperation(parsing: Self.operation(path, value)) }
        // An empty object in the place of an object is refused for what it lacks.
        #expect(issue?.path.hasPrefix(path.joined(separator: ".")) == true)
        if value == nil { #expect(issue?.reason == .missing) }
        if value == .null { #expect(issue?.reason == .null) }
    }

    @Test(arguments: [
        "id", "name", "data", "status", "operationCreated", "operationExpires", "allowedSignatureType", "formData",
    ])
    func aDecisionMemberGivenTwiceRefusesTheOperation(name: String) throws {
        let value = try #require(ServerJSON.operation[name])
        let issue = Self.issue {
            try UserOperation(parsing: ServerJSON.operation.repeating(name, value))
        }
        #expect(issue?.path == name)
        #expect(issue?.reason == .repeated)
    }

    @Test func anEmptyIdentifierNamesNothing() {
        #expect(Self.issue { try UserOperation(parsing: ServerJSON.operation.with("id", "")) } != nil)
    }

    @Test(arguments: [
        ("PENDING", UserOperation.Status.pending), ("APPROVED", .approved), ("REJECTED", .rejected),
        ("CANCELED", .canceled),
        ("EXPIRED", .expired), ("FAILED", .failed), ("pending", .unknown("pending")), ("NEW", .unknown("NEW")),
        ("", .unknown("")), ("P\u{415}NDING", .unknown("P\u{415}NDING")),
    ])
    func statusesAreMatchedExactly(text: String, status: UserOperation.Status) throws {
        let operation = try UserOperation(parsing: ServerJSON.operation.with("status", .string(text)))
        #expect(operation.status == status)
        #expect(operation.status.rawValue == text)
        #expect(operation.isAuthorizable == (status == .pending))
        #expect(operation.allows(.possessionAndKnowledge(password: "1234")) == (status == .pending))
    }

    @Test(arguments: [nil, .null] as [JSONValue?])
    func olderServersSendNoStatus(status: JSONValue?) throws {
        #expect(try UserOperation(parsing: ServerJSON.operation.with("status", status)).status == .pending)
    }

    @Test(arguments: [1, true, ["PENDING"]] as [JSONValue])
    func aStatusThatIsNoTextRefusesTheOperation(status: JSONValue) {
        let issue = Self.issue { try UserOperation(parsing: ServerJSON.operation.with("status", status)) }
        #expect(issue?.path == "status")
    }

    @Test(arguments: ["3FA", "2fa", ""])
    func anUnknownSignatureTypeRefusesTheOperation(type: String) {
        let json = ServerJSON.operation.with("allowedSignatureType", "type", .string(type))
        let issue = Self.issue { try UserOperation(parsing: json) }
        #expect(issue?.path == "allowedSignatureType.type")
    }

    @Test func anUnknownVariantIsLeftOutAndReported() throws {
        let variants: JSONValue = [
            "possession", "possession_dna", 5, "POSSESSION_KNOWLEDGE", "possession_knowledge", nil,
        ]
        let operation = try UserOperation(
            parsing: ServerJSON.operation.with("allowedSignatureType", "variants", variants)
        )
        #expect(operation.allowedSignatureType.variants == [.possession, .possessionKnowledge])
        #expect(operation.isAuthorizable)
        #expect(
            operation.issuePaths == [
                "allowedSignatureType.variants[1]", "allowedSignatureType.variants[2]",
                "allowedSignatureType.variants[3]", "allowedSignatureType.variants[5]",
            ]
        )
    }

    @Test(arguments: [nil, .null, [], ["possession_dna"], "possession"] as [JSONValue?])
    func withoutAKnownVariantNothingCanBeAuthorized(variants: JSONValue?) throws {
        let operation = try UserOperation(
            parsing: ServerJSON.operation.with("allowedSignatureType", "variants", variants)
        )
        #expect(!operation.isAuthorizable)
        #expect(!operation.allows(.possession))
    }

    @Test func factorsAreAllowedByVariant() {
        let password = Activation.Authentication.possessionAndKnowledge(password: "1234")
        let biometry = Activation.Authentication.possessionAndBiometry(
            key: SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        )
        let one = UserOperation.AllowedSignatureType(kind: .singleFactor, variants: [.possession])
        #expect(one.allows(.possession) && !one.allows(password) && !one.allows(biometry) && !one.isBiometryAllowed)
        let two = UserOperation.AllowedSignatureType(
            kind: .twoFactors,
            variants: [.possessionKnowledge, .possessionBiometry]
        )
        #expect(!two.allows(.possession) && two.allows(password) && two.allows(biometry) && two.isBiometryAllowed)
        #expect(LocalOperation(id: "1", data: "A1").allows(.possession))
    }

    @Test(arguments: [
        "2018-08-08T12:30:42Z", "2018-08-08T12:30:42+00:00", "2018-08-08T14:30:42+0200", "2018-08-08T12:30:42.000Z",
        "2018-08-08T13:30:42.000000+01:00",
    ])
    func datesMayHaveAnyOffset(text: String) throws {
        let operation = try UserOperation(parsing: ServerJSON.operation.with("operationCreated", .string(text)))
        #expect(operation.created.timeIntervalSince1970 == 1_533_731_442)
    }

    @Test(arguments: ["2018-08-08T12:30:42", "2018-08-08", "now", "", 1_533_731_442, 1_533_731_442_000] as [JSONValue])
    func datesWithoutAnOffsetAreRefused(value: JSONValue) {
        #expect(Self.issue { try UserOperation(parsing: ServerJSON.operation.with("operationExpires", value)) } != nil)
    }

    // MARK: What is only shown

    @Test(
        arguments: [
            ("statusReason", 5), ("ui", "text"), ("ui", []), ("proximityCheck", 1), ("proximityCheck", ["otp": "1"]),
        ] as [(String, JSONValue)]
    )
    func anOptionalMemberOfTheWrongTypeIsNilAndReported(name: String, value: JSONValue) throws {
        let operation = try UserOperation(parsing: ServerJSON.operation.with(name, value))
        #expect(operation.statusReason == nil && operation.ui == nil && operation.proximityCheck == nil)
        #expect(operation.issues.count == 1)
        #expect(operation.issuePaths.first?.hasPrefix(name) == true)
    }

    @Test func oneBadResultTextIsNilAndReported() throws {
        let texts: JSONValue = ["success": "Done", "failure": 5]
        let operation = try UserOperation(parsing: ServerJSON.operation.with("formData", "resultTexts", texts))
        #expect(operation.formData.resultTexts == OperationForm.ResultTexts(success: "Done"))
        #expect(operation.issuePaths == ["formData.resultTexts.failure"])
        #expect(operation.issues.first?.json == [UInt8]("5"))
        let wrong = try UserOperation(parsing: ServerJSON.operation.with("formData", "resultTexts", "Done"))
        #expect(wrong.formData.resultTexts == nil)
        #expect(wrong.issuePaths == ["formData.resultTexts"])
    }

    @Test func aTextThatNoStringCanHoldIsNoText() throws {
        let broken = #"{"id":"\ud800"}"#
        #expect(Self.issue { try UserOperation(parsing: [UInt8](broken)) } != nil)
        let text = String(decoding: ServerJSON.operation.serialized(), as: UTF8.self)
        let operation = try UserOperation(parsing: [UInt8](text.dropLast() + #","statusReason":"\udc00"}"#))
        #expect(operation.statusReason == nil)
        #expect(operation.issuePaths == ["statusReason"])
    }

    // MARK: Custom members, coding and equality

    private struct PlaySound: Decodable, Equatable {
        var playSound: Bool
        var volume: Decimal
        var until: Date
    }

    @Test func customMembersReachTheApplication() throws {
        let json = try JSONValue(
            parsing: #"{"playSound":true,"volume":0.123456789012345678,"until":"2018-08-08T12:35:43Z"}"#
        )
        let members = json.object?.members ?? []
        let operation = try UserOperation(parsing: members.reduce(ServerJSON.operation) { $0.with($1.key, $1.value) })
        let custom = try operation.decodeCustom(PlaySound.self)
        #expect(custom.volume == Decimal(string: "0.123456789012345678"))
        #expect(custom.until == operation.expires)
        #expect(operation[custom: "volume"]?.number?.literal == "0.123456789012345678")
        #expect(operation[custom: "nothing"] == nil)
        #expect(operation.issues.isEmpty)
        #expect(throws: (any Error).self) {
            try UserOperation(parsing: ServerJSON.operation).decodeCustom(PlaySound.self)
        }
    }

    @Test func theJSONIsKeptAsItCame() throws {
        let json = ServerJSON.operation.with("custom", .number(try #require(JSONNumber(literal: "1.50")))).serialized()
        #expect(try UserOperation(parsing: json).json == json)
        let spaced = [UInt8](String(decoding: json, as: UTF8.self).replacing("\":", with: "\" :\t"))
        #expect(try UserOperation(parsing: spaced).json == spaced)
    }

    @Test func equalityIsWhatTheServerSaid() throws {
        let one = try UserOperation(parsing: ServerJSON.operation)
        #expect(one == (try UserOperation(parsing: ServerJSON.operation)))
        let reordered = JSONObject((ServerJSON.operation.object?.members ?? []).reversed())
        #expect(one == (try UserOperation(parsing: .object(reordered))))
        #expect(one.hashValue == (try UserOperation(parsing: .object(reordered))).hashValue)
        #expect(one != (try UserOperation(parsing: ServerJSON.operation.with("name", "other"))))
        #expect(one != (try UserOperation(parsing: ServerJSON.operation.with("custom", 1))))
        // Another form of the same letter is another text.
        for member in ["id", "data"] {
            let forms = ["é", "e\u{301}"].map { ServerJSON.operation.with(member, .string($0)) }
            #expect(try UserOperation(parsing: forms[0]) != UserOperation(parsing: forms[1]))
        }
        var checked = one
        checked.proximityCheck = UserOperation.ProximityCheck(totp: "1", source: .qrCode, received: one.created)
        #expect(one != checked)
        checked.proximityCheck = nil
        #expect(one == checked)
        checked.mobileTokenData = ["a": 1]
        #expect(one != checked)
    }

    @Test func codingLosesNothing() throws {
        let attribute: JSONValue = [
            "type": "AMOUNT", "id": "a", "label": "A", "currency": "CZK",
            "amount": .number(try #require(JSONNumber(literal: "2199.40"))),
        ]
        var operation = try UserOperation(parsing: ServerJSON.operation(attributes: attribute))
        #expect(try JSONDecoder().decode(UserOperation.self, from: JSONEncoder().encode(operation)) == operation)
        operation.proximityCheck = UserOperation.ProximityCheck(
            totp: "12345678",
            source: .deepLink,
            received: operation.created
        )
        #expect(try JSONDecoder().decode(UserOperation.self, from: JSONEncoder().encode(operation)) == operation)
        operation.proximityCheck = UserOperation.ProximityCheck(
            totp: "12345678",
            source: .qrCode,
            localDate: operation.created
        )
        operation.mobileTokenData = ["platform": "server"]
        let decoded = try JSONDecoder().decode(UserOperation.self, from: JSONEncoder().encode(operation))
        #expect(decoded == operation)
        #expect(decoded.formData == operation.formData)
        #expect(decoded.proximityCheck == operation.proximityCheck)
        #expect(decoded.mobileTokenData == operation.mobileTokenData)
    }

    @Test func aCoderMayReadTheServersJSON() throws {
        let operation = try JSONDecoder().decode(UserOperation.self, from: Data(ServerJSON.operation.serialized()))
        #expect(operation.formData.title == "Potvrzení platby")
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(UserOperation.self, from: Data("{}".utf8)) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(UserOperation.self, from: Data("[1]".utf8)) }
    }
}
