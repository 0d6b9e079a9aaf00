import ExactJSON
import Foundation
import Testing

@testable import MobileTokenApprovals

@Suite struct CanonicalJSONTests {
    /// RFC 8785 § 3.2.2, 3.2.3.
    @Test func theExampleOfTheStandardIsWrittenAsItSays() throws {
        let input = #"""
            {"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}
            """#
        // The first number of the standard's example is not what a `Double` holds: here it is refused.
        #expect(throws: CanonicalJSON.Failure.inexactNumber) {
            try CanonicalJSON.bytes(of: JSONValue(parsing: input))
        }
        let exact = input.replacingOccurrences(of: "333333333.33333329", with: "333333333.3333333")
        let bytes = try CanonicalJSON.bytes(of: JSONValue(parsing: exact))
        let expected = #"""
            {"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}
            """#
        #expect(String(decoding: bytes, as: UTF8.self) == expected)
    }

    @Test func membersAreSortedByCodeUnits() throws {
        let input = #"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#
        let bytes = try CanonicalJSON.bytes(of: JSONValue(parsing: input))
        // RFC 8785 § 3.2.3: the emoji comes before U+FB33.
        let order = try #require(try JSONValue(parsing: bytes).object?.members.map(\.value))
        #expect(order == [2, 4, 6, 7, 1, 5, 3])
    }

    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("1", "1"), ("-1.5e3", "-1500"), ("1e21", "1e+21"),
        ("123456789012345680000", "123456789012345680000"),
        ("1e-6", "0.000001"), ("1e-7", "1e-7"), ("1.5e-9", "1.5e-9"), ("9007199254740992", "9007199254740992"),
        ("12.50", "12.5"),
    ])
    func numbersAreWrittenAsECMAScriptDoes(_ input: String, _ expected: String) throws {
        #expect(String(decoding: try CanonicalJSON.bytes(of: JSONValue(parsing: input)), as: UTF8.self) == expected)
    }

    @Test(arguments: ["9007199254740993", "1e400", "1e-400", "0.1000000000000000055511151231257827"])
    func aNumberThatLooksLikeAnotherOneIsRefused(_ input: String) throws {
        #expect(throws: ApprovalError.self) { try ApprovalRequest.Action.json(JSONValue(parsing: input)) }
    }

    @Test func aMemberThatIsThereTwiceIsRefused() throws {
        #expect(throws: ApprovalError.self) { try ApprovalRequest.Action.json(JSONValue(parsing: #"{"a":1,"a":2}"#)) }
    }
}

@Suite struct QuestionTests {
    static let question = Question(
        audience: "billing/production",
        id: "deploy-1234",
        nonce: Array(0..<16),
        approver: "alice",
        approvers: .user("alice"),
        template: ApprovalTemplate("deploy", signs: "A9*T${service}*R${binding}"),
        parameters: ["service": "billing"],
        seconds: 300,
        actionDigest: ApprovalRequest.Action.bytes(Array("manifest".utf8)).digest
    )

    /// Computed by another program (Python's `json` and `hashlib`).
    @Test func theBindingIsTheDigestOfTheCanonicalForm() throws {
        let canonical = String(decoding: try CanonicalJSON.bytes(of: Self.question.json), as: UTF8.self)
        #expect(
            canonical
                == #"{"action":"BbOr8leaXrZkA814vlV_2GBjOh_iEDx2QgMN7-MsZX8","approver":"alice","approvers":{"excluding":[],"needed":"1","of":[{"id":"alice","users":["alice"]}],"order":"all at once","rejection":"ends"},"audience":"billing/production","format":"1","id":"deploy-1234","nonce":"AAECAwQFBgcICQoLDA0ODw","operationType":"","parameters":{"service":"billing"},"seconds":"300","signs":"A9*T${service}*R${binding}","template":"deploy","user":"alice"}"#
        )
        let binding = try Self.question.binding()
        #expect(binding.string == "IQdM6bx-30zbi9cPN_yGw7PnMPD7B7_GGGjoWZ_gPLk")
        #expect(binding.fingerprint == "443M-STDW")
    }

    @Test func everyMemberChangesTheBinding() throws {
        let original = try Self.question.binding()
        let q = Self.question
        func changed(
            audience: String? = nil,
            id: String? = nil,
            nonce: [UInt8]? = nil,
            approver: Approvers.Person? = nil,
            approvers: Approvers? = nil,
            template: ApprovalTemplate? = nil,
            parameters: [String: String]? = nil,
            seconds: Int64? = nil,
            digest: [UInt8]? = nil
        ) throws -> Binding {
            try Question(
                audience: audience ?? q.audience,
                id: id ?? q.id,
                nonce: nonce ?? q.nonce,
                approver: approver ?? q.approver,
                approvers: approvers ?? q.approvers,
                template: template ?? q.template,
                parameters: parameters ?? q.parameters,
                seconds: seconds ?? q.seconds,
                actionDigest: digest ?? q.actionDigest
            ).binding()
        }
        let bindings = try [
            original, changed(audience: "billing/staging"), changed(id: "deploy-1235"), changed(nonce: Array(1..<17)),
            changed(approver: "bob"), changed(approver: Approvers.Person("alice", users: ["a"])),
            changed(approvers: .any(1, of: ["alice", "bob"])), changed(approvers: .user("alice").excluding("eve")),
            changed(template: ApprovalTemplate("deploy2", signs: q.template.signs)),
            changed(template: ApprovalTemplate("deploy", signs: q.template.signs + "*N")),
            changed(template: ApprovalTemplate("deploy", signs: q.template.signs, operationType: "x")),
            changed(parameters: ["service": "billing2"]), changed(parameters: ["service": "billing", "x": ""]),
            changed(seconds: 301), changed(digest: ApprovalRequest.Action.bytes(Array("manifesT".utf8)).digest),
        ]
        #expect(Set(bindings.map(\.string)).count == bindings.count)
    }
}

@Suite struct TemplateTests {
    @Test func valuesCannotEndTheirField() throws {
        let template = ApprovalTemplate("t", signs: "A1*N${a}*R${binding}")
        #expect(try template.data(parameters: ["a": #"x*y\z"#, "binding": "b"]) == #"A1*Nx\*y\\z*Rb"#)
    }

    @Test func aTemplateThatDoesNotSignTheBindingIsRefusedWithTheLineToAdd() {
        let template = ApprovalTemplate("t", signs: "A1*N${a}")
        let error = #expect(throws: ApprovalError.self) { try template.check(parameters: ["a"]) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("A1*N${a}*R${binding}") == true)
    }

    @Test(arguments: [
        "A1*N${b}*R${binding}", "A1*N${a*R${binding}", "A1*N@{a}*R${binding}", "A1*R${binding}*${", "A1\n${binding}",
    ])
    func aFormThatCannotBeComparedIsRefused(_ form: String) {
        #expect(throws: ApprovalError.self) { try ApprovalTemplate("t", signs: form).check(parameters: ["a"]) }
    }
}

@Suite struct ApproversTests {
    @Test func impossibleQuorumsAreRefused() {
        for approvers in [
            Approvers.all(of: []), .any(0, of: ["a"]), .any(3, of: ["a", "b"]), .any(2, of: ["a", "b"]).excluding("b"),
            .user(""),
            .all(of: ["a", "A"]), .all(of: [Approvers.Person("a", users: ["x"]), Approvers.Person("b", users: ["x"])]),
            .user("alice").excluding("alice"),
        ] {
            #expect(throws: ApprovalError.self) { try approvers.check() }
        }
    }

    @Test func votesAreCounted() {
        let two = Approvers.any(2, of: ["a", "b", "c"], onRejection: .untilImpossible)
        #expect(two.tally(approved: 1, lost: 0, rejected: 0) == .open)
        #expect(two.tally(approved: 2, lost: 0, rejected: 0) == .approved)
        #expect(two.tally(approved: 1, lost: 1, rejected: 1) == .open)
        #expect(two.tally(approved: 1, lost: 2, rejected: 2) == .impossible)
        let strict = Approvers.any(2, of: ["a", "b", "c"])
        #expect(strict.tally(approved: 2, lost: 1, rejected: 1) == .impossible)
    }
}

@Suite struct StateTests {
    @Test func finalStatesStay() {
        for state in ApprovalState.allCases where state.isFinal && state != .unknown {
            #expect(state.successors.isEmpty)
        }
        #expect(ApprovalState.unknown.successors == [.settled])
        // Nothing is acted on twice: no arrow leads back to a state that can be claimed.
        for state in ApprovalState.allCases where state.wasClaimed {
            #expect(state.successors.isDisjoint(with: [.drafted, .open, .approved, .claimed]))
        }
        // Only what people approved is claimed.
        #expect(ApprovalState.allCases.filter { $0.successors.contains(.claimed) } == [.approved])
    }
}

/// Rows are written by hand, and read by the compiler's decoder.
@Suite struct QuestionRowTests {
    private static let row = """
        {"terms":{"audience":"a","id":"i",\
        "approvers":{"people":[{"id":"alice","users":["al","ali"]}],"needed":1,"isInOrder":true,\
        "onRejection":"untilImpossible","excluded":[{"id":"bob","users":["bob"]}],"isAll":true},\
        "template":{"name":"deploy","signs":"A1*N1","operationType":"login"},"parameters":{"b":"1","a":"é\\n"},"seconds":600,\
        "actionDigest":"AAEC","validFor":1000,"factors":["possession_knowledge"],"devices":["d"],"minimumDeviceAge":5,\
        "offlineRegistrations":{"al":"r"},"deviceKeys":{"al":["k"]},"acceptsUnverifiedData":true,"language":"cs"},\
        "nonce":"AAECAwQFBgcICQoLDA0ODw==","asked":1,"revision":2,"state":"settled",\
        "parts":[{"person":{"id":"alice","users":["al","ali"]},"sent":3,"attempts":4,"operationID":"o","operationType":"t",\
        "created":5,"expires":6,"answer":"discounted","lastPending":7,"finalized":8,"signedData":"A1","registrationID":"r",\
        "factors":"f","reason":"no","evidence":"offlineCode","deviceSignature":"s","isOver":true,"isSurplus":true,\
        "strays":["x"]}],\
        "approved":9,"ended":10,"reason":{"code":"c","message":"m"},"claim":{"token":11,"at":12},\
        "settled":{"outcome":"wasNotDone","person":"carol","at":13}}
        """

    private static func names(_ value: Any) -> Set<String> {
        Set(
            Mirror(reflecting: value).children.compactMap {
                $0.label.map { $0.hasPrefix("_") ? String($0.dropFirst()) : $0 }
            }
        )
    }

    private static func members(of value: JSONValue?) -> Set<String> { Set(value?.object?.members.map(\.key) ?? []) }

    /// One that is forgotten would be lost with the process that knows it.
    @Test func everyMemberIsWrittenAndReadAgain() throws {
        let record = try JSONDecoder().decode(QuestionRecord.self, from: Data(Self.row.utf8))
        #expect(try JSONDecoder().decode(QuestionRecord.self, from: Data(record.serialized)) == record)
        let json = try JSONValue(parsing: record.serialized)
        let (terms, part) = (json["terms"], json["parts"]?[0])
        #expect(json == (try JSONValue(parsing: Self.row)))
        #expect(Self.members(of: json) == Self.names(record).subtracting(["fixed"]).union(["terms", "nonce"]))
        #expect(Self.members(of: terms) == Self.names(record.terms))
        #expect(Self.members(of: terms?["approvers"]) == Self.names(record.terms.approvers))
        #expect(Self.members(of: terms?["template"]) == Self.names(record.terms.template))
        #expect(Self.members(of: part) == Self.names(record.parts[0]))
        #expect(Self.members(of: part?["person"]) == Self.names(record.parts[0].person))
    }
}

/// Number 16: one person is not two by another spelling.
@Suite struct PersonTests {
    @Test(arguments: [
        ("wei\u{DF}", "wei\u{1E9E}"), ("wei\u{DF}", "WEISS"), ("ilker", "\u{130}lker"), ("ilker", "\u{131}lker"),
        ("\u{FF21}lice", "alice"), ("\u{3C3}\u{3BF}\u{3C2}", "\u{3A3}\u{39F}\u{3A3}"), ("\u{FB01}n", "FIN"),
        ("jos\u{E9}", "JOSE\u{301}"), ("\u{13A0}", "\u{AB70}"),
    ])
    func otherLettersOfOneNameAreOnePerson(_ one: String, _ other: String) throws {
        #expect(Approvers.Person(one).mayBe(Approvers.Person(other)))
        for (asked, left) in [(one, other), (other, one)] {
            #expect(throws: ApprovalError.self) { try Approvers.user(asked).excluding(Approvers.Person(left)).check() }
            for isInOrder in [false, true] {
                let both = [Approvers.Person(asked), Approvers.Person(left)]
                #expect(throws: ApprovalError.self) { try Approvers.any(2, of: both, inOrder: isInOrder).check() }
                #expect(throws: ApprovalError.self) { try Approvers.all(of: both, inOrder: isInOrder).check() }
            }
        }
        #expect(Approvers.Person(one).names == Approvers.Person(other).names)
    }

    /// Every character that has another case, and every one that is another form of others.
    @Test func everyCaseOfEveryCharacterIsOnePerson() {
        var count = 0
        for value in UInt32(0)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            guard properties.changesWhenCaseMapped || properties.changesWhenNFKCCaseFolded,
                ApprovalRequest.Parameter.isVisible(scalar), !properties.isWhitespace
            else { continue }
            let name = "x" + String(scalar)
            let forms = [
                name.uppercased(), name.lowercased(), "x" + properties.titlecaseMapping,
                name.precomposedStringWithCompatibilityMapping,
                name.folding(options: .caseInsensitive, locale: nil),
            ]
            for form in forms {
                #expect(
                    Approvers.Person(name).mayBe(Approvers.Person(form)),
                    "U+\(String(value, radix: 16)): \(name) and \(form)"
                )
            }
            count += 1
        }
        #expect(count > 5_000)
    }

    @Test(arguments: [("alice", "alicia"), ("jose", "jos\u{E9}"), ("a\u{308}", "a"), ("\u{3B1}", "a")])
    func othersAreOthers(_ one: String, _ other: String) {
        #expect(!Approvers.Person(one).mayBe(Approvers.Person(other)))
    }
}

/// Number 20: whoever approves sees every character, where it was written.
@Suite struct TextTests {
    private static func isRefused(_ value: String) -> Bool {
        do {
            try ApprovalRequest.Parameter.text(value).check(name: "p")
            return false
        } catch { return true }
    }

    @Test(
        arguments: [
            0x1D159, 0x13441, 0x13442, 0x2800, 0xFFFC, 0x16FE4, 0x2D7F, 0x1107F, 0x3164, 0x115F, 0xFFA0, 0x200B, 0x2060,
            0xAD, 0x34F, 0x17B4, 0x180E, 0x1D173, 0x202E, 0x2066, 0xE0041, 0x3000, 0xA0, 0x1680,
        ] as [UInt32]
    )
    func whatCannotBeSeenIsRefused(_ value: UInt32) throws {
        #expect(Self.isRefused("a" + String(try #require(Unicode.Scalar(value))) + "b"))
    }

    /// By property, so that a later Unicode has them too.
    @Test func everythingInvisibleIsRefused() {
        for value in UInt32(0x80)...0xF_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let properties = scalar.properties
            let isInvisible =
                properties.isDefaultIgnorableCodePoint || properties.isWhitespace || properties.isBidiControl
                || [.control, .format, .privateUse, .unassigned].contains(properties.generalCategory)
            if isInvisible { #expect(!ApprovalRequest.Parameter.isVisible(scalar), "U+\(String(value, radix: 16))") }
        }
    }

    @Test(arguments: [
        "\u{5D0}12", "12 \u{5D0}", "\u{627}\u{661}\u{662}", "CZK 1 \u{5E9}", "\u{7C1}\u{7CA}", "\u{10A00}5",
        "\u{1E900}9", "\u{FB1D}\u{BD}", "\u{FE8D}7", "\u{710}3", "\u{840}4",
    ])
    func digitsBesideLettersFromRightToLeftAreRefused(_ value: String) {
        #expect(Self.isRefused(value))
    }

    @Test(arguments: [
        "\u{5D0}\u{5D1}\u{5D2}", "\u{627}\u{644}\u{639}\u{631}\u{628}\u{64A}\u{629}", "Žluťoučký kůň 7", "日本 42",
        "\u{661}\u{662}\u{663}", "Ω 5", "½ kg", "☕ 3",
    ])
    func whatIsReadAsWrittenIsTaken(_ value: String) {
        #expect(!Self.isRefused(value))
    }
}
