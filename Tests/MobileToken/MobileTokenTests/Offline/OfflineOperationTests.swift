import Foundation
import MobileToken
import MobileTokenOffline
import MobileTokenTesting
import Testing

@Suite struct OfflineOperationTests {
    private static let signature =
        "MEYCIQDby1Uq+MaxiAAGzKmE/McHzNOUrvAP2qqGBvSgcdtyjgIhAMo1sgqNa1pPZTFBhhKvCKFLGDuHuTTYexdmHFjUUIJW"

    /// The text of a QR code. `more` are the lines between flags and nonce.
    private static func text(
        id: String = "5ff1b1ed-a3cc-45a3-8ab0-ed60950312b6",
        title: String = "Payment",
        message: String = "Please confirm this payment",
        data: String = "A1*A100CZK*ICZ2730300000001165254011*D20180425*Thello world",
        flags: String = "BCFX",
        more: [String] = [],
        nonce: String = "AD8bOO0Df73kNaIGb3Vmpg==",
        key: String = "0",
        signature: String = Self.signature
    ) -> String {
        ([id, title, message, data, flags] + more + [nonce, key + signature]).joined(separator: "\n")
    }

    /// Reads a text as if the server's signature were good.
    private func read(_ text: String) throws -> OfflineOperation {
        try OfflineOperation.Unverified(parsing: text).verified { _, _, _ in true }
    }

    private func error(_ text: String) -> OfflineOperation.ParsingError? {
        #expect(throws: OfflineOperation.ParsingError.self) { try OfflineOperation.Unverified(parsing: text) }
    }

    // MARK: Lines

    @Test func readsEveryLine() throws {
        let operation = try self.read(Self.text())
        #expect(operation.id == "5ff1b1ed-a3cc-45a3-8ab0-ed60950312b6")
        #expect(operation.title == "Payment")
        #expect(operation.message == "Please confirm this payment")
        #expect(operation.operationData.text == "A1*A100CZK*ICZ2730300000001165254011*D20180425*Thello world")
        #expect(operation.operationData.version == "A")
        #expect(operation.operationData.templateID == 1)
        #expect(
            operation.operationData.fields == [
                .amount(100, currency: "CZK", digits: "100"),
                .account(iban: "CZ2730300000001165254011", bic: nil),
                .date(year: 2018, month: 4, day: 25),
                .text("hello world"),
            ]
        )
        #expect(operation.nonce == "AD8bOO0Df73kNaIGb3Vmpg==")
        #expect(operation.signingKey == .master)
        #expect(operation.totp == nil)
        #expect(!operation.isNewerFormat)
        #expect(
            operation.dataToSign
                == Array(
                    "5ff1b1ed-a3cc-45a3-8ab0-ed60950312b6&A1*A100CZK*ICZ2730300000001165254011*D20180425*Thello world"
                        .utf8
                )
        )
    }

    @Test func theSixthOfEightLinesIsTheOneTimeCode() throws {
        let operation = try self.read(Self.text(id: "1", data: "A1", more: ["12345678"]))
        #expect(operation.totp == "12345678")
        #expect(!operation.isNewerFormat)
        #expect(operation.dataToSign == Array("1&A1&12345678".utf8))
    }

    @Test func anEmptyOneTimeCodeIsAbsentAndStillSigned() throws {
        let operation = try self.read(Self.text(id: "1", data: "A1", more: [""]))
        #expect(operation.totp == nil)
        #expect(operation.dataToSign == Array("1&A1&".utf8))
    }

    @Test func linesOfNewerFormatsAreKept() throws {
        let operation = try self.read(
            Self.text(id: "1", data: "B2*Xtest", more: ["12345678", "Some Additional Information", ""])
        )
        #expect(operation.isNewerFormat)
        #expect(operation.additionalLines == ["Some Additional Information", ""])
        #expect(operation.operationData.version == "B")
        #expect(operation.operationData.fields == [.unknown(letter: "X", text: "test")])
        #expect(operation.dataToSign == Array("1&B2*Xtest&12345678".utf8))
    }

    @Test(arguments: 0..<7) func fewerThanSevenLinesLackOne(count: Int) {
        let lines = Self.text().split(separator: "\n").prefix(count).joined(separator: "\n")
        let error = self.error(lines)
        #expect(error?.code == .missingLine)
        #expect(error?.line == max(count, 1) + 1)
    }

    @Test func aLineEndsAtLFAloneSoThatACRIsContent() throws {
        let operation = try self.read(Self.text(title: "Payment\r", message: "\r\r", flags: "B\r"))
        #expect(operation.title == "Payment\r")
        #expect(operation.message == "\r\r")
        #expect(operation.flags.text == "B\r")
        // In the identifier, which comes first, a CR is a control character like any other.
        #expect(self.error(Self.text(data: "A1").replacing("\n", with: "\r\n"))?.code == .invalidOperationID)
        #expect(self.error(Self.text().replacing("\n", with: "\r"))?.code == .missingLine)
        #expect(try self.read(Self.text() + "\n").id == self.read(Self.text()).id)
        #expect(self.error("1\nT\nM\nA1\nB\nnonce\n")?.code == .missingLine)
        for end in ["\n\n", "\n "] { #expect(self.error(Self.text() + end)?.code == .invalidNonce) }
        for end in ["\r\n", "\r", " ", "x"] {
            #expect(self.error(Self.text() + end)?.code == .malformedSignature)
        }
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        var bytes = Array(Self.text().utf8)
        bytes[50] = 0xFF
        let error = #expect(throws: OfflineOperation.ParsingError.self) {
            try OfflineOperation.Unverified(parsing: bytes)
        }
        #expect(error?.code == .invalidText)
    }

    @Test func anOperationNeedsItsIdentifierButNoTexts() throws {
        for blank in ["", " ", "\u{A0}\u{2003}"] {
            let error = self.error(Self.text(id: blank))
            #expect(error?.code == .invalidOperationID)
            #expect(error?.line == 1)
        }
        let operation = try self.read(Self.text(title: "", message: "", flags: ""))
        #expect(operation.title.isEmpty && operation.message.isEmpty && operation.flags.text.isEmpty)
    }

    @Test(arguments: ["\0", "\r", "\t", "\u{1B}", "\u{7F}", "\u{85}", "\u{FEFF}"])
    func whatIsInvisibleIsNoPartOfIdentifierOrData(character: String) {
        for id in ["1" + character, character + "1"] {
            #expect(self.error(Self.text(id: id))?.code == .invalidOperationID)
        }
        #expect(self.error(Self.text(data: "A1*Tt" + character))?.code == .invalidOperationData)
    }

    @Test(arguments: [
        "", "AAAA", "AD8bOO0Df73kNaIGb3Vmpg", "AD8bOO0Df73kNaIGb3Vmpg=", "AD8bOO0Df73kNaIGb3Vmpg== ",
        "AD8bOO0Df73kNaIGb3Vmp_==", "AD8bOO0Df73kNaIGb3Vmpgaa", signature,
    ])
    func theNonceIsSixteenBytesInBase64(nonce: String) {
        let error = self.error(Self.text(nonce: nonce))
        #expect(error?.code == .invalidNonce)
        #expect(error?.line == 6)
    }

    @Test(arguments: [
        ("", signature), ("2", signature), ("X", signature), ("é", signature), ("0", ""), ("0", "AAAA"),
        ("0", "AD8bOO0Df73kNaIGb3Vmpg=="), ("0", String(signature.dropLast())), ("0", signature + "\r"),
        ("0", Data(count: 63).base64EncodedString()), ("0", Data(count: 256).base64EncodedString()),
        ("1", ""), ("1", Data(count: 63).base64EncodedString()), ("1", Data(count: 256).base64EncodedString()),
    ])
    func theSignatureIsAKeyAndPaddedBase64(key: String, signature: String) {
        let error = self.error(Self.text(key: key, signature: signature))
        #expect(error?.code == .malformedSignature)
        #expect(error?.line == 7)
    }

    @Test(arguments: [64, 72, 255]) func signaturesMayHave64To255Bytes(count: Int) throws {
        let signature = Data(count: count).base64EncodedString()
        #expect(try self.read(Self.text(key: "1", signature: signature)).signingKey == .personalized)
    }

    @Test(arguments: 31...33) func aCodeUnderTheSharedKeyHas32Bytes(count: Int) throws {
        let text = Self.text(key: "2", signature: Data(count: count).base64EncodedString())
        if count == 32 {
            #expect(try self.read(text).signingKey == .shared)
        } else {
            #expect(self.error(text)?.code == .malformedSignature)
        }
    }

    @Test(arguments: [
        ("", [false, false, false, false]), ("BXFC", [true, true, true, true]), ("FX", [false, true, true, false]),
        ("B", [true, false, false, false]), ("bxfc", [false, false, false, false]),
        ("ZBé", [true, false, false, false]),
        ("BB", [true, false, false, false]),
    ])
    func flagsAreLettersAndUnknownOnesAreKept(text: String, expected: [Bool]) throws {
        let flags = try self.read(Self.text(flags: text)).flags
        #expect(
            [flags.isBiometryAllowed, flags.flipButtons, flags.fraudWarning, flags.blockApprovalOnCall] == expected
        )
        #expect(flags.text == text)
    }

    // MARK: Doubts

    @Test(
        arguments: [
            ("Payment", "A1*A100CZK", "", []), ("Payment", "A1*A-5CZK", "", [.negativeAmount]),
            ("Payment", "A1*A100CZK", "F", [.notice]), ("Payment", "A1*A100CZK*A200CZK", "", [.repeatedDataField]),
            ("Payment", "B1*A100CZK", "", [.undocumentedData]), ("Pay 900 CZK", "A1*A100CZK", "", [.amountNotSigned]),
        ] as [(String, String, String, [OperationReview.Doubt.Kind])]
    )
    func whatMayBeMisreadIsADoubt(title: String, data: String, flags: String, kinds: [OperationReview.Doubt.Kind])
        throws
    {
        let operation = try self.read(Self.text(title: title, data: data, flags: flags))
        #expect(operation.doubts.map(\.kind) == kinds)
    }

    // MARK: Verification

    @Test func theSignatureCoversTheBytesReceivedUpToTheKey() throws {
        let text = Self.text(title: "e\u{301}\r", more: ["1", "2"], key: "1")
        let unverified = try OfflineOperation.Unverified(parsing: text)
        #expect(unverified.signingKey == .personalized)
        let operation = try unverified.verified { key, signature, message in
            #expect(key == .personalized)
            #expect(signature == [UInt8](Data(base64Encoded: Self.signature) ?? Data()))
            #expect(message == Array(text.utf8.dropLast(Self.signature.utf8.count)))
            return true
        }
        #expect(operation.title == "e\u{301}\r")
    }

    @Test func withoutTheServersSignatureThereIsNoOperation() throws {
        let unverified = try OfflineOperation.Unverified(parsing: Self.text())
        let error = #expect(throws: OfflineOperation.ParsingError.self) { try unverified.verified { _, _, _ in false } }
        #expect(error?.code == .signatureMismatch)
        #expect(throws: CancellationError.self) { try unverified.verified { _, _, _ in throw CancellationError() } }
    }

    @Test func nothingUnverifiedIsPrinted() throws {
        let unverified = try OfflineOperation.Unverified(parsing: Self.text())
        var dumped = ""
        dump(unverified, to: &dumped)
        for text in ["\(unverified)", String(reflecting: [unverified]), dumped, "\(try self.read(Self.text()))"] {
            #expect(!text.contains("Payment") && !text.contains("CZK"))
        }
        #expect(
            self.error(Self.text(data: "A1*A1,5EUR"))?.description
                == "offline operation: invalidAmount in line 4, field 1"
        )
    }

    // MARK: Operation data

    @Test(arguments: [("A0", 0), ("A7", 7), ("A07", 7), ("Z99", 99), ("B2", 2)])
    func versionAndTemplateAreACapitalAndOneOrTwoDigits(data: String, templateID: Int) throws {
        let operation = try self.read(Self.text(data: data))
        #expect(operation.operationData.templateID == templateID)
        #expect(operation.operationData.version == data.first)
        #expect(operation.operationData.fields.isEmpty)
    }

    @Test(arguments: [
        "", "A", "2", "A100", "A-100", "A+5", "A007", "Ä1", "a1", "AA1", "A 1", "A1 ", "A٣", "*A1", "A\\1",
    ])
    func anyOtherBeginningIsRefused(data: String) {
        for data in [data, data + "*T"] {
            let error = self.error(Self.text(data: data))
            #expect(error?.code == .invalidOperationData)
            #expect(error?.line == 4)
        }
    }

    @Test func atMostFiveFields() throws {
        #expect(
            try self.read(Self.text(data: "A1*A10CZK****Ttest")).operationData.fields
                == [.amount(10, currency: "CZK", digits: "10"), .empty, .empty, .empty, .text("test")]
        )
        #expect(try self.read(Self.text(data: "A1*")).operationData.fields == [.empty])
        #expect(self.error(Self.text(data: "A1*1*2*3*4*5*6"))?.code == .tooManyFields)
        #expect(self.error(Self.text(data: "A1*A10CZK*****Ttest"))?.code == .tooManyFields)
    }

    @Test(arguments: [
        ("A100CZK", "100", "CZK"), ("A100.00EUR", "100", "EUR"), ("A99.32USD", "99.32", "USD"),
        ("A.75EUR", "0.75", "EUR"),
        ("A75.EUR", "75", "EUR"), ("A-50000.16GBP", "-50000.16", "GBP"), ("A-.5eur", "-0.5", "EUR"),
        ("A007Czk", "7", "CZK"),
        ("A0EUR", "0", "EUR"),
        ("A1234567890123456789.123456789012345678EUR", "1234567890123456789.123456789012345678", "EUR"),
    ])
    func amountsAreExact(field: String, value: String, currency: String) throws {
        let digits = String(field.dropFirst().dropLast(3))
        #expect(
            try self.read(Self.text(data: "A1*\(field)")).operationData.fields
                == [.amount(try #require(Decimal(string: value)), currency: currency, digits: digits)]
        )
    }

    @Test(arguments: [
        "A", "A0", "ACZK", "A.CZK", "A-CZK", "A-.CZK", "AxCZK", "A1,5EUR", "A1e2EUR", "A+5EUR", "ANaNEUR", "A.EUR",
        "A100CZ",
        "A100CZKK", "A1.2.3EUR", "A--5EUR", "A5-EUR", "A 5EUR", "A5 EUR", "A5EU€", "A5ČZK", "A٣EUR", "A5E\u{301}UR",
        "A5EUR ", "A100", "A" + String(repeating: "9", count: 39) + "EUR",
    ])
    func whatIsNoAmountIsRefused(field: String) {
        let error = self.error(Self.text(data: "A1*Tfirst*\(field)"))
        #expect(error?.code == .invalidAmount)
        #expect(error?.line == 4)
        #expect(error?.field == 2)
    }

    @Test(
        arguments: [
            ("ISOMEIBAN1234,BIC", "SOMEIBAN1234", "BIC"), ("ISOMEIBAN", "SOMEIBAN", nil),
            ("ISOMEIBAN,", "SOMEIBAN", nil),
            ("I1,2", "1", "2"),
        ] as [(String, String, String?)]
    )
    func accountsAreAnIBANAndPerhapsABIC(field: String, iban: String, bic: String?) throws {
        #expect(try self.read(Self.text(data: "A1*\(field)")).operationData.fields == [.account(iban: iban, bic: bic)])
    }

    @Test(arguments: [
        "I", "I,", "I,BIC", "Isomeiban", "Isomeiban,", "IGOODIBAN,badbic", "IGOODIBAN,BIC,", "IGOODIBAN,,",
        "IGOOD IBAN",
        "IÉ", "I٣",
    ])
    func whatIsNoAccountIsRefused(field: String) {
        #expect(self.error(Self.text(data: "A1*\(field)"))?.code == .invalidAccount)
    }

    @Test(arguments: [
        "D", "D0", "D2004", "D20189999", "D20190229", "D20181301", "D20180400", "D201804251", "D2018-4-5",
        "D+2018042", "D2018 425", "D٢٠١٨٠٤٢٥",
    ])
    func whatIsNoDayIsRefused(field: String) {
        #expect(self.error(Self.text(data: "A1*\(field)"))?.code == .invalidDate)
    }

    @Test func theOtherFieldsAreTexts() throws {
        #expect(
            try self.read(Self.text(data: "A1*Q238400856/0300*R370600*NUtility*T*xÄ")).operationData.fields
                == [
                    .anyAccount("238400856/0300"), .reference("370600"), .note("Utility"), .text(""),
                    .unknown(letter: "x", text: "Ä"),
                ]
        )
        #expect(
            try self.read(Self.text(data: "A1*Žluť*X")).operationData.fields
                == [.unknown(letter: "Ž", text: "luť"), .unknown(letter: "X", text: "")]
        )
        // A separator with a combining mark behind it is one.
        #expect(
            try self.read(Self.text(data: "A1*\u{301}x*\u{301}")).operationData.fields
                == [.unknown(letter: "\u{301}", text: "x"), .unknown(letter: "\u{301}", text: "")]
        )
        #expect(
            try self.read(Self.text(data: "A1*D20240229")).operationData.fields
                == [.date(year: 2024, month: 2, day: 29)]
        )
    }

    // MARK: Escapes

    @Test(arguments: [
        (#"Hello\nWorld\\xyz"#, "Hello\nWorld\\xyz"), (#"a\*b"#, #"a\*b"#), (#"\\n"#, #"\n"#), (#"\\\n"#, "\\\n"),
        (#"\x\t\"#, #"\x\t\"#), (#"\N"#, #"\N"#), (#"\"#, #"\"#), (#"\\"#, #"\"#),
    ])
    func textsHaveTwoEscapes(text: String, meaning: String) throws {
        let operation = try self.read(Self.text(title: text, message: text))
        #expect(operation.title == meaning)
        #expect(operation.message == meaning)
    }

    @Test func fieldsHaveAThirdEscape() throws {
        let data = #"A1*Thello \* asterisk*Nnew\nline*Xback\\slash*Tend\\*T\\\*\x\"#
        let operation = try self.read(Self.text(id: "1", data: data))
        #expect(
            operation.operationData.fields == [
                .text("hello * asterisk"), .note("new\nline"), .unknown(letter: "X", text: "back\\slash"),
                .text("end\\"),
                .text(#"\*\x\"#),
            ]
        )
        #expect(operation.dataToSign == Array("1&\(data)".utf8))
    }

    // MARK: Any text

    @Test func anyTextGivesAnOperationOrAnError() {
        var random = SeededGenerator()
        let good = Array(Self.text(data: #"A1*A1.5CZK*IAB,CD*D20180425*T\*"#, more: ["1", "2"]).utf8)
        var accepted = 0
        for _ in 0..<5_000 {
            var bytes = good
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(Array("\n*\\A0=".utf8).randomElement(using: &random) ?? 0, at: index)
                }
            }
            guard let operation = try? OfflineOperation.Unverified(parsing: bytes) else { continue }
            accepted += 1
            #expect(throws: Never.self) {
                try operation.verified { _, _, message in bytes.starts(with: message) }
            }
        }
        #expect(accepted > 0)
    }

    @Test func longTextsAreTakenInOnePass() throws {
        let long = String(repeating: #"\n\*\\"#, count: 200_000)
        #expect(try self.read(Self.text(title: long, data: "A1*T\(long)")).title.utf8.count == 800_000)
    }
}
