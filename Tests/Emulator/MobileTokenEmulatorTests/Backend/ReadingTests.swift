import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import TestSupport
import Testing

@testable import EmulatorBackend

/// "How outside input is read", from the server's side: it produces only what a device accepts, and refuses what is not of
/// the documented form.
@Suite struct ReadingTests {
    private static func custom(data: String, title: String = "t", message: String = "m") -> JSONValue {
        [
            "userId": "alice", "operationType": "custom", "data": .string(data),
            "formData": ["title": .string(title), "message": .string(message), "attributes": []],
        ]
    }

    /// The lines of the QR code of an operation, split as devices split them; nil when there is none.
    private static func lines(_ request: JSONValue) throws -> [String]? {
        var fixture = try BackendFixture()
        let created = fixture.cloud("POST", "/v2/operations", request)
        let id = try #require(created.json["operationId"]?.string)
        let reply = fixture.cloud("GET", "/v2/operations/\(id)/offline/qr")
        guard let text = reply.json["operationQrCodeData"]?.string else {
            #expect(reply.outcome == "400 ERROR_REQUEST")
            return nil
        }
        return text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
    }

    private static func payment(note: String) throws -> [String]? {
        try Self.lines(["userId": "alice", "template": "payment", "parameters": ["note": .string(note)]])
    }

    private static func outcome(_ path: String, _ body: String) throws -> String {
        var fixture = try BackendFixture()
        let credentials = Base64.encode(Array("cloud:secret".utf8))
        return fixture.send(
            "POST",
            path,
            headers: [("Authorization", "Basic \(credentials)")],
            body: Array(body.utf8)
        ).outcome
    }

    private static let statements: [Statement] = [
        Statement("lines split at LF: a note cannot add any") {
            let lines = try Self.payment(note: "evil\r\nBXFC\r\nzz")
            return lines?.count == 7 && lines?[3].hasSuffix(#"*Nevil\nBXFC\nzz"#) == true && lines?[4] == "BX"
        },
        Statement("… whatever stands around the line feed") {
            try ["\n", "\r\n", "\n\u{301}", "\r\n\r\n", "\n\n"].allSatisfy {
                try Self.payment(note: "a\($0)b")?.count == 7
            }
        },
        Statement("escapes: a note cannot add fields") {
            try ["a*b", "a*\u{301}b", "a\\*b", "*\u{20DD}", "a\\"].allSatisfy { note in
                let lines = try #require(try Self.payment(note: note))
                var fields = 0
                var isEscaped = false
                for byte in lines[3].utf8 {
                    if byte == UInt8(ascii: "*"), !isEscaped { fields += 1 }
                    isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                }
                return fields == 4
            }
        },
        Statement("a CR in a shown line is a character like any other") {
            try Self.lines(Self.custom(data: "A1", title: "a\rb", message: "c\r\nd"))?[1...2] == ["a\rb", #"c\nd"#]
        },
        Statement("control characters, NUL, a byte-order mark in the data: no code") {
            try ["\0", "\r", "\t", "\u{1B}", "\u{7F}", "\u{85}", "\u{FEFF}", "\n"].allSatisfy {
                try Self.lines(Self.custom(data: "A1*Ta\($0)b")) == nil
            } && Self.payment(note: "a\rb") == nil
        },
        Statement("at most 5 fields: no code for a sixth") {
            try Self.lines(Self.custom(data: "A1*1*2*3*4*5")) != nil
                && Self.lines(Self.custom(data: "A1*1*2*3*4*5*6")) == nil
        },
        Statement("version and template: one ASCII capital, one or two ASCII digits") {
            try ["A0", "Z99*", #"A1*T\*\\"#].allSatisfy { try Self.lines(Self.custom(data: $0)) != nil }
                && ["hello", "A+5", "A007", "Ä1", "A", "a1"].allSatisfy { try Self.lines(Self.custom(data: $0)) == nil }
        },
        Statement("amount, account and date have their form") {
            try ["A1*A.75eur*ICZ1,*D20240229", "A1*A-5.CZK*IA1,B2", "A1*Xanything**"].allSatisfy {
                try Self.lines(Self.custom(data: $0)) != nil
            }
                && ["A1,5EUR", "A1e2EUR", "A+5EUR", "A.EUR", "A100CZ", "AEUR", "I,B", "Icz", "D20230229", "D2024"]
                    .allSatisfy { try Self.lines(Self.custom(data: "A1*\($0)")) == nil }
        },
        Statement("a member given twice refuses") {
            try [
                #"{"template":"login","template":"payment","userId":"alice"}"#,
                #"{"template":"login","userId":"alice","userId":"bob"}"#,
                #"{"template":"payment","userId":"alice","parameters":{"note":"a","note":"b"}}"#,
                #"{"operationType":"x","data":"A1","data":"A2","formData":{"title":"t","message":"m"}}"#,
                #"{"operationType":"x","data":"A1","formData":{"title":"t","title":"u","message":"m"}}"#,
            ].allSatisfy { try Self.outcome("/v2/operations", $0) == "400 ERROR_REQUEST" }
        },
        Statement("a member that is not read may be anything") {
            let form = #"{"title":"t","message":"m","x":1,"x":2}"#
            let body = #"{"operationType":"x","data":"A1","formData":\#(form)}"#
            return try Self.outcome("/v2/operations", body) == "200 PENDING"
                && Self.outcome("/pa/v3/status", #"{"x":1,"x":2}"#) == "200 OK"
        },
        Statement("a member that PowerAuth Cloud does not know is ignored") {
            try Self.outcome("/v2/operations", #"{"template":"login","userId":"a","x":1}"#) == "200 PENDING"
        },
        Statement("allowedSignatureType.type or variant unknown: refused") {
            try [#"{"type":"3FA","variants":["possession"]}"#, #"{"type":"2FA","variants":["magic"]}"#].allSatisfy {
                let body =
                    #"{"operationType":"x","data":"A1","formData":{"title":"t","message":"m"},"#
                    + #""allowedSignatureType":\#($0)}"#
                return try Self.outcome("/v2/operations", body) == "400 ERROR_REQUEST"
            }
        },
        Statement("required members of the form: title and message") {
            try [#"{"title":"t"}"#, #"{"message":"m"}"#, #"{"title":5,"message":"m"}"#, "[]"].allSatisfy {
                try Self.outcome("/v2/operations", #"{"operationType":"x","data":"A1","formData":\#($0)}"#)
                    == "400 ERROR_REQUEST"
            }
        },
        Statement("users are told apart exactly") {
            var fixture = try BackendFixture()
            let message: JSONValue = [
                "userId": "e\u{301}va", "subject": "s", "summary": "s", "body": "b",
            ]
            _ = fixture.cloud("POST", "/v2/inbox/messages", message)
            _ = fixture.cloud("POST", "/v2/operations", ["userId": "e\u{301}va", "template": "login"])
            let device = try fixture.deviceWithToken(user: "éva")
            let count = device.sendWithToken("/api/inbox/count", in: &fixture)
            return count.object["countUnread"] == 0 && device.operations(in: &fixture).isEmpty
        },
        Statement("symbols are of exactly one currency") {
            ["CZK", "CZ\u{212A}"].map { code in
                MonetaryFormat.members("1", code, for: ReaderLocale(tag: "cs")) { $0 }["CurrencyFormatted"]?.string
            } == ["Kč", "CZ\u{212A}"]
        },
        Statement("placeholders end at their brace, whatever follows it") {
            Placeholders.parts(of: "${a}\u{301}b") == [.parameter("a"), .literal("\u{301}b")]
        },
    ]

    @Test(arguments: Self.statements) func holds(_ statement: Statement) throws {
        #expect(try statement.holds(), "\(statement)")
    }

    /// The data that a device signs are compared byte by byte, not letter by letter.
    @Test func otherDataAreOtherData() throws {
        let request = Self.custom(data: "A1*Té")
        var fixture = try BackendFixture()
        let id = try #require(fixture.cloud("POST", "/v2/operations", request).json["operationId"]?.string)
        let operation = try #require(fixture.backend.state.operations[id])
        var approval = ServerOperation.Approval(
            userID: "alice",
            applicationID: operation.applicationID,
            activationID: "a",
            data: "A1*Té",
            factors: .possessionKnowledge
        )
        #expect(operation.objection(to: approval) == nil)
        approval.data = "A1*Te\u{301}"
        #expect(operation.objection(to: approval) != nil)
    }
}
