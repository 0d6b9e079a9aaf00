import ExactJSON
import Foundation
import MobileToken
import OperationScreens
import Testing

/// The operations of the official servers 1.9, row by row of `Recordings`: an honest one leaves no doubt, and a lie of the server does.
@Suite struct RecordedOperationTests {
    /// A row of the money matrix: an amount as it was given to the server, and the server's attribute.
    struct Money: Sendable, CustomTestStringConvertible {
        let language: String
        let given: String
        let amount: String
        let currency: String
        let texts: [String]

        var testDescription: String { "money \(self.currency) \(self.language), \(self.given)" }

        init(_ columns: [String]) {
            (self.language, self.given, self.amount, self.currency) = (columns[0], columns[1], columns[2], columns[3])
            self.texts = Array(columns[4...])
        }

        /// Indicates whether the server wrote the region's currency in the place of the attribute's.
        var isLie: Bool { !self.texts[2].contains(self.texts[1]) }

        func review(data: String? = nil) throws -> OperationReview {
            let attribute: JSONValue = [
                "type": "AMOUNT", "id": "amount", "label": "Amount", "amount": try JSONValue(parsing: self.amount),
                "currency": .string(self.currency), "amountFormatted": .string(self.texts[0]),
                "currencyFormatted": .string(self.texts[1]), "valueFormatted": .string(self.texts[2]),
            ]
            return try ReviewedOperation.review([attribute], data: data ?? "A1*A\(self.given)\(self.currency)")
        }
    }

    private static func rows(_ name: String) throws -> [[String]] {
        let file = try #require(Bundle.module.url(forResource: "Recordings/\(name)", withExtension: "tsv"))
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        }
    }

    @Test func anAmountInTheLanguageOfItsReaderLeavesNoDoubt() throws {
        let money = try Self.rows("money").map(Money.init).filter { !$0.isLie }
        #expect(money.count > 2_000)
        for row in money {
            let doubts = try row.review().doubts.filter { $0.kind != .negativeAmount }
            #expect(doubts == [], "\(row.testDescription) \(row.texts)")
        }
    }

    @Test func aRegionsCurrencyBesideAnotherIsNoAmount() throws {
        let money = try Self.rows("money").map(Money.init).filter(\.isLie)
        #expect(money.count > 500)
        for row in money {
            let review = try row.review()
            #expect(review.doubts.contains { $0.kind == .amountNotSigned }, "\(row.testDescription) \(row.texts)")
            #expect(review.total(in: row.currency) == nil)
        }
    }

    @Test func anotherAmountThanTheSignedOneIsInDoubtInEveryLanguage() throws {
        for row in try Self.rows("money").map(Money.init) {
            let amount = try #require(Decimal(string: row.amount))
            let data = "A1*A\(amount * 10 + 1)\(row.currency)"
            #expect(
                try row.review(data: data).doubts.contains { $0.kind == .amountNotSigned },
                "\(row.testDescription)"
            )
        }
    }

    private static func doubts(of operation: UserOperation) -> Set<OperationReview.Doubt.Kind> {
        var doubts: Set<OperationReview.Doubt.Kind> = []
        for attribute in operation.formData.attributes {
            switch attribute.content {
            case .amount(let money):
                // Some templates of the recordings sign no amount.
                if operation.data == "A2" { doubts.insert(.amountNotSigned) }
                if money.amount == nil { doubts.insert(.amountWithoutNumber) }
            case .amountConversion(let source, let target, _):
                doubts.insert(.conversion)
                if [source, target].contains(where: { $0.amount == nil || $0.currency == "" }) {
                    doubts.insert(.amountNotSigned)
                }
            case .image: doubts.insert(.picture)
            case .alert: doubts.insert(.notice)
            default: break
            }
        }
        if operation.ui?.preApprovalScreens.isEmpty == false { doubts.insert(.screenToPass) }
        return doubts
    }

    @Test func anOperationOfTheOfficialServerIsReadWhole() throws {
        for row in try Self.rows("operations") {
            let operation = try UserOperation(parsing: Array(row[1].utf8))
            #expect(operation.issues == [], "\(row[0])")
            guard !row[0].hasPrefix("money not a number"), !row[0].hasPrefix("data ") else { continue }
            let kinds = Set(OperationReview(of: operation).doubts.map(\.kind))
            #expect(kinds == Self.doubts(of: operation), "\(row[0]): \(kinds)")
        }
    }

    /// Rows `allowedSignatureType p_pk` and `authorize p by possession`: no variants, and possession alone is accepted.
    @Test func aSingleFactorIsPossessionWhateverTheVariants() throws {
        let row = try #require(try Self.rows("operations").first { $0[0] == "allowedSignatureType p_pk" })
        let operation = try UserOperation(parsing: Array(row[1].utf8))
        #expect(operation.isAuthorizable && operation.allows(.possession))
        #expect(!operation.allows(.possessionAndKnowledge(password: "1234")))
    }

    /// Row `risk flags 'XCF' without ui`: a warning screen without a heading.
    @Test func aWarningWithoutTextsIsAScreenToPass() throws {
        let row = try #require(try Self.rows("operations").first { $0[0] == "risk flags 'XCF' without ui" })
        let screen = try #require(try UserOperation(parsing: Array(row[1].utf8)).ui?.preApprovalScreens.first)
        #expect(screen.kind == .warning && screen.heading == "Warning")
        #expect(screen.controls?.approve?.kind == .slider)
    }

    /// Row `text quotes`: the title is escaped twice, the attributes are not.
    @Test func aTitleIsReadWithoutItsSecondEscapes() throws {
        let row = try #require(try Self.rows("operations").first { $0[0] == "text quotes" })
        #expect(try UserOperation(parsing: Array(row[1].utf8)).formData.title == #"T say "hi""#)
    }
}
