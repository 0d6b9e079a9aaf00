import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

/// Operations by chance that show a person something else than what gets signed, 2 000 of each kind: none is complete, and none may
/// be paid by its account.
@Suite struct DeceptiveOperationTests {
    private typealias Made = ReviewedOperation

    /// A kind of deception: it returns the attributes and texts that deceive.
    enum Kind: String, CaseIterable {
        case valueFormatted, amountFormatted, currencyFormatted, formattedWords
        case amountInTitle, amountInMessage, amountInNote, amountInLabel, amountInResultText, amountInScreen, amountByID
        case accountDigits, accountMarkup, accountSlash, accountGlued, accountReversed, accountInTexts
        case longText, picture, exponent
    }

    @Test(arguments: Kind.allCases) func nothingDeceptiveIsComplete(_ kind: Kind) throws {
        var draw = Draw(generator: SeededGenerator(test: "nothingDeceptiveIsComplete(\(kind))"))
        for _ in 0..<2_000 {
            let operation = try draw.operation(kind)
            let review = OperationReview(of: operation)
            #expect(!review.isComplete, "\(kind): \(String(decoding: operation.json, as: UTF8.self))")
            #expect(!review.pays(onlyTo: [Made.iban, Made.otherIBAN]), "\(kind)")
        }
    }
}

/// Draws deceptive operations: what is signed is 20 CZK to ``ReviewedOperation/iban``.
private struct Draw {
    var generator: SeededGenerator

    private typealias Made = ReviewedOperation

    mutating func operation(_ kind: DeceptiveOperationTests.Kind) throws -> UserOperation {
        var form: JSONObject = ["title": "Payment", "message": "Pay?"]
        var attributes = [Made.amount(20), Made.account]
        var ui: JSONValue?
        var data = "A1*A20CZK*I\(Made.iban)"
        let amount = self.otherAmount()
        let text = self.sentence(amount)
        switch kind {
        case .valueFormatted: attributes[0] = Made.amount(20, "CZK", ["valueFormatted": .string(amount)])
        case .amountFormatted: attributes[0] = Made.amount(20, "CZK", ["amountFormatted": .string(self.otherNumber())])
        case .currencyFormatted:
            let currency = ["EUR", "€", "USD", "$", "¥", "kr", "HUF", "Kčs", ""].randomElement(
                using: &self.generator
            )
            attributes[0] = Made.amount(20, "CZK", ["currencyFormatted": .string(currency ?? "")])
        case .formattedWords: attributes[0] = Made.amount(20, "CZK", self.words())
        case .amountInTitle: form["title"] = .string(text)
        case .amountInMessage: form["message"] = .string(text)
        case .amountInNote: attributes.append(["type": "NOTE", "id": "n", "label": "N", "note": .string(text)])
        case .amountInLabel: attributes.append(["type": "HEADING", "id": "h", "label": .string(text)])
        case .amountInResultText: form["resultTexts"] = ["success": .string(text)]
        case .amountInScreen:
            ui = ["postApprovalScreen": ["type": "GENERIC", "heading": .string(text), "message": "m"]]
        case .amountByID: attributes.append(Made.keyValue(self.otherNumber(), id: "payment.amount"))
        case .accountDigits, .accountMarkup, .accountSlash, .accountGlued, .accountReversed, .accountInTexts:
            let account = self.account(kind)
            let place = Int.random(in: 0..<4, using: &self.generator)
            let note: JSONValue = ["type": "NOTE", "id": "n", "label": "N", "note": .string(account)]
            if place == 0 { form["message"] = .string(account) }
            if place == 1 { form["title"] = .string("To \(account)") }
            if place == 2 { attributes.append(note) }
            if place == 3 { attributes.append(Made.keyValue(account, id: "payee")) }
        case .longText:
            let length = Int.random(in: 2_001...6_000, using: &self.generator)
            form["message"] = .string(String(repeating: "x ", count: length) + text)
        case .picture:
            attributes.insert(
                ["type": "IMAGE", "id": "i", "label": "I", "thumbnailUrl": .string("https://x/\(amount)")],
                at: Int.random(in: 0...2, using: &self.generator)
            )
        case .exponent:
            let exponent = Int.random(in: 42...120, using: &self.generator)
            data = "A1*A1E+\(exponent)CZK*I\(Made.iban)"
            attributes[0] = Made.amount(try JSONValue(parsing: "1E+\(exponent)"))
        }
        form["attributes"] = .array(attributes)
        var json: JSONObject = [
            "id": "1", "name": "authorize_payment", "data": .string(data), "status": "PENDING",
            "operationCreated": "2026-07-02T14:43:13Z", "operationExpires": "2026-07-02T14:48:13Z",
            "allowedSignatureType": ["type": "2FA", "variants": ["possession_knowledge"]], "formData": .object(form),
        ]
        json["ui"] = ui
        return try UserOperation(parsing: .object(json))
    }

    private mutating func words() -> JSONObject {
        let words = [
            "free of charge", "", " ", "zdarma", "twenty", "20 za kus", "20 × 1000", "≈ 20", "20 and more", "⅓", "0",
            "-20", "2O",
        ]
        let word = JSONValue.string(words.randomElement(using: &self.generator) ?? "")
        return [["amountFormatted": word], ["valueFormatted": word]].randomElement(using: &self.generator) ?? [:]
    }

    // MARK: Amounts

    private mutating func otherDigits() -> String {
        let value = Decimal(Int.random(in: 21...2_000_000_000, using: &self.generator))
        return "\(value)"
    }

    /// A number other than 20, in one of the forms of the world.
    private mutating func otherNumber() -> String {
        var digits = self.otherDigits()
        let groups =
            [" ", "\u{A0}", "\u{202F}", ".", ",", "'", "\u{2019}", ""].randomElement(using: &self.generator) ?? ""
        let fraction = groups == "," ? ".00" : ",00"
        var grouped = ""
        while digits.count > 3 {
            grouped = groups + digits.suffix(3) + grouped
            digits = String(digits.dropLast(3))
        }
        let number = digits + grouped + (Bool.random(using: &self.generator) ? fraction : "")
        return self.inOtherDigits(number)
    }

    /// Returns the text with the digits of a script of the world.
    private mutating func inOtherDigits(_ text: String) -> String {
        let zeros: [UInt32] = [0x30, 0x30, 0x30, 0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10, 0x1D7CE]
        let zero = zeros.randomElement(using: &self.generator) ?? 0x30
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    "0"..."9" ~= scalar ? Unicode.Scalar(scalar.value - 0x30 + zero) ?? scalar : scalar
                }
            )
        )
    }

    /// An amount other than 20 CZK.
    private mutating func otherAmount() -> String {
        let number = self.otherNumber()
        let forms = [
            "\(number) Kč", "\(number)\u{A0}CZK", "CZK \(number)", "CZK\(number)", "\(number) EUR", "€\(number)",
            "\(number) €",
            "$\(number)", "US$\(number)", "\(number) zł", "\(number) kr", "¥\(number)", "\(number) Ft", "20 EUR", "€20",
            "$20",
            "20,00 €", "2\(number) czk", "\(number)Kč",
        ]
        return forms.randomElement(using: &self.generator) ?? ""
    }

    private mutating func sentence(_ amount: String) -> String {
        let forms = [
            "Pay \(amount) to Anna", "\(amount)", "Payment of \(amount).", "Amount: \(amount)", "(\(amount))",
            "2 mil. Kč",
            "Pay 2 million CZK", "20k CZK for rent", "\(amount), please", "it is <b>\(amount)</b>",
            "20 CZK or \(amount)",
        ]
        return forms.randomElement(using: &self.generator) ?? ""
    }

    // MARK: Accounts

    private mutating func account(_ kind: DeceptiveOperationTests.Kind) -> String {
        let iban = Made.otherIBAN
        let domestic = "19-2000145399/0800"
        func joined(_ joint: String) -> String {
            var rest = iban[...]
            var groups: [Substring] = []
            while !rest.isEmpty {
                groups.append(rest.prefix(4))
                rest = rest.dropFirst(4)
            }
            return groups.joined(separator: joint)
        }
        switch kind {
        case .accountDigits:
            let zeros: [UInt32] = [0x660, 0x6F0, 0x966, 0x9E6, 0xE50, 0xFF10, 0x1D7CE, 0x0BE6, 0x17E0]
            let zero = zeros.randomElement(using: &self.generator) ?? 0x660
            let text = [iban, joined(" "), domestic, "2000145399/0800"].randomElement(using: &self.generator) ?? iban
            let scalars = text.unicodeScalars.map { scalar in
                "0"..."9" ~= scalar ? Unicode.Scalar(scalar.value - 0x30 + zero) ?? scalar : scalar
            }
            return String(String.UnicodeScalarView(scalars))
        case .accountMarkup:
            let joints = [
                "&nbsp;", "&#160;", "&#xA0;", "<wbr>", "<br>", "<br/>", "</b><b>", "\u{200B}", "\u{2060}", "\u{AD}",
                "&shy;",
                "&amp;nbsp;", "&zwnj;", "*", "_", "\u{332}", "\u{FE0F}\u{20E3}", "&thinsp;", "<span class='x'>",
                "\u{2007}",
            ]
            let joint = joints.randomElement(using: &self.generator) ?? ""
            return "to \(joined(joint))"
        case .accountSlash:
            let slash = ["\u{2044}", "\u{2215}", "\u{FF0F}", "\u{29F8}", "&#47;", "&sol;", " / ", "\u{2571}"]
            let dash = ["-", "\u{2011}", "\u{2212}", "\u{2013}", "\u{FE63}", "&ndash;"]
            let number = [
                "19\(dash.randomElement(using: &self.generator) ?? "-")2000145399", "2000145399", "2000 145399",
            ]
            let first = number.randomElement(using: &self.generator) ?? ""
            return "\(first)\(slash.randomElement(using: &self.generator) ?? "/")0800"
        case .accountGlued:
            let before = ["účtu", "№", "IBAN", "na", "x", "acc_", "konto"].randomElement(using: &self.generator) ?? ""
            let after = ["", "!", "díky", " ", "x"].randomElement(using: &self.generator) ?? ""
            return before + ([iban, joined(" ")].randomElement(using: &self.generator) ?? iban) + after
        case .accountReversed:
            let control =
                ["\u{202E}", "\u{202D}", "\u{2067}", "\u{2066}", "&#8238;"].randomElement(using: &self.generator) ?? ""
            return "to \(control)\(String(iban.reversed()))"
        default:
            return [
                "to \(joined(" "))", "to \(joined("-"))", "(\(iban.lowercased()))", "to \(domestic)",
                iban.replacing("000", with: "OOO"), "\(joined("."))",
            ]
            .randomElement(using: &self.generator) ?? iban
        }
    }
}
