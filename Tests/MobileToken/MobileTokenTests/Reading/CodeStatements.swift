import Foundation
import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import MobileTokenScreens
import TestSupport
import Testing

/// "How outside input is read", sections "Offline QR", "Proximity codes" and "Push".
@Suite struct CodeStatements {
    @Test(arguments: Self.offline + Self.proximity + Self.push) func holds(_ statement: Statement) throws {
        #expect(try statement.holds(), "\(statement)")
    }

    // MARK: Offline QR

    private static let signature = Data(count: 70).base64EncodedString()

    private static func text(
        id: String = "1",
        title: String = "T",
        data: String = "A1*Tt",
        flags: String = "B",
        more: [String] = [],
        nonce: String = "AD8bOO0Df73kNaIGb3Vmpg==",
        signature: String = "0" + Self.signature
    ) -> String {
        ([id, title, "M", data, flags] + more + [nonce, signature]).joined(separator: "\n")
    }

    private static func read(_ text: String) throws -> OfflineOperation {
        try OfflineOperation.Unverified(parsing: text).verified { _, _, _ in true }
    }

    /// The code that a text is refused with; nil when it is not refused.
    private static func refusal(_ text: String) -> OfflineOperation.ParsingError.Code? {
        do {
            _ = try OfflineOperation.Unverified(parsing: text)
            return nil
        } catch {
            return error.code
        }
    }

    private static func field(_ field: String) throws -> UserOperation.SignedData.Field? {
        try Self.read(Self.text(data: "A1*\(field)")).operationData.fields.first
    }

    private static let invisible = ["\0", "\r", "\t", "\u{1B}", "\u{7F}", "\u{85}", "\u{FEFF}"]

    private static let offline: [Statement] = [
        Statement("lines split at LF; a CR is a character like any other") {
            let operation = try Self.read(Self.text(title: "a\r", flags: "B\r"))
            return operation.title == "a\r" && operation.flags.text == "B\r"
        },
        Statement("fewer than 7 lines: missingLine") {
            Self.refusal("1\nT\nM\nA1\nB\nnonce") == .missingLine && Self.refusal("") == .missingLine
        },
        Statement("from 8 lines on, line 6 is the one-time code") {
            try Self.read(Self.text(more: ["123"])).totp == "123"
                && Self.read(Self.text(more: ["123", "new"])).totp == "123"
        },
        Statement("an empty one is absent for the user, and the signed data end in &") {
            let operation = try Self.read(Self.text(more: [""]))
            return operation.totp == nil && operation.dataToSign == Array("1&A1*Tt&".utf8)
        },
        Statement("one line end after the last line is left out before reading") {
            try Self.read(Self.text() + "\n").dataToSign == Self.read(Self.text()).dataToSign
                && Self.refusal("1\nT\nM\nA1\nB\nnonce\n") == .missingLine
        },
        Statement("anything else after the signature: refused") {
            ["\n\n", "\r\n", "\r", " ", "x", "\n "].allSatisfy { Self.refusal(Self.text() + $0) != nil }
        },
        Statement("control characters, NUL, a byte-order mark in the identifier: refused") {
            Self.invisible.allSatisfy { Self.refusal(Self.text(id: "1\($0)")) == .invalidOperationID }
                && Self.refusal("\u{FEFF}" + Self.text()) == .invalidOperationID
        },
        Statement("… or in the data: refused") {
            Self.invisible.allSatisfy { Self.refusal(Self.text(data: "A1*Tt\($0)")) == .invalidOperationData }
        },
        Statement("a blank identifier too") {
            ["", " ", "\u{A0}\u{2003}"].allSatisfy { Self.refusal(Self.text(id: $0)) == .invalidOperationID }
        },
        Statement("at most 5 fields; a sixth: refused") {
            try Self.read(Self.text(data: "A1*1*2*3*4*5")).operationData.fields.count == 5
                && Self.refusal(Self.text(data: "A1*1*2*3*4*5*6")) == .tooManyFields
        },
        Statement("version and template: one ASCII capital, then 0 to 99 in one or two ASCII digits") {
            try ["A0", "B7", "Z99", "A07"].allSatisfy { data in try Self.read(Self.text(data: data)).id == "1" }
                && ["A+5", "A007", "Ä1", "a1", "A", "A٣", "1"].allSatisfy {
                    Self.refusal(Self.text(data: $0)) == .invalidOperationData
                }
        },
        Statement("escapes: one pass, left to right; any other backslash stays, a last one too") {
            let title = try Self.read(Self.text(title: #"a\nb\\nc\*d\xe\"#)).title
            return try title == "a\nb\\nc\\*d\\xe\\" && Self.field(#"Ta\nb\\\*c\"#) == .text("a\nb\\*c\\")
        },
        Statement("a separator with a combining mark behind it is a separator") {
            let fields = try Self.read(Self.text(data: "A1*\u{301}x*\u{301}")).operationData.fields
            return fields == [.unknown(letter: "\u{301}", text: "x"), .unknown(letter: "\u{301}", text: "")]
        },
        Statement("amount: optional -, ASCII digits with at most one dot, at least one digit, three ASCII letters") {
            let good = [("A100CZK", "100"), ("A.75eur", "0.75"), ("A75.EUR", "75"), ("A-5.10GBP", "-5.10")]
            return try good.allSatisfy { field, value in
                guard case .amount(let amount, let currency, let digits)? = try Self.field(field) else { return false }
                return amount == Decimal(string: value) && currency == field.suffix(3).uppercased()
                    && digits == field.dropFirst().dropLast(3)
            }
        },
        Statement("A1,5EUR, A1e2EUR, A+5EUR, ANaNEUR, A.EUR, A100CZ: invalidAmount") {
            ["A1,5EUR", "A1e2EUR", "A+5EUR", "ANaNEUR", "A.EUR", "A100CZ", "A5E\u{301}UR", "A٣EUR"].allSatisfy {
                Self.refusal(Self.text(data: "A1*\($0)")) == .invalidAmount
            }
        },
        Statement("account: IBAN or IBAN,BIC in ASCII capitals and digits; a trailing comma is no BIC") {
            try Self.field("ICZ1,BIC2") == .account(iban: "CZ1", bic: "BIC2")
                && Self.field("ICZ1,") == .account(iban: "CZ1", bic: nil)
                && ["I,BIC", "Icz1", "ICZ1,BIC,", "I", "IČ1"].allSatisfy {
                    Self.refusal(Self.text(data: "A1*\($0)")) == .invalidAccount
                }
        },
        Statement("date: eight digits that are a day; else refused") {
            try Self.field("D20240229")
                == .date(year: 2024, month: 2, day: 29)
                && ["D20230229", "D2024022", "D202402290", "D+2024022"].allSatisfy {
                    Self.refusal(Self.text(data: "A1*\($0)")) == .invalidDate
                }
        },
        Statement("nonce: 16 bytes, padded Base64") {
            ["", "AAAA", "AD8bOO0Df73kNaIGb3Vmpg", "AD8bOO0Df73kNaIGb3Vmp_=="].allSatisfy {
                Self.refusal(Self.text(nonce: $0)) == .invalidNonce
            }
        },
        Statement("signature: 0 or 1, then padded Base64 of 64 to 255 bytes") {
            [64, 255].allSatisfy {
                Self.refusal(Self.text(signature: "1" + Data(count: $0).base64EncodedString())) == nil
            }
                && [0, 63, 256].allSatisfy {
                    Self.refusal(Self.text(signature: "1" + Data(count: $0).base64EncodedString()))
                        == .malformedSignature
                } && Self.refusal(Self.text(signature: "2" + Self.signature)) == .malformedSignature
        },
        Statement("unknown flags, unknown letters, an empty field, a version other than A: kept, no error") {
            let operation = try Self.read(Self.text(data: "Q1**ŽX", flags: "ZB"))
            return operation.flags.text == "ZB" && operation.operationData.version == "Q"
                && operation.operationData.fields == [.empty, .unknown(letter: "Ž", text: "X")]
        },
    ]

    // MARK: Proximity codes

    private static func token(_ payload: String) -> String {
        "e30." + Data(payload.utf8).base64EncodedString().replacing("=", with: "")
    }

    /// Returns whether a text reads as this code, as a string, in a QR code, and as a `URL` where it is one.
    private static func reads(_ link: String, _ operationID: String?, _ totp: String? = nil) -> Bool {
        let expected = operationID.flatMap { ProximityCode(operationID: $0, totp: totp) }
        let url = URL(string: link).map { ProximityCode(deepLink: $0) } ?? expected
        return [ProximityCode(deepLink: link), ProximityCode(qrCode: link), url].allSatisfy { code in
            code?.operationID.unicodeScalars.elementsEqual(expected?.operationID.unicodeScalars ?? "".unicodeScalars)
                ?? (expected == nil) && code?.totp == expected?.totp
        }
    }

    private static let proximity: [Statement] = [
        Statement("oid before code; the first of several; totp before potp") {
            Self.reads("s://o?code=e30.e30&oid=1", "1") && Self.reads("s://o?oid=1&oid=2&totp=3&totp=4", "1", "3")
                && Self.reads("s://o?oid=1&potp=2&totp=3", "1", "3")
        },
        Statement("an empty value is none, an empty oid refuses") {
            Self.reads("s://o?oid=1&totp=&potp=2", "1", "2") && Self.reads("s://o?oid=1&totp=", "1")
                && Self.reads("s://o?oid=&code=\(Self.token(#"{"oid":"1"}"#))", nil)
        },
        Statement("scheme, host and path are not checked") {
            ["https://a.b/c?oid=1", "x://?oid=1", "My-App+1.0://?oid=1", "my_app://o?oid=1"].allSatisfy {
                Self.reads($0, "1")
            }
        },
        Statement("a fragment is not part of the value") {
            Self.reads("s://o?oid=1#2", "1") && Self.reads("s://o?oid=1#&totp=2", "1")
                && Self.reads("s://o#?oid=1", nil)
        },
        Statement("query values are percent-decoded once and a plus stays a plus") {
            Self.reads("s://o?oid=a+b%2520c%2F", "a+b%20c/") && Self.reads("s://o?%6Fid=1", "1")
        },
        Statement("broken escapes and what is not UTF-8: nil") {
            ["%", "%z", "%zz", "%4", "%FF", "a%ff"].allSatisfy { Self.reads("s://o?oid=\($0)", nil) }
        },
        Statement("a JWT from the parameter code, from scheme://code=…, or bare") {
            let token = Self.token(#"{"oid":"ABCdef","potp":"2"}"#)
            return Self.reads("s://o?code=\(token)", "ABCdef", "2") && Self.reads("s://code=\(token)", "ABCdef", "2")
                && ProximityCode(qrCode: token) == ProximityCode(operationID: "ABCdef", totp: "2")
        },
        Statement("two or three parts, none of the first two empty") {
            let token = Self.token(#"{"oid":"1"}"#)
            let payload = token.dropFirst(4)
            return [token, token + ".", token + ".sig"].allSatisfy { ProximityCode(qrCode: $0) != nil }
                && [".\(payload)", "e30.", "e30", "\(token).a.b", "e30..a"].allSatisfy {
                    ProximityCode(qrCode: $0) == nil
                }
        },
        Statement("the payload UTF-8 JSON with text members") {
            ["", "[]", #"{"oid":1}"#, #"{"oid":"1","totp":2}"#, #"{"oid":"1","oid":"2"}"#].allSatisfy {
                ProximityCode(qrCode: Self.token($0)) == nil
            }
        },
        Statement("the same text reads the same as a string or as a URL") {
            ["é", "e\u{301}", "a b", "a b%20c", "%C3%A4ä", "[1]|{}", "\u{202E}x", "a%20", "a%zz b"].allSatisfy {
                value in
                let link = "s://o?oid=\(value)&totp=1"
                guard let url = URL(string: link) else { return false }
                let (string, fromURL) = (ProximityCode(deepLink: link), ProximityCode(deepLink: url))
                return string?.operationID.utf8.elementsEqual(fromURL?.operationID.utf8 ?? "".utf8) ?? (fromURL == nil)
            }
        },
        Statement("splitting is by bytes, never by grapheme") {
            Self.reads("s://o?oid=1&\u{301}x=2&totp=3", "1", "3") && Self.reads("s://o?\u{301}a=1&oid=2", "2")
                && Self.reads("s://o?oid=\u{301}1", "\u{301}1") && Self.reads("s://\u{301}?oid=1", "1")
                && ProximityCode(qrCode: Self.token(#"{"oid":"1"}"#) + ".\u{301}") != nil
        },
        Statement("names are matched exactly") {
            ProximityCode(deepLink: "s://o?o\u{0456}d=1") == nil && ProximityCode(deepLink: "s://o?OID=1") == nil
        },
        Statement("white space around the whole input is left out") {
            ["\n", " ", "\r\n", "\t", "\u{A0}"].allSatisfy { blank in
                let code = ProximityCode(operationID: "1")
                return ProximityCode(deepLink: "\(blank)s://o?oid=1\(blank)") == code
                    && ProximityCode(qrCode: "\(blank)\(Self.token(#"{"oid":"1"}"#))\(blank)") == code
            }
        },
        Statement("control characters in a value refuse") {
            ["%00", "%0A", "1%0D", "\u{1}1", "%7F", "%C2%85"].allSatisfy { Self.reads("s://o?oid=\($0)", nil) }
                && Self.reads("s://o?oid=1&totp=2%00", nil)
                && [#"{"oid":"1\u0000"}"#, #"{"oid":"1","totp":"2\n"}"#].allSatisfy {
                    ProximityCode(qrCode: Self.token($0)) == nil
                }
        },
        Statement("anything else: nil") {
            ["", " ", "abc", "s:o?oid=1", "://o?oid=1", "s://o", "s://o?totp=1"].allSatisfy { Self.reads($0, nil) }
        },
    ]

    // MARK: Push

    private static func payload(_ json: String) -> PushPayload? { PushPayload(parsing: Array(json.utf8)) }

    private static func created(_ aps: String) -> PushPayload? {
        Self.payload(#"{"messageType":"mtoken.operationInit","operationId":"1","operationName":"n","aps":\#(aps)}"#)
    }

    private static let push: [Statement] = [
        Statement("operationInit, operationFinished, inboxMessage.new, statusChange") {
            Self.created("null") == .operationCreated(id: "1", name: "n", content: nil)
                && Self.payload(
                    #"{"messageType":"mtoken.operationFinished","operationId":"1","operationName":"n","#
                        + #""mtokenOperationResult":"operation.timeout"}"#
                ) == .operationFinished(id: "1", name: "n", result: .timeout)
                && Self.payload(#"{"messageType":"mtoken.inboxMessage.new","inboxId":"1"}"#)
                    == .inboxMessageReceived(id: "1")
                && Self.payload(#"{"messageType":"mtoken.statusChange","activationId":"1"}"#)
                    == .activationStatusChanged(activationID: "1")
        },
        Statement("a member given twice, at any depth that is read, refuses") {
            [
                #"{"alert":{"title":"a","title":"b","body":"c"}}"#, #"{"alert":{},"alert":{}}"#,
                #"{"alert":{"title":"a","body":"b","bo\u0064y":"c"}}"#,
            ].allSatisfy { Self.created($0) == nil }
                && Self.payload(#"{"messageType":"mtoken.inboxMessage.new","inboxId":"1","inboxId":"1"}"#) == nil
                && Self.payload(
                    #"{"messageType":"mtoken.inboxMessage.new","messageType":"mtoken.inboxMessage.new","inboxId":"1"}"#
                ) == nil
        },
        Statement("a member that is not read may be anything") {
            Self.payload(
                #"{"messageType":"mtoken.inboxMessage.new","inboxId":"1","x":1,"x":"\ud800","aps":{"a":1,"a":2},"aps":5}"#
            ) == .inboxMessageReceived(id: "1")
                && Self.created(#"{"badge":1,"badge":2,"alert":{"title":"a","body":"b","x":1,"x":2}}"#)
                    == .operationCreated(id: "1", name: "n", content: .init(title: "a", message: "b"))
        },
        Statement("both title and body, or no content") {
            [#"{"alert":{"title":"a"}}"#, #"{"alert":{"body":"b"}}"#, #"{"alert":{"title":"a","body":5}}"#].allSatisfy {
                Self.created($0) == .operationCreated(id: "1", name: "n", content: nil)
            }
        },
        Statement("empty ids refuse") {
            Self.payload(#"{"messageType":"mtoken.inboxMessage.new","inboxId":""}"#) == nil
                && Self.payload(#"{"messageType":"mtoken.operationInit","operationId":"","operationName":"n"}"#) == nil
        },
        Statement("aps.alert as a plain text: no content") {
            Self.created(#"{"alert":"hello"}"#) == .operationCreated(id: "1", name: "n", content: nil)
        },
    ]
}
