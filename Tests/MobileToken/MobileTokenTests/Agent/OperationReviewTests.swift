import ExactJSON
import Foundation
import MobileToken
import Testing

/// Every way in which an operation could deceive a policy.
@Suite struct OperationReviewTests {
    private typealias Made = ReviewedOperation

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var attributes: JSONValue = [Made.amount(), Made.account]
        var data = Made.data
        var ui: JSONValue?
        var variants: JSONValue = ["possession_knowledge"]
        let doubts: Set<OperationReview.Doubt.Kind>
        var total: Decimal?

        private typealias Made = ReviewedOperation

        init(
            _ name: String,
            _ attributes: JSONValue? = nil,
            data: String? = nil,
            ui: JSONValue? = nil,
            variants: JSONValue? = nil,
            doubts: Set<OperationReview.Doubt.Kind>,
            total: Decimal? = nil
        ) {
            self.testDescription = name
            self.attributes = attributes ?? self.attributes
            self.data = data ?? self.data
            self.ui = ui
            self.variants = variants ?? self.variants
            self.doubts = doubts
            self.total = total
        }
    }

    private func check(_ aCase: Case) throws {
        let review = try Made.review(aCase.attributes, data: aCase.data, ui: aCase.ui, variants: aCase.variants)
        #expect(Set(review.doubts.map(\.kind)) == aCase.doubts)
        #expect(review.isComplete == aCase.doubts.isEmpty)
        #expect(review.total(in: "CZK") == aCase.total)
    }

    // MARK: Accounts

    @Test func theAccountsAreThoseThatAreShownAndGetSigned() throws {
        let review = try Made.review()
        #expect(review.accounts == [Made.iban])
        #expect(review.pays(onlyTo: [Made.otherIBAN, Made.iban]))
        #expect(review.pays(onlyTo: ["cz55 0800 0000 0012 3456 7899"]))
        #expect(!review.pays(onlyTo: [Made.otherIBAN]))
        #expect(!review.pays(onlyTo: []))
        // An amount that is in doubt moves no account.
        #expect(try Made.review([Made.amount(11), Made.account]).accounts == [Made.iban])
    }

    @Test func nothingIsPaidToAccountsThatAreInDoubt() throws {
        let unclear: [OperationReview] = [
            try Made.review([Made.amount()]),  // not shown
            try Made.review([Made.amount()], data: "A1*A10CZK"),  // none at all
            try Made.review([Made.amount(), Made.keyValue(Made.otherIBAN)]),
            try Made.review([Made.amount(), Made.account, Made.keyValue(Made.otherIBAN)]),
            try Made.review([Made.amount(), Made.account], data: Made.data + "*I\(Made.iban)"),
            try Made.review([Made.amount(), Made.account], data: "?"),
            try Made.review([Made.amount(), Made.account, ["type": "PAYEE", "id": "p", "label": "P"]]),
        ]
        for review in unclear {
            #expect(review.accounts == [], "\(review.doubts)")
            #expect(!review.pays(onlyTo: [Made.iban, Made.otherIBAN]), "\(review.doubts)")
        }
    }

    @Test func anAttributeIsFoundByItsIdentifierWhenThereIsOne() throws {
        let note: JSONValue = ["type": "NOTE", "id": "note", "label": "Note", "note": "for the rent"]
        let form = try Made.make([Made.amount(), Made.account, Made.keyValue("1", id: "x"), note]).formData
        #expect(form.attribute("operation.amount")?.label == "Amount")
        #expect(form.text(of: "operation.account") == Made.iban)
        #expect(form.text(of: "note") == "for the rent")
        #expect(form.text(of: "operation.amount") == nil)
        #expect(form.attribute("operation") == nil)
        // Whichever a policy took, it could be the other one that counts.
        let double = try Made.make([Made.keyValue("1", id: "x"), Made.keyValue("2", id: "x")]).formData
        #expect(double.attribute("x") == nil)
    }

    // MARK: What is complete

    static let complete = [
        Case("as the documents show it", doubts: [], total: 10),
        Case(
            "an IBAN in groups",
            [Made.amount(), Made.keyValue("CZ55 0800 0000 0012 3456 7899")],
            doubts: [],
            total: 10
        ),
        Case(
            "narrow blanks",
            [Made.amount(), Made.keyValue("CZ55\u{202F}0800\u{A0}000000 1234567899")],
            doubts: [],
            total: 10
        ),
        Case(
            "with a BIC, shown",
            [Made.amount(), Made.keyValue("\(Made.iban), GIBACZPX")],
            data: "\(Made.data),GIBACZPX",
            doubts: [],
            total: 10
        ),
        Case("with a BIC, not shown", data: "\(Made.data),GIBACZPX", doubts: [], total: 10),
        Case(
            "an account of another form",
            [Made.amount(), Made.keyValue("19-2000145399/0800")],
            data: "A1*A10CZK*Q19-2000145399/0800",
            doubts: [],
            total: 10
        ),
        Case(
            "digits that mean the same",
            [Made.amount(10.00), Made.account],
            data: "A1*A010.0CZK*I\(Made.iban)",
            doubts: [],
            total: 10
        ),
        Case("a currency in small letters, signed", data: "A1*A10czk*I\(Made.iban)", doubts: [], total: 10),
        Case("other fields", data: "\(Made.data)*D20260702*R2026*NLet\\*ters", doubts: [], total: 10),
        Case(
            "a star that is escaped hides no field",
            data: "A1*A10CZK*I\(Made.iban)*NX\\*A99CZK",
            doubts: [],
            total: 10
        ),
        Case(
            "a login",
            [Made.keyValue("192.0.2.1", id: "login.ip"), Made.keyValue("AB12", id: "login.session")],
            data: "A2",
            doubts: []
        ),
        Case("nothing shown, nothing signed", [], data: "A2", doubts: []),
        Case(
            "headings, notes and parties",
            [
                Made.amount(), Made.account, ["type": "HEADING", "id": "h", "label": "H"],
                ["type": "NOTE", "id": "n", "label": "N", "note": "For lunch"],
                [
                    "type": "PARTY_INFO", "id": "p", "label": "P",
                    "partyInfo": ["logoUrl": "l", "name": "n", "description": "d"],
                ],
            ],
            doubts: [],
            total: 10
        ),
    ]

    @Test(arguments: complete) func whatIsUnderstoodIsComplete(aCase: Case) throws { try self.check(aCase) }

    // MARK: Amounts

    static let amounts = [
        Case(
            "a string",
            [Made.amount("10"), Made.account],
            doubts: [.unreadable, .unknownAttribute, .amountNotShown]
        ),
        Case(
            "formatted only",
            [Made.amount(nil, "CZK", ["amountFormatted": "10,00"]), Made.account],
            doubts: [.amountWithoutNumber, .amountNotSigned, .amountNotShown]
        ),
        Case(
            "formatted currency only",
            [Made.amount(10, nil, ["currencyFormatted": "CZK"]), Made.account],
            doubts: [.amountWithoutCurrency, .amountNotSigned, .amountNotShown]
        ),
        Case(
            "negative",
            [Made.amount(-10), Made.account],
            data: "A1*A-10CZK*I\(Made.iban)",
            doubts: [.negativeAmount]
        ),
        Case(
            "negative beside positive",
            [Made.amount(1_000_010), Made.amount(-1_000_000), Made.account],
            data: "A1*A10CZK*I\(Made.iban)",
            doubts: [.negativeAmount, .amountNotSigned, .amountNotShown]
        ),
        Case(
            "two currencies",
            [Made.amount(), Made.amount(10, "EUR"), Made.account],
            doubts: [.severalCurrencies, .amountNotSigned]
        ),
        Case("another currency", [Made.amount(10, "EUR"), Made.account], data: "A1*A10EUR*I\(Made.iban)", doubts: []),
        Case("a currency in small letters, shown", [Made.amount(10, "czk"), Made.account], doubts: []),
        Case(
            "a currency with a blank",
            [Made.amount(10, "CZK "), Made.account],
            doubts: [.amountNotSigned, .amountNotShown]
        ),
        Case(
            "a currency with a combining letter",
            [Made.amount(10, "CZK\u{301}"), Made.account],
            doubts: [.amountNotSigned, .amountNotShown]
        ),
        Case("two amounts, one signed", [Made.amount(), Made.amount(), Made.account], doubts: [.amountNotSigned]),
        Case(
            "twice in one object",
            [Made.amount(10, "CZK", ["amount": 99]), Made.account],
            doubts: [.unreadable, .unknownAttribute, .amountNotShown]
        ),
        Case(
            "without a name",
            [["type": "AMOUNT", "amount": 1_000_000, "currency": "CZK"], Made.amount(), Made.account],
            doubts: [.unreadable]
        ),
        Case(
            "an amount of an unknown type",
            [Made.amount(), Made.account, ["type": "FEE", "id": "fee", "label": "Fee", "amount": 1_000_000]],
            doubts: [.unknownAttribute]
        ),
        Case(
            "a type in small letters",
            [Made.amount(), Made.account, ["type": "amount", "id": "fee", "label": "Fee", "amount": 1_000_000]],
            doubts: [.unknownAttribute]
        ),
        Case(
            "a conversion alone",
            [
                [
                    "type": "AMOUNT_CONVERSION", "id": "c", "label": "C", "dynamic": false, "sourceAmount": 10,
                    "sourceCurrency": "CZK", "targetAmount": 1, "targetCurrency": "EUR",
                ],
                Made.account,
            ],
            doubts: [.conversion, .amountNotShown]
        ),
        Case(
            "a conversion beside",
            [
                [
                    "type": "AMOUNT_CONVERSION", "id": "c", "label": "C", "dynamic": true, "sourceAmount": 10,
                    "sourceCurrency": "CZK", "targetAmount": 40_000, "targetCurrency": "EUR",
                ],
                Made.amount(), Made.account,
            ],
            doubts: [.conversion]
        ),
        Case("no list", "none", doubts: [.unreadable, .amountNotShown, .accountNotShown]),
    ]

    @Test(arguments: amounts) func anAmountThatIsNotPlainIsNoAmount(aCase: Case) throws { try self.check(aCase) }

    // MARK: What asks for a person

    private static let screen: JSONValue = ["type": "INFO", "heading": "Fraud?", "message": "Stop"]

    static let notices = [
        Case(
            "a warning",
            [
                Made.amount(), Made.account,
                ["type": "ALERT", "id": "a", "label": "A", "alertType": "WARNING", "message": "Fraud?"],
            ],
            doubts: [.notice],
            total: 10
        ),
        Case(
            "good news",
            [
                Made.amount(), Made.account,
                ["type": "ALERT", "id": "a", "label": "A", "alertType": "SUCCESS", "message": "Fine"],
            ],
            doubts: [.notice],
            total: 10
        ),
        Case("a screen", ui: ["preApprovalScreens": [screen]], doubts: [.screenToPass], total: 10),
        Case("an older server's screen", ui: ["preApprovalScreen": screen], doubts: [.screenToPass], total: 10),
        Case(
            "a screen of an unknown type",
            ui: ["preApprovalScreens": [["type": "X", "heading": "Fraud?", "message": "Stop"]]],
            doubts: [.screenToPass],
            total: 10
        ),
        Case("half a screen", ui: ["preApprovalScreens": [["type": "INFO"]]], doubts: [.screenToPass], total: 10),
        Case(
            "a picture",
            [Made.amount(), Made.account, ["type": "IMAGE", "id": "i", "label": "I", "thumbnailUrl": "https://a"]],
            doubts: [.picture],
            total: 10
        ),
        Case(
            "screens that are no list, beside one",
            ui: ["preApprovalScreens": "x", "preApprovalScreen": screen],
            doubts: [.unreadable, .screenToPass]
        ),
        Case("a presentation that is no object", ui: "x", doubts: [.unreadable]),
        Case(
            "factors that are not known",
            variants: ["possession_knowledge", "possession_retina"],
            doubts: [.unreadable]
        ),
    ]

    @Test(arguments: notices) func whatAPersonShouldReadIsNotComplete(aCase: Case) throws { try self.check(aCase) }

    // MARK: Accounts

    static let accounts: [Case] = [
        Case(
            "another spelling of the account that gets signed",
            [Made.amount(), Made.keyValue("cz55-0800 0000 0012\u{2009}3456 7899")],
            doubts: [],
            total: 10
        ),
        Case(
            "the domestic form of the account that gets signed",
            [Made.amount(), Made.keyValue("1234567899/0800")],
            doubts: [],
            total: 10
        ),
        Case(
            "a domestic account in the data",
            [Made.amount(), Made.keyValue("CZ65 0800 0000 1920 0014 5399")],
            data: "A1*A10CZK*Q19-2000145399/0800",
            doubts: [],
            total: 10
        ),
        Case(
            "hyphens that make another account",
            [Made.amount(), Made.keyValue("12-3456/99")],
            data: "A1*A10CZK*Q1-23456/99",
            doubts: [.accountNotSigned, .accountNotShown],
            total: 10
        ),
        Case(
            "another account in a note",
            [
                Made.amount(), Made.account,
                ["type": "NOTE", "id": "n", "label": "N", "note": .string("to \(Made.otherIBAN), as agreed")],
            ],
            doubts: [.accountNotSigned],
            total: 10
        ),
        Case(
            "numbers that are no accounts",
            [
                Made.amount(), Made.account, Made.keyValue("05/2017", id: "x"),
                Made.keyValue("+420 777 123 456", id: "y"),
                Made.keyValue("2026-11-23", id: "z"), Made.keyValue("RF18 5390 0754 7034", id: "reference"),
            ],
            doubts: [],
            total: 10
        ),
    ]

    @Test(arguments: accounts) func accountsAreComparedInTheirSpellings(aCase: Case) throws { try self.check(aCase) }

    /// Another account than the one that gets signed, as a person would still read it.
    static let disguises = [
        "CZ65 0800 0000 1920 0014 5399", "cz6508000000192000145399", "CZ65-0800-0000-1920-0014-5399",
        "CZ65\u{2009}0800\u{2009}0000\u{2009}1920\u{2009}0014\u{2009}5399", "CZ65\u{200B}08000000192000145399",
        "IBAN: CZ6508000000192000145399", "IBANCZ6508000000192000145399", "to (CZ65.0800.0000.1920.0014.5399), please",
        "\u{FF23}\u{FF3A}6508000000192000145399", "\u{421}Z6508000000192000145399", "19-2000145399/0800",
        "2000145399 / 0800", "account 19\u{2011}2000145399/0800",
    ]

    @Test(arguments: disguises) func anotherAccountIsSeenHoweverItIsSpelled(disguise: String) throws {
        try self.check(
            Case(
                disguise,
                [Made.amount(), Made.account, Made.keyValue(disguise, id: "payee")],
                doubts: [.accountNotSigned],
                total: 10
            )
        )
    }

    // MARK: What gets signed

    static let data = [
        Case("another amount", data: "A1*A1000CZK*I\(Made.iban)", doubts: [.amountNotSigned, .amountNotShown]),
        Case(
            "a tenth more",
            data: "A1*A10.000000000000000001CZK*I\(Made.iban)",
            doubts: [.amountNotSigned, .amountNotShown]
        ),
        Case("another currency", data: "A1*A10EUR*I\(Made.iban)", doubts: [.amountNotSigned, .amountNotShown]),
        Case("no amount", data: "A1*I\(Made.iban)", doubts: [.amountNotSigned]),
        Case(
            "a second amount",
            data: "A1*A10CZK*I\(Made.iban)*A1000CZK",
            doubts: [.repeatedDataField, .amountNotShown]
        ),
        Case(
            "the same amount again",
            data: "A1*A10CZK*I\(Made.iban)*A10CZK",
            doubts: [.repeatedDataField, .amountNotShown]
        ),
        Case(
            "another account",
            data: "A1*A10CZK*I\(Made.otherIBAN)",
            doubts: [.accountNotSigned, .accountNotShown],
            total: 10
        ),
        Case("no account", data: "A1*A10CZK", doubts: [.accountNotSigned], total: 10),
        Case(
            "an IBAN and another account",
            data: "A1*A10CZK*I\(Made.iban)*Q19-2000145399/0800",
            doubts: [.repeatedDataField, .accountNotShown]
        ),
        Case("an account that is not shown", [Made.amount()], doubts: [.accountNotShown], total: 10),
        Case(
            "an empty account",
            [Made.amount(), Made.keyValue("", id: "x")],
            data: "A1*A10CZK*Q",
            doubts: [.accountNotShown],
            total: 10
        ),
        Case(
            "an account shown under another name",
            [Made.amount(), Made.account, Made.keyValue(Made.otherIBAN, id: "payee")],
            doubts: [.accountNotSigned],
            total: 10
        ),
        Case(
            "an account of another form, by its name",
            [Made.amount(), Made.account, Made.keyValue("19-2000145399/0800", id: "creditorAccount")],
            doubts: [.accountNotSigned],
            total: 10
        ),
        Case(
            "a letter of another alphabet",
            [Made.amount(), Made.keyValue("\u{421}Z5508000000001234567899")],
            doubts: [.accountNotSigned, .accountNotShown],
            total: 10
        ),
        Case(
            "a letter that is not seen",
            [Made.amount(), Made.keyValue("CZ55\u{200B}08000000001234567899")],
            doubts: [.accountNotSigned, .accountNotShown],
            total: 10
        ),
        Case("two dates", data: "\(Made.data)*D20260702*D20270702", doubts: [.repeatedDataField]),
        Case("an unknown field", data: "\(Made.data)*X1000", doubts: [.unknownDataField], total: 10),
        Case("a field in small letters", data: "\(Made.data)*a1000CZK", doubts: [.unknownDataField], total: 10),
        Case("empty", data: "", doubts: [.undocumentedData], total: 10),
        Case("JSON", data: #"{"amount":10}"#, doubts: [.undocumentedData], total: 10),
        Case("another version", data: "B1*A10CZK*I\(Made.iban)", doubts: [.undocumentedData], total: 10),
        Case("a sign in the template", data: "A+1*A10CZK*I\(Made.iban)", doubts: [.undocumentedData], total: 10),
        Case("a comma in the amount", data: "A1*A10,5CZK*I\(Made.iban)", doubts: [.undocumentedData], total: 10),
        Case("an exponent that means the same", data: "A1*A1E+1CZK*I\(Made.iban)", doubts: [], total: 10),
        Case("a plus", data: "A1*A+10CZK*I\(Made.iban)", doubts: [], total: 10),
        Case("an exponent", data: "A1*A1e2CZK*I\(Made.iban)", doubts: [.amountNotSigned, .amountNotShown]),
        Case("six fields", data: "\(Made.data)*N*N*N*N*A1000CZK", doubts: [.undocumentedData], total: 10),
        Case("a line break", data: "\(Made.data)\n*A1000CZK", doubts: [.undocumentedData], total: 10),
        Case("a control character", data: "A1*A10CZK\u{0}*I\(Made.iban)", doubts: [.undocumentedData], total: 10),
        Case(
            "an amount hidden by a combining letter",
            data: "A1*\u{301}A1000CZK*I\(Made.iban)",
            doubts: [.unknownDataField, .amountNotSigned]
        ),
        Case(
            "an escaped letter of the amount",
            data: "A1*\\A10CZK*I\(Made.iban)",
            doubts: [.unknownDataField, .amountNotSigned]
        ),
    ]

    @Test(arguments: data) func whatGetsSignedMustBeWhatIsShown(aCase: Case) throws { try self.check(aCase) }

    // MARK: Sums

    @Test func aSumHasEveryDigitOrIsNone() throws {
        func total(_ amounts: [String], signed: String) throws -> Decimal? {
            let attributes = try amounts.map { Made.amount(try JSONValue(parsing: Array($0.utf8))) }
            return try Made.review(.array(attributes), data: signed).total(in: "CZK")
        }
        let exact = try #require(Decimal(string: "123456789012345678.123456789012345678"))
        #expect(
            try total(["123456789012345678.123456789012345678"], signed: "A1*A123456789012345678.123456789012345678CZK")
                == exact
        )
        #expect(try total(["0.10"], signed: "A1*A.1CZK") == Decimal(string: "0.1"))
        #expect(try total(["0"], signed: "A1*A0CZK") == 0)
    }

    @Test func aSumOfSeveralAmountsIsExactOrNone() {
        func total(_ amounts: Decimal..., currency: String = "CZK") -> Decimal? {
            let attributes = amounts.map { amount in
                UserOperation.Attribute(
                    id: "a",
                    label: "A",
                    content: .amount(.init(amount: amount, currency: "CZK", amountFormatted: "", currencyFormatted: ""))
                )
            }
            // A value that cannot be compared does not concern the sum.
            let operation = UserOperation(
                id: "1",
                name: "n",
                data: "free form",
                formData: OperationForm(title: "", message: "", attributes: attributes)
            )
            return OperationReview(of: operation, activationID: "a").total(in: currency)
        }
        #expect(total(40, 40) == 80)
        #expect(total() == nil)
        #expect(total(40, currency: "EUR") == nil)
        #expect(total(40, currency: "czk") == nil)
        #expect(total(40, currency: "") == nil)
        #expect(total(Decimal(sign: .plus, exponent: 60, significand: 1), 1) == nil)
        #expect(total(.nan) == nil)
        #expect(
            total(
                Decimal(sign: .plus, exponent: 127, significand: 9),
                Decimal(sign: .plus, exponent: 127, significand: 9)
            ) == nil || total(.greatestFiniteMagnitude, .greatestFiniteMagnitude) == nil
        )
    }

    // MARK: Words

    @Test func aDoubtNamesItsSubjectOnOneLine() throws {
        let review = try Made.review([["type": "FEE", "id": "fee\n\u{1B}[31m", "label": "Fee"]], data: "A2")
        #expect(review.doubts.map(\.description) == [#"unknownAttribute: fee\n\u{1B}[31m"#])
        #expect(OperationReview.Doubt(.undocumentedData).description == "undocumentedData")
    }
}
