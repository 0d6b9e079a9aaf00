import ApprovalTesting
import Testing

@testable import MobileTokenApprovals

/// Issue 49, 1 to 4 and 10: a parameter that approvers may read is compared with what they sign, before they are asked.
@Suite struct ReadableValueTests {
    private static let deploy = "A9*T${service}*N${version}*R${binding}"
    private static let payment = "A1*A${amount}${currency}*I${iban}*R${binding}"
    private static let paid = ["amount": "100", "currency": "CZK", "iban": "CZ6508000000192000145399"]

    @Test(arguments: [
        (deploy, ["service": "billing", "version": "4.2.1", "note": "costs 5 000 CZK"], "note"),
        (deploy, ["service": "billing", "version": "4.2.1", "amount": "5000", "currency": "CZK"], "amount"),
        (
            deploy, ["service": "billing", "version": "4.2.1", "creditorAccount": "19-2000145399/0800"],
            "creditorAccount"
        ),
        (deploy, ["service": "billing", "version": "4.2.1", "to": "cz65 0800 0000 1920 0014 5399"], "to"),
        (payment, paid.merging(["note": "refund of 9 000,00 Kč"]) { $1 }, "note"),
        (payment, paid.merging(["total.amount": "1000"]) { $1 }, "total.amount"),
        (payment, paid.merging(["account": "CZ5508000000001234567899"]) { $1 }, "account"),
        (
            "A1*A${amount}${currency}*N${note}*R${binding}", ["amount": "1", "currency": "EUR", "note": "1 000 EUR"],
            "note"
        ),
        ("no form*${service}*R${binding}", ["service": "billing", "note": "5 EUR"], "note"),
    ])
    func aValueThatNamesSomethingElseIsRefused(form: String, parameters: [String: String], name: String) {
        let refused = #expect(throws: ApprovalError.self) {
            try ApprovalTemplate("t", signs: form).checkReadable(parameters)
        }
        #expect(refused?.code == .invalidRequest && refused?.message.contains("'\(name)' shows an ") == true)
    }

    @Test(arguments: [
        (deploy, ["service": "billing", "version": "4.2.1", "by": "alice", "when": "2026-11-29 08:15"]),
        (deploy, ["service": "billing, 300 CZK a month", "version": "4.2.1"]),
        (deploy, ["service": "billing", "version": "4.2.1", "commit": "9f12cad400000000000000000000000000000aed"]),
        (payment, paid),
        (
            payment,
            paid.merging(["note": "100,00 Kč to CZ65 0800 0000 1920 0014 5399", "shown.amount": "100.00"]) { $1 }
        ),
        (payment, paid.merging(["account": "19-2000145399/0800"]) { $1 }),
    ])
    func anHonestValueIsTaken(form: String, parameters: [String: String]) throws {
        try ApprovalTemplate("t", signs: form).checkReadable(parameters)
    }

    /// `4CAD-2ETP` and `5EUR-7KQ4` made every fortieth question one that agents left to people.
    @Test func aFingerprintNeverReadsLikeAnAmount() throws {
        let terms = try Bench.request().terms(audience: "test")
        for _ in 0..<500 {
            let wording = try FixedTerms.drawn(for: terms).wording(0, to: "alice")
            let fingerprint = wording.binding.fingerprint
            let deception = ReadableValues(signing: wording.data).deception(in: "Compare: \(fingerprint)")
            #expect(deception == nil, "\(fingerprint)")
        }
    }

    @Test func aDeceptiveQuestionIsNotAsked() async throws {
        let bench = try await Bench()
        var request = Bench.request()
        request.parameters["note"] = "costs 5 000 CZK"
        #expect(await bench.code(of: request) == .invalidRequest)
        #expect(bench.server.operations.isEmpty)
    }
}
