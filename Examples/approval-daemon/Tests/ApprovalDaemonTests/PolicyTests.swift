import Foundation
import MobileToken
import Testing

@testable import ApprovalDaemon

@Suite struct PolicyTests {
    private let account = "CZ2730300000001165254011"

    private func policy(
        limit: Decimal = 50,
        accounts: PaymentPolicy.Accounts = .any,
        template: String = "authorize_payment"
    ) -> PaymentPolicy {
        PaymentPolicy(
            name: "p",
            version: "",
            rules: [.init(template: template, currency: "CZK", limit: limit, accounts: accounts)]
        )
    }

    private func review(
        amount: String = "20",
        currency: String = "CZK",
        name: String = "authorize_payment",
        extra: String = ""
    ) throws -> OperationReview {
        let json = """
            {
              "id": "1", "name": "\(name)", "data": "A1*A\(amount)\(currency)*I\(self.account)", "status": "PENDING",
              "operationCreated": "2026-01-01T00:00:00+0000", "operationExpires": "2036-01-01T00:00:00+0000",
              "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
              "formData": {"title": "t", "message": "m", "attributes": [
                {"type": "AMOUNT", "id": "a", "label": "A", "amount": \(amount), "currency": "\(currency)"},
                {"type": "KEY_VALUE", "id": "operation.account", "label": "To", "value": "\(self.account)"}\(extra)
              ]}
            }
            """
        return OperationReview(of: try UserOperation(parsing: Array(json.utf8)), activationID: "x")
    }

    @Test func aPaymentWithinTheRulesIsApproved() throws {
        let review = try self.review()
        #expect(review.doubts == [])
        #expect(self.policy().judge(review) == .approve)
        #expect(self.policy(limit: 20, accounts: .only([self.account])).judge(review) == .approve)
    }

    @Test func everythingElseIsLeftForAReason() throws {
        let review = try self.review()
        #expect(PaymentPolicy(name: "", version: "", rules: []).judge(review) == .deferToPeople(.unknownTemplate))
        #expect(self.policy(template: "login").judge(review) == .deferToPeople(.unknownTemplate))
        #expect(self.policy(limit: 19.99).judge(review) == .deferToPeople(.overLimit))
        #expect(self.policy().judge(try self.review(currency: "EUR")) == .deferToPeople(.totalUnknown))
        #expect(self.policy().judge(try self.review(amount: "0")) == .deferToPeople(.totalUnknown))
        let others = PaymentPolicy.Accounts.only(["CZ5508000000001234567899"])
        #expect(self.policy(accounts: others).judge(review) == .deferToPeople(.accountNotAllowed))
        let strange = try self.review(extra: #", {"type": "HOLOGRAM", "id": "h", "label": "H"}"#)
        #expect(self.policy().judge(strange) == .deferToPeople(.incomplete))
    }

    /// One rule's limit does not help another rule's account.
    @Test func aPaymentMustSatisfyOneRuleAsAWhole() throws {
        let rules: [PaymentPolicy.Rule] = [
            .init(template: "authorize_payment", currency: "CZK", limit: 10, accounts: .any),
            .init(template: "authorize_payment", currency: "CZK", limit: 100, accounts: .only(["another"])),
        ]
        #expect(
            PaymentPolicy(name: "", version: "", rules: rules).judge(try self.review())
                == .deferToPeople(.accountNotAllowed)
        )
    }

    @Test func anAccountMayBeListedInAnySpelling() throws {
        let review = try self.review()
        for account in ["CZ27 3030 0000 0011 6525 4011", "cz2730300000001165254011", "1165254011/3030"] {
            #expect(self.policy(accounts: .only([account])).judge(review) == .approve, "\(account)")
        }
        // A letter of another alphabet makes another account.
        let strange = "\u{421}Z2730300000001165254011"
        #expect(self.policy(accounts: .only([strange])).judge(review) == .deferToPeople(.accountNotAllowed))
    }

    /// A name that looks the same is another one: it has a combining accent.
    @Test func namesAreComparedByteForByte() throws {
        let review = try self.review(name: "caf\u{E9}")
        #expect(self.policy(template: "cafe\u{301}").judge(review) == .deferToPeople(.unknownTemplate))
        #expect(self.policy(template: "caf\u{E9}").judge(review) == .approve)
    }
}
